// Compares the engine's cron triggers with npm croner on random expressions.
//
//     node cron_differential.mjs NEXT_LINES [--expressions N] [--seed S] [--mutate]
//
// NEXT_LINES is the engine's line tool: a JSON request a line in, a JSON answer a line out.  For each expression the
// first 20 times from a random instant are compared.  Where croner differs or refuses, the reason must be one of
// knownDifferences below; and always the engine must agree with the plain walk over days and minutes of this file,
// which shares no code with the engine or with croner.  A failure is printed as a line that can be asked again.
//
// Most expressions are asked in UTC.  Those in other zones keep to the hours from 6 to 22, where no clock is ever
// changed: what happens at a change is a matter of policy that croner does not share, and is tested elsewhere.
//
// --mutate is the negative control: it spoils some of the engine's answers and succeeds only if each is noticed.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Cron } from "croner";

const full = process.env.CARILLON_FULL === "1";
const TIMES = 20;
const HORIZON_YEARS = 400;
// Close to the horizon the engine, croner and the walk may each stop at a slightly different point.
const COMPARED_YEARS = 390;
const DAY = 86400;

// ------------------------------------------------------------------------------------------------ a plain reading

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const NICKNAMES = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

class Refused extends Error {}

function value(text, names, low, high) {
  const name = names.indexOf(text.toUpperCase());
  const number = name >= 0 ? name + low : /^[0-9]{1,2}$/.test(text) ? Number(text) : NaN;
  if (!(number >= low && number <= high)) throw new Refused(`not a value: ${text}`);
  return number;
}

// One item of a list without L, W or #, as the numbers it stands for.  `last` is where * and a/n end; a written value
// may go up to `high` (they differ for the day of week only: 7 may be written for Sunday, but the week ends at 6).
function numbers(item, names, low, last, high) {
  const [range, step, ...rest] = item.split("/");
  if (rest.length > 0 || (step !== undefined && !/^[0-9]+$/.test(step)) || Number(step) === 0) {
    throw new Refused(`bad step: ${item}`);
  }
  let from = low;
  let to = last;
  if (range !== "*") {
    const [a, b, ...more] = range.split("-");
    if (more.length > 0) throw new Refused(`bad range: ${item}`);
    from = value(a, names, low, high);
    to = step === undefined ? from : last;
    if (b !== undefined) {
      to = value(b, names, low, high);
      // FRI-SUN and 5-7: at the end of a range Sunday is the seventh day.
      if (names === DAYS && to === 0 && from > 0 && b.toUpperCase() === "SUN") to = 7;
      if (to < from) throw new Refused(`backwards range: ${item}`);
    }
  }
  const found = [];
  for (let n = from; n <= to; n += Number(step ?? 1)) found.push(n);
  return found;
}

function plainField(text, names, low, high) {
  return new Set(text.split(",").flatMap((item) => numbers(item, names, low, high, high)));
}

const weekdayOf = (day) => (((day + 4) % 7) + 7) % 7; // days since 1970-01-01, a Thursday; 0 is Sunday
const dayNumber = (year, month, day) => Date.UTC(year, month - 1, day) / 1000 / DAY;

// A field for days as a list of tests on (year, month, day of month, days in the month).
function dayOfMonthTests(text) {
  const isWorkday = (y, m, d) => ![0, 6].includes(weekdayOf(dayNumber(y, m, d)));
  return text.split(",").map((item) => {
    const upper = item.toUpperCase();
    if (upper === "L") return (y, m, d, n) => d === n;
    const back = /^L-([0-9]{1,2})$/.exec(upper);
    if (back) {
      if (Number(back[1]) > 30) throw new Refused(`no month has that day: ${item}`);
      return (y, m, d, n) => d === n - Number(back[1]);
    }
    // The last working day: no later day of the month is one.
    if (upper === "LW") {
      return (y, m, d, n) => {
        if (!isWorkday(y, m, d)) return false;
        for (let later = d + 1; later <= n; later++) if (isWorkday(y, m, later)) return false;
        return true;
      };
    }
    // The working day nearest to that day, inside the month: tried at a distance of 0, then 1 (a Saturday's Friday, a
    // Sunday's Monday), then 2 (from the 1st or the last day of a month inwards).
    const near = /^([0-9]{1,2})W$/.exec(upper);
    if (near) {
      const wanted = value(near[1], [], 1, 31);
      return (y, m, d, n) => {
        if (wanted > n) return false;
        for (const distance of [0, -1, 1, -2, 2]) {
          const candidate = wanted + distance;
          if (candidate >= 1 && candidate <= n && isWorkday(y, m, candidate)) return candidate === d;
        }
        return false;
      };
    }
    const listed = numbers(item, [], 1, 31, 31);
    return (y, m, d) => listed.includes(d);
  });
}

