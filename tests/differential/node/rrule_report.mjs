// Reports how often npm rrule differs from times that are known to be right.
//
//     node rrule_report.mjs CORPUS [--seconds S]
//
// CORPUS is written by rrule_differential.py --corpus: a rule and its verified times a line.  npm rrule computes with
// naive local times, so it gets the rule without a zone.  It may hang, so it runs in a worker that is thrown away
// after S seconds (1 unless told).  Only a report: differences are no failure, not being able to run is.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Worker, isMainThread, parentPort } from "node:worker_threads";

const TIMES = 50;

if (isMainThread) {
  await main();
} else {
  const { rrulestr } = createRequire(import.meta.url)("rrule");
  parentPort.on("message", ({ rule, start }) => {
    try {
      const stamp = start.replace(/[-:]/g, "");
      const series = rrulestr(`DTSTART:${stamp}Z\nRRULE:${rule}`);
      const times = series.all((_, i) => i < TIMES);
      // its Dates carry local times in their UTC fields
      parentPort.postMessage({ times: times.slice(0, TIMES).map((t) => t.toISOString().slice(0, 19)) });
    } catch (error) {
      parentPort.postMessage({ error: String(error) });
    }
  });
  parentPort.postMessage({ ready: true });
}

// npm rrule does not sort lists such as BYHOUR=18,9; it is told apart what else is wrong.
function sorted(rule) {
  return rule.replace(/(BY(?:HOUR|MINUTE|SECOND))=([0-9,]+)/g, (_, name, list) => {
    return `${name}=${[...new Set(list.split(",").map(Number))].sort((a, b) => a - b).join(",")}`;
  });
}

function reply(worker, milliseconds) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done(resolve, { hangs: true }), milliseconds);
    const onMessage = (message) => done(resolve, message);
    const onError = (error) => done(reject, error);
    function done(settle, result) {
      clearTimeout(timer);
      worker.off("message", onMessage);
      worker.off("error", onError);
      settle(result);
    }
    worker.on("message", onMessage);
    worker.on("error", onError);
  });
}

async function freshWorker() {
  const worker = new Worker(fileURLToPath(import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: 512 } });
  const { ready } = await reply(worker, 20_000);
  if (!ready) throw new Error("npm rrule did not load");
  return worker;
}

async function main() {
  const [corpus, ...rest] = process.argv.slice(2);
  if (!corpus) {
    console.error("usage: rrule_report.mjs CORPUS [--seconds S]");
    process.exit(2);
  }
  const seconds = rest[0] === "--seconds" ? Number(rest[1]) : 1;
  const rules = readFileSync(corpus, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  if (rules.length === 0) throw new Error(`${corpus} holds no rules`);

  let worker = await freshWorker();
  const byFreq = new Map();
  const examples = [];
  let differ = 0;
  let hangs = 0;
  let refuses = 0;
  let unsorted = 0;
  for (const { request, naive_rule: rule, naive, ended } of rules) {
    const freq = /FREQ=([A-Z]+)/.exec(rule)[1];
    const row = byFreq.get(freq) ?? { rules: 0, differ: 0 };
    byFreq.set(freq, row);
    row.rules++;
    const ask = async (text) => {
      worker.postMessage({ rule: text, start: request.trigger.start });
      let answer;
      try {
        answer = await reply(worker, seconds * 1000);
      } catch (error) {
        answer = { error: String(error), dead: true };
      }
      if (answer.hangs || answer.dead) {
        await worker.terminate();
        worker = await freshWorker();
      }
      return answer;
    };
    const isRight = ({ hangs: hanging, error, times = [] }) =>
      !hanging && !error && naive.every((t, i) => t === times[i]) && (!ended || times.length === naive.length);
    const answer = await ask(rule);
    const times = answer.times ?? [];
    const right = isRight(answer);
    if (right) continue;
    differ++;
    row.differ++;
    if (answer.hangs) hangs++;
    else if (sorted(rule) !== rule && isRight(await ask(sorted(rule)))) unsorted++;
    if (answer.error) refuses++;
    if (examples.length < 10) {
      const at = naive.findIndex((t, i) => t !== times[i]);
      const said = answer.hangs ? "hangs" : (answer.error ?? times[at < 0 ? naive.length : at] ?? "nothing");
      examples.push(`${rule} from ${request.trigger.start}: ${said}, should be ${naive[at] ?? "nothing more"}`);
    }
  }
  await worker.terminate();

  const order = ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"];
  for (const freq of order.filter((f) => byFreq.has(f))) {
    const row = byFreq.get(freq);
    console.log(`REPORT npm rrule:   ${freq}: ${row.differ} of ${row.rules}`);
  }
  for (const example of examples) console.log(`REPORT npm rrule:   e.g. ${example}`);
  console.log(`REPORT npm rrule: of those that differ, ${refuses} are refused and ${unsorted} right with sorted lists`);
  console.log(`REPORT npm rrule: ${differ} of ${rules.length} rules differ (${hangs} hang)`);
}
