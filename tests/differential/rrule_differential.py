#!/usr/bin/env python3
"""Compares the recurrence engine with python-dateutil on random rules; a brute-force walk decides disputes.

    rrule_differential.py NEXT_LINES [--rules N] [--seed S] [--report FILE] [--corpus FILE] [--mutate]

NEXT_LINES is the engine's line tool: a JSON request a line in, a JSON answer a line out.  A file that ends in .py is
run with this interpreter, so brute_rrule.py can stand in for it.

Every rule's first 50 times must equal dateutil's.  Where they do not, where dateutil runs into the alarm (it hangs on
rules that never match) or refuses the rule, and where dateutil has no notion of what is meant (HOURLY and finer in a
zone with DST), brute_rrule.py decides.  It also checks every fifth rule although dateutil agrees.  The fixed cases of
rrule_cases.jsonl are checked first.

A failure is printed as a line that can be fed to the line tool or to brute_rrule.py again.
--mutate spoils some of the engine's answers and succeeds only if each of them is noticed.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import dateutil
from dateutil.rrule import rrulestr

sys.dont_write_bytecode = True  # the source tree stays as it is
import brute_rrule
from brute_rrule import UNIT, WEEKDAYS, Refused, expand, settle, to_utc, utc_epoch, utc_text

FULL = os.environ.get("CARILLON_FULL") == "1"
TIMES = 50  # how many times of each rule are compared
BRUTE_EVERY = 5  # the brute force looks at every fifth rule even if dateutil agrees
LATER_EVERY = 3  # every third rule is asked again from the middle of its answer
DATEUTIL_SECONDS = 1.0  # of processor time, so that a busy machine changes nothing

ZONES = [
    "UTC",
    "Europe/London",
    "America/New_York",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Antarctica/Troll",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Europe/Dublin",
    "Asia/Kolkata",
    "Pacific/Apia",
]
# One offset for all the years in question: here dateutil's naive local times mean the same as steps in absolute time.
STEADY_ZONES = ("UTC", "Asia/Kolkata")


# ---------------------------------------------------------------------------------------------------- random requests


def transitions(name):
    """(instant, offset before, offset after) of each change of offset in the years of the starts."""
    zone = ZoneInfo(name)
    found = []
    t = utc_epoch("2019-01-01T00:00:00Z")
    end = utc_epoch("2032-01-01T00:00:00Z")

    def offset(at):
        return int(datetime.fromtimestamp(at, zone).utcoffset().total_seconds())

    while t < end:
        if offset(t) != offset(t + 86400):
            low, high = t, t + 86400
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offset(t) else (low, middle)
            found.append((high, offset(t), offset(high)))
        t += 86400
    return found


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.transitions = {name: transitions(name) for name in ZONES}

    def chance(self, p):
        return self.rng.random() < p

    def numbers(self, lowest, highest, most=4, negative=0.0):
        """A short list of distinct numbers; each is counted from the end with probability `negative`."""
        size = self.rng.choices([1, 2, 3, most], [5, 3, 2, 1])[0]
        values = []
        for _ in range(size):
            n = self.rng.randint(lowest, highest)
            if self.chance(negative):
                n = -n
            if n not in values:
                values.append(n)
        return values

    def start(self, zone_name, freq):
        """A local start; often one that meets a change of the clock soon, or stands in the middle of it."""
        rng = self.rng
        moves = self.transitions[zone_name]
        if moves and self.chance(0.7 if freq in UNIT else 0.4):
            at, before, after = rng.choice(moves)
            # The clock jumps from at+before to at+after; a point from an hour before the lower of both to an hour
            # after the higher is in the gap or overlap, or near it.
            low, high = at + min(before, after), at + max(before, after)
            seconds = rng.randint(low - 3600, high + 3600)
            local = datetime(1970, 1, 1) + timedelta(seconds=seconds)
            back = {"YEARLY": 366 * 2, "MONTHLY": 92, "WEEKLY": 28, "DAILY": 10, "HOURLY": 2, "MINUTELY": 0.1}
            if self.chance(0.6):
                days = rng.uniform(0, back.get(freq, 0.01))
                if freq in UNIT:
                    local -= timedelta(seconds=int(days * 86400))
                else:
                    local -= timedelta(days=int(days))
        else:
            day = datetime(2019, 1, 1) + timedelta(days=rng.randrange(13 * 365))
            local = day + timedelta(seconds=rng.randrange(86400))
        if self.chance(0.5):
            local = local.replace(second=0)
        if self.chance(0.5):
            local = local.replace(minute=rng.choice([0, 15, 30, 45]), second=0)
        if self.chance(0.15):  # the days on which calendars are odd
            local = local.replace(month=rng.choice([1, 12]), day=rng.choice([1, 2, 3, 29, 30, 31]))
        elif self.chance(0.06):
            local = local.replace(year=rng.choice([2020, 2024, 2028]), month=2, day=29)
        return local

    def weekdays(self, freq, with_ordinals, month_only):
        rng = self.rng
        days = rng.sample(WEEKDAYS, rng.choices([1, 2, 3, 5, 7], [4, 3, 2, 2, 1])[0])
        if not with_ordinals:
            return days
        highest = 5 if month_only else rng.choice([5, 20, 53])
        mixed = self.chance(0.25)
        values = []
        for day in days:
            if mixed and self.chance(0.5):
                values.append(day)
            else:
                n = rng.randint(1, highest)
                values.append(f"{-n if self.chance(0.4) else n}{day}")
        return list(dict.fromkeys(values))

    def rule(self, freq, start, zone_name):
        rng, chance = self.rng, self.chance
        parts = {}

        if chance(0.5):
            if freq in UNIT:
                unit = UNIT[freq]
                usual = [2, 3, 5, 7, 10, 15, 20, 24, 25, 36, 45, 60, 90]
                parts["INTERVAL"] = rng.choice(usual + [rng.randint(2, 400), rng.randint(2, 200_000 // unit)])
            elif freq == "YEARLY":
                parts["INTERVAL"] = rng.choice([1, 2, 2, 3, 4, 5])
            else:
                parts["INTERVAL"] = rng.choice([1, 2, 2, 3, 4, 5, 6, 7, 10, 12, 18, rng.randint(2, 40)])

        if freq == "YEARLY":
            if chance(0.22):
                weeks = [self.numbers(1, 53, negative=0.3), self.numbers(50, 53), [1], [-1], [53]]
                parts["BYWEEKNO"] = rng.choice(weeks)
            if chance(0.35):
                parts["BYMONTH"] = self.numbers(1, 12)
            if chance(0.15 if "BYWEEKNO" not in parts else 0.05):
                parts["BYYEARDAY"] = self.numbers(1, 366, most=12, negative=0.3)
            if chance(0.25 if "BYYEARDAY" not in parts and "BYWEEKNO" not in parts else 0.05):
                parts["BYMONTHDAY"] = self.numbers(1, 31, most=8, negative=0.3)
            if chance(0.45 if "BYYEARDAY" not in parts else 0.2):
                narrow = "BYYEARDAY" in parts or "BYMONTHDAY" in parts
                ordinals = "BYWEEKNO" not in parts and chance(0.15 if narrow else 0.6)
                parts["BYDAY"] = self.weekdays(freq, ordinals, "BYMONTH" in parts)
        elif freq == "MONTHLY":
            if chance(0.25):
                parts["BYMONTH"] = self.numbers(1, 12)
            if chance(0.4):
                parts["BYMONTHDAY"] = self.numbers(1, 31, most=8, negative=0.3)
            if chance(0.55):
                parts["BYDAY"] = self.weekdays(freq, chance(0.25 if "BYMONTHDAY" in parts else 0.6), True)
        elif freq == "WEEKLY":
            if chance(0.2):
                parts["BYMONTH"] = self.numbers(1, 12)
            if chance(0.7):
                parts["BYDAY"] = self.weekdays(freq, False, False)
        else:
            if chance(0.2):
                parts["BYMONTH"] = self.numbers(1, 12)
            if chance(0.2):
                parts["BYMONTHDAY"] = self.numbers(1, 31, most=8, negative=0.3)
            if chance(0.25):
                parts["BYDAY"] = self.weekdays(freq, False, False)
            if freq != "DAILY" and chance(0.08):
                parts["BYYEARDAY"] = self.numbers(1, 366, most=12, negative=0.3)

        if chance(0.22):
            parts["BYHOUR"] = self.numbers(0, 23, most=8)
            if chance(0.35):  # hours side by side, of which a gap may merge two
                parts["BYHOUR"] = [(start.hour + n) % 24 for n in (-1, 0, 1)]
        if chance(0.2):
            parts["BYMINUTE"] = self.numbers(0, 59, most=8)
        if chance(0.15):
            parts["BYSECOND"] = self.numbers(0, 59, most=8)
            if chance(0.03):
                parts["BYSECOND"].append(60)
        if any(name.startswith("BY") for name in parts) and chance(0.22):
            # Positions beyond the set make a rule that never fires; a few of those are enough.
            finer = {"HOURLY": ("BYMINUTE", "BYSECOND"), "MINUTELY": ("BYSECOND",), "SECONDLY": ()}.get(
                freq, ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYHOUR", "BYMINUTE", "BYSECOND")
            )
            if freq == "DAILY":
                finer = finer[-3:]
            size = 1
            for name in finer:
                size *= len(parts.get(name, [0]))
            if chance(0.1):
                size = 20
            parts["BYSETPOS"] = self.numbers(1, min(size, rng.choice([1, 2, 3, 5, 20])), negative=0.4)

        if chance(0.35):
            parts["WKST"] = rng.choice(WEEKDAYS)
        limit = rng.random()
        if limit < 0.25:
            parts["COUNT"] = rng.choice([1, 2, 3, rng.randint(4, 49), 50, 51, rng.randint(1, 80)])
        elif limit < 0.5:
            parts["UNTIL"] = self.until(freq, parts, start, zone_name)

        # The order of the parts carries no meaning, except that FREQ usually comes first.
        names = list(parts)
        rng.shuffle(names)
        texts = [
            f"{name}={','.join(map(str, v)) if isinstance(v := parts[name], list) else v}" for name in names
        ]
        position = 0 if chance(0.9) else rng.randrange(len(texts) + 1)
        texts.insert(position, f"FREQ={freq}")
        return ";".join(texts)

    def until(self, freq, parts, start, zone_name):
        rng = self.rng
        interval = parts.get("INTERVAL", 1)
        unit = {"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7, "DAILY": 1}.get(freq)
        # Far enough for a few occurrences even where the BY parts leave out most periods.
        rare = 1 + 3 * sum(name in parts for name in ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYDAY", "BYHOUR"))
        if unit is None:
            span = timedelta(seconds=rng.randint(0, min(UNIT[freq] * interval * 60 * rare**4, 366 * 86400)))
        else:
            span = timedelta(days=rng.randint(0, min(unit * interval * 20 * rare, 366 * 40)))
        local = start + span  # keeps the time of day, so it often falls just on an occurrence
        if self.chance(0.4):
            local += timedelta(seconds=rng.choice([-1, 1, rng.randint(-7200, 7200)]))
        form = rng.random()
        if form < 0.4:
            return datetime.fromtimestamp(to_utc(local, ZoneInfo(zone_name)), timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        if form < 0.8:
            return local.strftime("%Y%m%dT%H%M%S")
        return local.strftime("%Y%m%d")

    def request(self):
        rng = self.rng
        freq = rng.choices(brute_rrule.FREQS, [22, 22, 16, 14, 10, 8, 8])[0]
        if freq in UNIT:
            zone_name = rng.choices(ZONES, [20] + [1] * 9 + [4, 1])[0]
        else:
            zone_name = rng.choice(ZONES)
        start = self.start(zone_name, freq)
        rule = self.rule(freq, start, zone_name)
        first = to_utc(start, ZoneInfo(zone_name))
        begin = first - rng.choice([0, rng.randint(0, 3600), rng.randint(0, 3 * 86400)])
        if not exists(start, ZoneInfo(zone_name)):  # local times after it may come before it
            begin -= 3 * 3600
        return make_request(rule, start, zone_name, begin)


def make_request(rule, start, zone_name, begin, count=TIMES):
    return {
        "trigger": {"kind": "rrule", "rrule": rule, "start": start.isoformat(timespec="seconds")},
        "timezone": zone_name,
        "from": utc_text(begin),
        "count": count,
        "dst": {"gap": "shift", "overlap": "first"},
    }


# ------------------------------------------------------------------------------------------------------------ dateutil


class Alarm(Exception):
    pass


def _on_alarm(_signal, _frame):
    raise Alarm


def dateutil_rule(rule, zone_name):
    """The rule as dateutil wants it: UNTIL as a naive local time, because DTSTART is one."""

    def naive(match):
        kind, value = brute_rrule._until(match[1])
        if kind == "utc":
            value = datetime.fromtimestamp(value, ZoneInfo(zone_name)).replace(tzinfo=None)
        elif kind == "date":
            value = datetime.combine(value, datetime.max.time().replace(microsecond=0))
        return "UNTIL=" + value.strftime("%Y%m%dT%H%M%S")

    return re.sub(r"UNTIL=([0-9TZ]+)", naive, rule)


def ask_dateutil(request):
    """("times", instants, local times) or ("hangs", …) or ("refuses", …)."""
    trigger, zone = request["trigger"], ZoneInfo(request["timezone"])
    start = datetime.fromisoformat(trigger["start"])
    signal.signal(signal.SIGVTALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_VIRTUAL, DATEUTIL_SECONDS)
    try:
        rule = rrulestr(dateutil_rule(trigger["rrule"], request["timezone"]), dtstart=start)
        times, local, _ = settle(iter(rule), zone, TIMES)
        return "times", times, local
    except Alarm:
        return "hangs", None, None
    except (ValueError, OverflowError) as error:
        return "refuses", str(error), None
    except TypeError as error:  # inside dateutil: its search for the next matching hour or minute found none
        return "breaks", str(error), None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def exists(local, zone):
    """False for a local time inside a gap."""
    return datetime.fromtimestamp(to_utc(local, zone), zone).replace(tzinfo=None, fold=0) == local


def deviation(request, state, message, ours, theirs):
    """Why dateutil's answer is not the right one; None if no known reason fits."""
    if state == "hangs":
        return "dateutil hangs (alarm)"
    if state == "breaks":
        return "dateutil breaks with a TypeError of its own"
    rule = brute_rrule.parse(request["trigger"]["rrule"])
    if state == "refuses":
        if "BYSECOND" in rule.by and "second must be in" in message:
            return "dateutil refuses BYSECOND=60"
        if "empty" in message:
            return "dateutil refuses a rule that it sees never fires"
        return f"dateutil refuses: {message}"
    ordinals = {ordinal is None for ordinal, _ in rule.byday}
    if len(ordinals) == 2:
        return "BYDAY with and without ordinals: dateutil intersects, the RFC unites"
    if "BYWEEKNO" in rule.by and not rule.byday and not {"BYMONTHDAY", "BYYEARDAY"} & set(rule.by):
        return "BYWEEKNO without a day part: dateutil takes all seven days, not DTSTART's weekday"
    if "BYSETPOS" in rule.by and rule.freq == "WEEKLY":
        return "WEEKLY with BYSETPOS: dateutil cuts the first week off at DTSTART"
    if "BYWEEKNO" in rule.by:
        return "BYWEEKNO in the weeks that reach over the turn of the year"
    horizon = utc_epoch(request["from"]) + 390 * 365 * 86400
    if ours and theirs[: len(ours)] == ours and theirs[len(ours) :] and theirs[len(ours)] > horizon:
        return "the engine's horizon ends before dateutil's"
    if rule.count is not None and len(theirs) < rule.count <= TIMES and len(theirs) < len(ours or []):
        return "COUNT where a gap puts two local times onto one instant: dateutil counts both"
    if rule.until is not None and rule.until[0] == "utc" and abs(len(theirs) - len(ours or [])) == 1:
        return "UNTIL as an instant inside a gap or overlap: dateutil only knows local times"
    return None