function dayOfWeekTests(text) {
  const one = (t) => value(t, DAYS, 0, 7) % 7;
  return text.split(",").map((item) => {
    const last = /^([A-Za-z]{3}|[0-7])(?:#?L)$/i.exec(item);
    if (last) {
      const weekday = one(last[1]);
      return (y, m, d, n) => weekdayOf(dayNumber(y, m, d)) === weekday && d + 7 > n;
    }
    const nth = /^([A-Za-z]{3}|[0-7])#([1-5])$/.exec(item);
    if (nth) {
      const weekday = one(nth[1]);
      return (y, m, d) => weekdayOf(dayNumber(y, m, d)) === weekday && Math.ceil(d / 7) === Number(nth[2]);
    }
    const listed = numbers(item, DAYS, 0, 6, 7).map((n) => n % 7);
    return (y, m, d) => listed.includes(weekdayOf(dayNumber(y, m, d)));
  });
}

export function parse(expression) {
  const text = NICKNAMES[expression.trim().toLowerCase()] ?? expression;
  let fields = text.trim().split(/\s+/);
  if (fields.length === 5) fields = ["0", ...fields];
  if (fields.length !== 6) throw new Refused("5 or 6 fields are needed");
  const [second, minute, hour, dom, month, dow] = fields;
  const open = (field) => field === "*" || field === "?";
  return {
    seconds: plainField(second, [], 0, 59),
    minutes: plainField(minute, [], 0, 59),
    hours: plainField(hour, [], 0, 23),
    months: plainField(month, MONTHS, 1, 12),
    dom: open(dom) ? null : dayOfMonthTests(dom),
    dow: open(dow) ? null : dayOfWeekTests(dow),
  };
}

const formatters = new Map();
function offsetAt(zone, epoch) {
  if (zone === "UTC") return 0;
  if (!formatters.has(zone)) {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formatters.set(zone, format);
  }
  const part = {};
  for (const { type, value: text } of formatters.get(zone).formatToParts(epoch * 1000)) part[type] = Number(text);
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) / 1000 - epoch;
}

// Only for times of day at which the offset is not changed, so that the offset at noon of the day is the one.
function toUtc(zone, day, secondOfDay) {
  if (zone === "UTC") return day * DAY + secondOfDay;
  const noon = day * DAY + 12 * 3600;
  return day * DAY + secondOfDay - offsetAt(zone, noon - offsetAt(zone, noon));
}

// The first `count` times at or after `from`, by looking at every day.
export function walk(expression, zone, from, count, years = HORIZON_YEARS) {
  const rule = parse(expression);
  const sorted = (set) => [...set].sort((a, b) => a - b);
  const [seconds, minutes, hours] = [rule.seconds, rule.minutes, rule.hours].map(sorted);
  const times = [];
  const first = Math.floor(from / DAY) - 1;
  for (let day = first; day < first + years * 365.25; day++) {
    const date = new Date(day * DAY * 1000);
    const [y, m, d] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    if (!rule.months.has(m)) continue;
    const n = new Date(Date.UTC(y, m, 0)).getUTCDate();
    const hit = (tests) => tests.some((test) => test(y, m, d, n));
    if (rule.dom && rule.dow) {
      if (!hit(rule.dom) && !hit(rule.dow)) continue;
    } else if ((rule.dom && !hit(rule.dom)) || (rule.dow && !hit(rule.dow))) {
      continue;
    }
    for (const hour of hours) {
      for (const minute of minutes) {
        for (const second of seconds) {
          const t = toUtc(zone, day, hour * 3600 + minute * 60 + second);
          if (t < from) continue;
          times.push(t);
          if (times.length === count) return times;
        }
      }
    }
  }
  return times;
}

