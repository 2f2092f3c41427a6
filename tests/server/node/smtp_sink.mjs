// A mail server that keeps nothing: prints {"port": n} once it listens, then each mail as a JSON line. Ends with its input.
//
//   smtp_sink.mjs '{"starttls": true, "secure": false, "key": FILE, "cert": FILE, "user": "ada", "password": "…"}'
//
// Recipients with a number before the @, such as 550@example.com, are refused with it; data-451@… refuses the mail itself.
import { readFileSync } from "node:fs";
import { SMTPServer } from "smtp-server";

const options = JSON.parse(process.argv[2] ?? "{}");

function refusal(code) {
  const error = new Error("refused by the test");
  error.responseCode = Number(code);
  return error;
}

const server = new SMTPServer({
  secure: options.secure ?? false,
  ...(options.key ? { key: readFileSync(options.key), cert: readFileSync(options.cert) } : {}),
  hideSTARTTLS: !options.starttls,
  authOptional: !options.user,
  allowInsecureAuth: true,
  disableReverseLookup: true,
  logger: false,
  onAuth(auth, _session, done) {
    const good = auth.username === options.user && auth.password === options.password;
    done(good ? null : refusal(535), { user: auth.username });
  },
  onRcptTo(address, _session, done) {
    const refused = /^(\d{3})@/.exec(address.address);
    done(refused ? refusal(refused[1]) : null);
  },
  onData(stream, session, done) {
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", () => {
      const refused = session.envelope.rcptTo.map(({ address }) => /^data-(\d{3})@/.exec(address)).find(Boolean);
      if (refused) return done(refusal(refused[1]));
      const mail = {
        from: session.envelope.mailFrom.address,
        to: session.envelope.rcptTo.map(({ address }) => address),
        tls: session.secure,
        user: session.user ?? null,
        data: Buffer.concat(chunks).toString("latin1"),
      };
      process.stdout.write(`${JSON.stringify(mail)}\n`);
      return done();
    });
  },
});
server.on("error", () => {});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: server.server.address().port })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