# ------------------------------------------------------------------------------------------------------------ the tool


def ask_tool(tool, requests, seconds):
    """All answers of the line tool; None where it gave none (it died, hung or wrote something else)."""
    command = [sys.executable, tool] if tool.endswith(".py") else [tool]
    text = "".join(json.dumps(r) + "\n" for r in requests)
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=seconds)
        out, note = done.stdout, f"exit code {done.returncode}"
        if done.stderr:
            sys.stderr.write(done.stderr[-2000:])
    except subprocess.TimeoutExpired as expired:
        out, note = (expired.stdout or b"").decode(errors="replace"), f"no end after {seconds} s"
    answers = []
    for line in out.splitlines()[: len(requests)]:
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        answers.append(answer if isinstance(answer, dict) else None)
    if len(answers) < len(requests):
        print(f"the line tool answered {len(answers)} of {len(requests)} requests ({note})")
        answers += [None] * (len(requests) - len(answers))
    return answers


def instants_of(answer):
    """The answer's times as epoch seconds; None for an error.  Raises ValueError if it is neither."""
    if answer is None:
        raise ValueError("no answer")
    if "error" in answer:
        if answer.get("code") not in ("invalid_request", "invalid_configuration"):
            raise ValueError(f"unknown error code {answer.get('code')!r}")
        return None
    times = [utc_epoch(t) for t in answer["times"]]
    if any(a >= b for a, b in zip(times, times[1:])):
        raise ValueError("the times do not strictly increase")
    return times