// ------------------------------------------------------------------------------------------------------- croner

// Why croner's answer is not ours.  `when` looks at the fields (six, upper case) and at what croner did: an Error if it
// refused the expression, else its times.  With `instead`, croner is asked again in words that it understands, and
// must agree then.
const knownDifferences = [
  {
    // A search for "the last Tuesday" also looks at the 29th to 31st of months without them, takes the 30th of
    // February for one, and goes on from the day which that would be: the days before it are lost.
    reason: "nL or n#L beside a restricted day of month: croner jumps over the first days after a short month",
    when: ({ dom, dow }, theirs, ours, zone) => {
      if (theirs instanceof Error || !ours || !/L/.test(dow) || dom === "*" || dom === "?") return false;
      const end = Math.min(theirs.at(-1), ours.at(-1));
      const lost = ours.filter((t) => t <= end && !theirs.includes(t));
      const added = theirs.filter((t) => t <= end && !ours.includes(t));
      return added.length === 0 && lost.every((t) => new Date((t + offsetAt(zone, t)) * 1000).getUTCDate() <= 3);
    },
  },
  {
    reason: "? beside a restricted day field: croner 10 takes it for a restriction to every day, so every day matches",
    when: ({ dom, dow }) => (dom === "?") !== (dow === "?"),
    instead: (cron) => cron.replaceAll("?", "*"),
  },
  {
    reason: "L-n (n days before the last): croner does not know it",
    when: ({ dom }, theirs) => /\bL-\d/.test(dom) && theirs instanceof Error,
  },
  {
    reason: "LW inside a list: croner only knows it alone",
    when: ({ dom }, theirs) => dom.split(",").includes("LW") && dom !== "LW" && theirs instanceof Error,
  },
];

