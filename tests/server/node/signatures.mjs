// Signs and verifies by the reference implementation of Standard Webhooks: one JSON object a line in, one a line out.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { op, secret, id, timestamp, body, signature } = JSON.parse(line);
  const webhook = new Webhook(secret);
  let answer;
  if (op === "sign") {
    answer = { signature: webhook.sign(id, new Date(timestamp * 1000), body) };
  } else {
    try {
      webhook.verify(body, {
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": signature,
      });
      answer = { good: true };
    } catch (error) {
      answer = { good: false, why: String(error) };
    }
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