# ------------------------------------------------------------------------------------------------------------- judging


def brute(request, deep):
    trigger = request["trigger"]
    start = datetime.fromisoformat(trigger["start"])
    # A rule that the engine calls impossible deserves a look at all of the engine's own 400 years.
    years = 400 if deep else 60
    return expand(trigger["rrule"], start, request["timezone"], TIMES, years=years)


def agrees_with_brute(ours, judge):
    """None if they agree, "undecided" if the horizon hides the answer, else what is wrong."""
    if ours is None:
        return f"an error, but the rule fires at {utc_text(judge.times[0])}" if judge.times else None
    known, right = ours, judge.times
    if not judge.ended and len(judge.times) < TIMES:  # beyond the horizon neither is known to be complete
        known, right = ([t for t in times if t < judge.covered] for times in (known, right))
    if judge.ended and not judge.times:
        return "times, but the rule never fires"
    if known == right:
        return None if known else "undecided"
    for i, (a, b) in enumerate(zip(known, right)):
        if a != b:
            return f"time {i} is {utc_text(a)}, should be {utc_text(b)}"
    if len(known) < len(right):
        return f"only {len(known)} times, {utc_text(right[len(known)])} is missing"
    return f"{utc_text(known[len(right)])} is too much"


class Tally:
    def __init__(self):
        self.passed = 0
        self.failures = []

    def good(self):
        self.passed += 1

    def bad(self, request, reason, ours=None):
        self.failures.append((request, reason))
        if len(self.failures) <= 25:
            print(f"FAILED {reason}")
            print(json.dumps(request))
            if ours:
                print("  ours: " + " ".join(utc_text(t) for t in ours[:6]))
            sys.stdout.flush()