function cronerTimes(expression, zone, from) {
  try {
    const job = new Cron(expression, {
      timezone: zone === "UTC" ? "Etc/UTC" : zone,
      mode: expression.startsWith("@") ? "auto" : "5-or-6-parts",
      domAndDow: false, // either matches
      sloppyRanges: true, // a/n is not taken without it
      paused: true,
    });
    // croner answers with what lies strictly after its argument
    return job.nextRuns(TIMES, new Date((from - 1) * 1000)).map((date) => Math.floor(date.getTime() / 1000));
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function fieldsOf(expression) {
  let fields = (NICKNAMES[expression.toLowerCase()] ?? expression).toUpperCase().split(/\s+/);
  if (fields.length === 5) fields = ["0", ...fields];
  const [second, minute, hour, dom, month, dow] = fields;
  return { second, minute, hour, dom, month, dow };
}

// --------------------------------------------------------------------------------------------- random expressions

class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  next() {
    // mulberry32: small, and the same on every machine
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  int(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }
  chance(p) {
    return this.next() < p;
  }
  pick(list) {
    return list[this.int(0, list.length - 1)];
  }
}

const anyCase = (random, name) => random.pick([name, name.toLowerCase(), name[0] + name.slice(1).toLowerCase()]);

// One item of a plain field with values from low to high; `names` may be used for some of them.
function plainItem(random, low, high, names = []) {
  const show = (n) => (names.length > 0 && random.chance(0.4) ? anyCase(random, names[n - low]) : String(n));
  const a = random.int(low, high);
  const kind = random.next();
  if (kind < 0.55) return show(a);
  const b = random.int(a, high);
  if (kind < 0.75) return `${show(a)}-${show(b)}`;
  const step = random.int(1, Math.max(1, Math.min(high - low, 20)));
  if (kind < 0.88) return `${show(a)}-${show(b)}/${step}`;
  return `${show(a)}/${step}`;
}

function list(random, item) {
  const size = random.chance(0.7) ? 1 : random.int(2, 4);
  return Array.from({ length: size }, item).join(",");
}

function plain(random, low, high, openness, names = []) {
  if (random.chance(openness)) return random.chance(0.75) ? "*" : `*/${random.int(1, high - low)}`;
  return list(random, () => plainItem(random, low, high, names));
}

function dayOfMonth(random) {
  return list(random, () => {
    const kind = random.next();
    if (kind < 0.55) return plainItem(random, 1, 31);
    if (kind < 0.68) return random.pick(["L", "l"]);
    if (kind < 0.75) return `L-${random.int(1, 30)}`;
    if (kind < 0.82) return "LW";
    return `${random.int(1, 31)}${random.pick(["W", "w"])}`;
  });
}

function dayOfWeek(random) {
  const show = (n) => (random.chance(0.5) ? anyCase(random, DAYS[n % 7]) : String(n));
  return list(random, () => {
    const kind = random.next();
    const a = random.int(0, 6);
    if (kind < 0.35) return show(random.int(0, 7));
    if (kind < 0.55) {
      const b = random.int(a, 7);
      // 0-7 is the whole week; what SUN-SUN or 0-SUN would be, nobody says
      const [begin, end] = a === 0 ? [String(a), String(b)] : [show(a), show(b)];
      return `${begin}-${end}${random.chance(0.25) ? `/${random.int(1, 3)}` : ""}`;
    }
    if (kind < 0.62) return `${show(a)}/${random.int(1, 4)}`;
    if (kind < 0.75) return `${show(random.int(0, 7))}#${random.int(1, 5)}`;
    if (kind < 0.82) return `${show(random.int(0, 7))}#L`;
    if (kind < 0.95) return `${show(random.int(0, 7))}L`;
    return `*/${random.int(2, 6)}`;
  });
}

const ZONES = ["Europe/London", "America/New_York", "Europe/Dublin", "Pacific/Chatham", "Asia/Kolkata"];

function randomRequest(random) {
  const zone = random.chance(0.75) ? "UTC" : random.pick(ZONES);
  let cron;
  if (zone === "UTC" && random.chance(0.03)) {
    cron = random.pick(Object.keys(NICKNAMES));
    if (random.chance(0.2)) cron = cron.toUpperCase();
  } else {
    const open = () => (random.chance(0.9) ? "*" : "?");
    const fields = [];
    if (random.chance(0.3)) fields.push(plain(random, 0, 59, 0.2));
    fields.push(plain(random, 0, 59, 0.2));
    // The hours of a zone keep away from those in which clocks are changed; a/n would run on to 23, which is fine too.
    fields.push(zone === "UTC" ? plain(random, 0, 23, 0.3) : list(random, () => plainItem(random, 6, 22)));
    fields.push(random.chance(0.45) ? open() : dayOfMonth(random));
    fields.push(plain(random, 1, 12, 0.6, MONTHS));
    fields.push(random.chance(0.5) ? open() : dayOfWeek(random));
    cron = fields.join(" ");
  }
  let from = Date.UTC(2019, 0, 1) / 1000 + random.int(0, 12 * 365 * DAY);
  if (random.chance(0.5)) from -= from % random.pick([60, 3600, DAY]);
  return request(cron, zone, from);
}

function request(cron, zone, from) {
  return {
    trigger: { kind: "cron", cron },
    timezone: zone,
    from: text(from),
    count: TIMES,
    dst: { gap: "shift", overlap: "first" },
  };
}

const text = (epoch) => new Date(epoch * 1000).toISOString().replace(".000Z", "Z");

// Expressions that must be refused: without a meaning, out of range, or without a day on which they fire.
const REFUSED = [
  "",
  "* * * *",
  "* * * * * * *",
  "a b c d e",
  "60 * * * *",
  "-1 * * * *",
  "* 24 * * *",
  "* * 0 * *",
  "* * 32 * *",
  "* * * 0 *",
  "* * * 13 *",
  "* * * * 8",
  "60 * * * * *",
  "*/0 * * * *",
  "*/ * * * *",
  "/5 * * * *",
  "1-5/0 * * * *",
  "5-3 * * * *",
  "* 22-2 * * *",
  "* * 20-10 * *",
  "* * * NOV-FEB *",
  "* * * * FRI-MON",
  "* * * * 6-2",
  "? * * * *",
  "* ? * * *",
  "* * * ? *",
  "1,,2 * * * *",
  ",1 * * * *",
  "1, * * * *",
  "1- * * * *",
  "1--2 * * * *",
  "1-2-3 * * * *",
  "1/2/3 * * * *",
  "1.5 * * * *",
  "* * * FOO *",
  "* * * * FOO",
  "* * * MON *",
  "* * * * JAN",
  "* * 0W * *",
  "* * 32W * *",
  "* * W * *",
  "* * 1-5W * *",
  "* * L-31 * *",
  "* * L-99 * *",
  "L * * * *",
  "* L * * *",
  "* * * L *",
  "15W * * * *",
  "* * 1#2 * *",
  "* * * * 1#0",
  "* * * * 1#6",
  "* * * * 8#1",
  "* * * * 8L",
  "* * * * 1#",
  "* * * * #1",
  "* * * * 15W",
  "@reboot",
  "@never",
  "@",
  "0 0 30 2 *",
  "0 0 31 2,4,6,9,11 *",
  "0 0 30-31 2 *",
  "0 0 31W 4 *",
  "99999999999999999999 * * * *",
  "* * * * *\u0000",
  "🕑 * * * *",
  "*".repeat(10000),
  "1,".repeat(5000) + "1 * * * * * *",
];

// --------------------------------------------------------------------------------------------------------- the run

function ask(tool, requests) {
  const [command, args] = tool.endsWith(".mjs") ? [process.execPath, [tool]] : [tool, []];
  const done = spawnSync(command, args, {
    input: requests.map((r) => JSON.stringify(r) + "\n").join(""),
    encoding: "utf8",
    maxBuffer: 1 << 28,
    timeout: 120_000 + requests.length * 50,
  });
  if (done.error && !done.stdout) throw done.error;
  if (done.stderr) process.stderr.write(done.stderr.slice(-2000));
  const lines = done.stdout.split("\n").filter((line) => line !== "");
  if (lines.length < requests.length) {
    console.log(`the line tool answered ${lines.length} of ${requests.length} requests (exit code ${done.status})`);
  }
  return requests.map((_, i) => {
    try {
      return JSON.parse(lines[i]);
    } catch {
      return null;
    }
  });
}

// Epoch seconds, null for an error, undefined if it is not an answer.
function times(answer) {
  if (answer === null || typeof answer !== "object") return undefined;
  if ("error" in answer) return ["invalid_request", "invalid_configuration"].includes(answer.code) ? null : undefined;
  if (!Array.isArray(answer.times)) return undefined;
  const all = answer.times.map((t) => (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(t) ? Date.parse(t) / 1000 : NaN));
  return all.some(Number.isNaN) ? undefined : all;
}

// An answer that is wrong in one of a few ways, all of them within the first times.
function spoil(random, answer) {
  const list = [...answer.times];
  const way = random.int(0, 3);
  if (way === 0) list.splice(random.int(0, 1), 1);
  if (way === 1) list[0] = text(Date.parse(list[0]) / 1000 + random.pick([-60, -1, 1, 60, 3600]));
  if (way === 2) list.splice(1, 0, list[0]);
  return way === 3 ? { error: "spoiled", code: "invalid_request" } : { times: list };
}

const same = (a, b) => a.length === b.length && a.every((t, i) => t === b[i]);

function main() {
  const args = process.argv.slice(2);
  const tool = args.shift();
  const option = (name, otherwise) => {
    const at = args.indexOf(name);
    return at >= 0 ? Number(args[at + 1]) : otherwise;
  };
  if (!tool) {
    console.error("usage: cron_differential.mjs NEXT_LINES [--expressions N] [--seed S] [--mutate]");
    process.exit(2);
  }
  const wanted = option("--expressions", full ? 3000 : 300);
  const seed = option("--seed", 20260105);
  const mutate = args.includes("--mutate");
  const { version } = JSON.parse(readFileSync(new URL("node_modules/croner/package.json", import.meta.url), "utf8"));
  const began = Date.now();

  const random = new Random(seed);
  const requests = Array.from({ length: wanted }, () => randomRequest(random));
  const refusals = REFUSED.map((cron) => request(cron, "UTC", Date.UTC(2026, 0, 5) / 1000));
  const answers = ask(tool, [...requests, ...refusals]);

  const spoiled = [];
  if (mutate) {
    requests.forEach((asked, i) => {
      if ((answers[i]?.times?.length ?? 0) < 3 || !random.chance(0.15)) return;
      answers[i] = spoil(random, answers[i]);
      spoiled.push(asked);
    });
  }

  let passed = 0;
  let failed = 0;
  let agreed = 0;
  let never = 0;
  const reasons = new Map();
  const failures = new Set();
  const fail = (asked, why, ours) => {
    failed++;
    failures.add(asked);
    if (failed > 25 || mutate) return;
    console.log(`FAILED ${why}\n${JSON.stringify(asked).slice(0, 400)}`);
    if (ours) console.log(`  ours: ${ours.slice(0, 6).map(text).join(" ")}`);
  };

  requests.forEach((asked, i) => {
    const from = Date.parse(asked.from) / 1000;
    const cron = asked.trigger.cron;
    const ours = times(answers[i]);
    if (ours === undefined) return fail(asked, `no valid answer: ${JSON.stringify(answers[i])}`);
    const limit = from + COMPARED_YEARS * 365.25 * DAY;
    const near = (list) => list.filter((t) => t < limit);

    const judge = walk(cron, asked.timezone, from, TIMES);
    if (ours === null) {
      if (judge.length > 0) {
        return fail(asked, `an error (${answers[i].error}), but it fires at ${text(judge[0])}`);
      }
      never++;
    } else if (judge.length === 0) {
      return fail(asked, "times, but it never fires", ours);
    } else if (!same(near(ours), near(judge))) {
      const at = judge.findIndex((t, k) => t !== ours[k]);
      return fail(asked, `time ${at} should be ${at < 0 ? "missing" : text(judge[at])}`, ours.slice(Math.max(at, 0)));
    }

    const theirs = cronerTimes(cron, asked.timezone, from);
    const agrees = !(theirs instanceof Error) && same(near(theirs), near(ours ?? []));
    if (agrees) {
      agreed++;
      passed++;
      return;
    }
    const known = knownDifferences.find(({ when, instead }) => {
      if (!when(fieldsOf(cron), theirs, ours, asked.timezone)) return false;
      if (!instead) return true;
      const again = cronerTimes(instead(cron), asked.timezone, from);
      return !(again instanceof Error) && same(near(again), near(ours ?? []));
    });
    if (!known) {
      const said = theirs instanceof Error ? theirs.message : theirs.slice(0, 6).map(text).join(" ");
      return fail(asked, `croner differs for no known reason: ${said}`, ours ?? []);
    }
    reasons.set(known.reason, (reasons.get(known.reason) ?? 0) + 1);
    passed++;
  });

  refusals.forEach((asked, i) => {
    const ours = times(answers[requests.length + i]);
    if (ours === null) passed++;
    else fail(asked, "this must be refused", ours);
  });

  console.log(`REPORT cron: seed ${seed}, ${wanted} random expressions, first ${TIMES} times, croner ${version}`);
  console.log(`REPORT cron: agreed with croner: ${agreed}`);
  console.log(`REPORT cron: decided by the walk: ${[...reasons.values()].reduce((a, b) => a + b, 0)}`);
  for (const [reason, n] of reasons) console.log(`REPORT cron:   ${n} ${reason}`);
  console.log(`REPORT cron: never fires, refused: ${never}; must be refused: ${REFUSED.length}`);
  console.log(`REPORT cron: failures: ${failed}; ${Math.round((Date.now() - began) / 1000)} s`);
  if (mutate) {
    const noticed = spoiled.filter((asked) => failures.has(asked)).length;
    console.log(`REPORT cron: spoiled answers: ${spoiled.length}, noticed ${noticed}`);
    console.log(`${noticed} passed, ${spoiled.length - noticed} failed`);
    process.exit(noticed > 0 && noticed === spoiled.length ? 0 : 1);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) main();