def check_cases(tool, path, tally, spoil):
    cases = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    answers = ask_tool(tool, [case["request"] for case in cases], 120)
    for number, (case, answer) in enumerate(zip(cases, answers)):
        spoiled = spoil(("case", number), answer, len(case.get("times", [])))
        if spoiled is not None:
            answer = spoiled
        before = len(tally.failures)
        try:
            ours = instants_of(answer)
        except (ValueError, KeyError, TypeError) as error:
            tally.bad(case["request"], f"case '{case['why']}': {error}")
        else:
            wanted = None if case.get("error") else [utc_epoch(t) for t in case["times"]]
            if ours == wanted:
                tally.good()
            else:
                said = "an error: " + str(answer.get("error")) if ours is None else " ".join(answer["times"][:5])
                tally.bad(case["request"], f"case '{case['why']}': got {said}")
        if spoiled is not None and len(tally.failures) > before:
            spoil.noticed += 1
    return len(cases)


class Spoiler:
    """The negative control: alters some answers in a way that the comparison has to notice."""

    def __init__(self, active, seed):
        self.rng = random.Random(seed)
        self.active = active
        self.done = 0
        self.noticed = 0

    def __call__(self, key, answer, sure):
        """A spoiled answer, or None to leave it.  `sure` is how many of the times are surely compared."""
        if not self.active or answer is None or self.rng.random() > 0.15:
            return None
        times = list(answer.get("times", []))
        if not times or sure < 3:
            return None
        ways = ["drop", "shift", "add", "error"]
        way = self.rng.choice(ways)
        if way == "drop":
            del times[2]
        elif way == "shift":
            times[2] = utc_text(utc_epoch(times[2]) + self.rng.choice([-1, 1]))
        elif way == "add":
            times.insert(0, utc_text(utc_epoch(times[0]) - self.rng.choice([1, 60, 3600])))
            times = times[:TIMES]
        self.done += 1
        if way == "error":
            return {"error": "spoiled", "code": "invalid_request"}
        return {"times": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tool", metavar="NEXT_LINES")
    parser.add_argument("--rules", type=int, default=4000 if FULL else 400)
    parser.add_argument("--seed", type=int, default=20260105)
    parser.add_argument("--report", type=Path, help="also write the REPORT lines to this file")
    parser.add_argument("--corpus", type=Path, help="write the verified rules with their times, one JSON line each")
    parser.add_argument("--cases", type=Path, default=Path(__file__).with_name("rrule_cases.jsonl"))
    parser.add_argument("--mutate", action="store_true", help="negative control: every spoiled answer must be seen")
    options = parser.parse_args()
    began = time.monotonic()

    spoil = Spoiler(options.mutate, options.seed)
    case_tally = Tally()
    cases = check_cases(options.tool, options.cases, case_tally, spoil)

    generator = Generator(options.seed)
    # A few more than asked for: some rules have their first time beyond the judge's horizon and are not counted.
    requests = [generator.request() for _ in range(options.rules + options.rules // 20 + 5)]
    answers = ask_tool(options.tool, requests, 120 + len(requests) * (0.5 if options.tool.endswith(".py") else 0.05))

    tally = Tally()
    counts = collections.Counter()
    reasons = collections.Counter()
    unexplained = []
    corpus = []
    later = []
    for number, (request, answer) in enumerate(zip(requests, answers)):
        if counts["compared"] >= options.rules:
            break
        trigger = request["trigger"]
        steps = re.search(r"FREQ=([A-Z]+)", trigger["rrule"])[1] in UNIT
        first_years = utc_epoch(request["from"]) + 40 * 365 * 86400
        sure = sum(1 for t in (answer or {}).get("times", []) if utc_epoch(t) < first_years)
        spoiled = spoil(number, answer, sure)
        failed_before = len(tally.failures)
        if spoiled is not None:
            answer = spoiled
        try:
            ours = instants_of(answer)
        except (ValueError, KeyError, TypeError) as error:
            counts["compared"] += 1
            tally.bad(request, str(error))
            if spoiled is not None:
                spoil.noticed += 1
            continue

        # dateutil's word
        state, theirs, local = "not asked", None, None
        if not steps or request["timezone"] in STEADY_ZONES:
            state, theirs, local = ask_dateutil(request)
        never = state == "times" and not theirs
        agreed = state == "times" and (ours is None if never else ours == theirs)

        # the brute force's word
        verdict, judge = None, None
        if not agreed or number % BRUTE_EVERY == 0:
            try:
                judge = brute(request, deep=ours is None)
            except Refused as refused:
                raise AssertionError(f"the generator made a forbidden rule: {trigger['rrule']}: {refused}")
            verdict = agrees_with_brute(ours, judge)
            counts["brute force asked"] += 1

        if verdict == "undecided" and not agreed:
            counts["first time beyond the horizon, not counted"] += 1
            continue
        counts["compared"] += 1
        if verdict not in (None, "undecided"):
            tally.bad(request, verdict, ours)
            if agreed:
                print("  (dateutil agrees with the engine, the brute force does not)")
        else:
            tally.good()
            if agreed:
                counts["agreed with dateutil"] += 1
            else:
                counts["decided by brute force"] += 1
                if state == "not asked":
                    reason = "HOURLY and finer in a zone with DST: dateutil does not step in absolute time"
                else:
                    reason = deviation(request, state, theirs, ours, theirs)
                    if reason is None:
                        reason = "unclassified"
                        unexplained.append(request)
                reasons[reason] += 1
            if ours is None:
                counts["never fires, refused"] += 1
            else:
                if number % LATER_EVERY == 0 and len(ours) > 2:
                    later.append((request, ours))
                known = local if agreed else judge.local
                zone = ZoneInfo(request["timezone"])
                # For libraries that know only naive local times; a gap moves or merges times, which they cannot.
                if (not steps or request["timezone"] in STEADY_ZONES) and all(exists(t, zone) for t in known):
                    corpus.append(
                        {
                            "request": request,
                            "naive_rule": dateutil_rule(trigger["rrule"], request["timezone"]),
                            "naive": [t.isoformat(timespec="seconds") for t in known],
                            "times": [utc_text(t) for t in ours[: len(known)]],
                            "ended": len(known) < TIMES and (agreed or judge.ended),
                        }
                    )
        if spoiled is not None and len(tally.failures) > failed_before:
            spoil.noticed += 1

    # Asked from the middle, the tool must give the rest of the very same times: the phase is kept, and COUNT is
    # counted from DTSTART and not from where the question begins.
    if not options.mutate:
        rng = random.Random(options.seed + 1)
        questions = []
        for request, ours in later:
            cut = rng.randrange(1, len(ours))
            # just after the time before, so that the next one is the first which may be given
            questions.append(({**request, "from": utc_text(ours[cut - 1] + 1), "count": len(ours) - cut}, ours[cut:]))
        for (question, wanted), answer in zip(questions, ask_tool(options.tool, [q for q, _ in questions], 300)):
            try:
                got = instants_of(answer)
            except (ValueError, KeyError, TypeError) as error:
                tally.bad(question, f"from the middle: {error}")
                continue
            if got == wanted:
                counts["asked again from the middle"] += 1
                tally.good()
            else:
                tally.bad(question, "asked from the middle it gives other times", got)

    lines = [
        f"REPORT rrule: seed {options.seed}, {counts['compared']} random rules, first {TIMES} times, "
        f"dateutil {dateutil.__version__}",
        f"REPORT rrule: agreed with dateutil: {counts['agreed with dateutil']}",
        f"REPORT rrule: decided by brute force: {counts['decided by brute force']}",
    ]
    lines += [f"REPORT rrule:   {n} {reason}" for reason, n in reasons.most_common()]
    lines += [f"REPORT rrule: unclassified: {json.dumps(r)}" for r in unexplained[:10]]
    for name in (
        "brute force asked",
        "never fires, refused",
        "first time beyond the horizon, not counted",
        "asked again from the middle",
    ):
        lines.append(f"REPORT rrule: {name}: {counts[name]}")
    lines.append(f"REPORT rrule: fixed cases: {cases}, failed {len(case_tally.failures)}")
    lines.append(f"REPORT rrule: failures: {len(tally.failures)}; {time.monotonic() - began:.0f} s")
    if options.mutate:
        lines.append(f"REPORT rrule: spoiled answers: {spoil.done}, noticed {spoil.noticed}")
    print("\n".join(lines))
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    if options.corpus:
        options.corpus.write_text("".join(json.dumps(c) + "\n" for c in corpus))

    if options.mutate:
        missed = spoil.done - spoil.noticed
        if spoil.done == 0:
            print("nothing was spoiled, so nothing is proven")
        print(f"{spoil.noticed} passed, {missed} failed")
        return 0 if spoil.done > 0 and missed == 0 else 1

    failed = len(tally.failures) + len(case_tally.failures)
    if counts["compared"] < options.rules:
        print(f"only {counts['compared']} of {options.rules} rules were compared")
        failed += 1
    print(f"{tally.passed + case_tally.passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
