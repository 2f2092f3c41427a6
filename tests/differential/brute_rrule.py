#!/usr/bin/env python3
"""A brute-force reading of RFC 5545 section 3.3.10, used as the last judge of the recurrence engine.

It walks the calendar day by day and asks of each day "does every part of the rule allow it?".
It is slow on purpose: each rule of the RFC is one short function that can be read next to the text.
It shares no code with the engine and does not use dateutil.  Zone offsets come from zoneinfo.

Where the RFC leaves room, this is what is decided here:

 1. DTSTART is an occurrence only if it matches the rule.
 2. A YEARLY period is the calendar year, also with BYWEEKNO.  A day matches BYWEEKNO if the number of the
    week that contains it is listed, whichever year that week belongs to (1 January may lie in week 53).
    For INTERVAL it is the calendar year of the day that counts.
 3. What the rule does not say comes from DTSTART; BYWEEKNO without a day part takes DTSTART's weekday.
 4. BYDAY with and without ordinals in one list is a union: "MO,2TU" is every Monday and the second Tuesday.
 5. BYSETPOS picks from the whole period, also from members before DTSTART, which are dropped afterwards.
    The set is one of local times, taken before the zone's gaps and overlaps are looked at.
 6. DAILY and coarser are expanded in local time and then mapped to UTC.  A local time in a gap is read with the
    offset before the gap (so it moves forward), one in an overlap is the first.  Two local times that map onto the
    same instant are one occurrence, also for COUNT.  Occurrences are ordered by instant; but what comes before
    DTSTART is told by the local clock (a DTSTART in a gap moves past local times that are later than it).
 7. HOURLY and finer step in absolute time.  Windows of one unit are counted from DTSTART's own unit; BY parts
    filter on the local clock of each instant.  HOURLY without BYMINUTE keeps its distance in seconds from DTSTART
    even where the local minute changes (Lord Howe moves its clock by 30 minutes).
 8. COUNT counts occurrences from DTSTART on.  UNTIL is inclusive: a UTC instant is compared with instants; a
    local time or a date (the whole of that day) with the local time the rule names.  For HOURLY and finer, where
    the rule names instants, a local UNTIL is first mapped to an instant like any local time: in an overlap it "refers
    to the first occurrence of the referenced time" (RFC 5545, 3.3.5).
 9. BYSECOND=60 is read as 59: no zone has a leap second any more.

Run as a program it answers the same JSON lines as the engine's line tool, so that a case can be replayed.
"""

import calendar
import functools
import itertools
import json
import re
import sys
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

FREQS = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
UNIT = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
LAST_DAY = date(9998, 12, 31)

# name -> (lowest, highest, whether -highest..-lowest is allowed too)
RANGES = {
    "BYMONTH": (1, 12, False),
    "BYWEEKNO": (1, 53, True),
    "BYYEARDAY": (1, 366, True),
    "BYMONTHDAY": (1, 31, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSECOND": (0, 60, False),
    "BYSETPOS": (1, 366, True),
}


class Refused(ValueError):
    """The RFC (or the engine's stated limits) does not allow this rule."""


# ---------------------------------------------------------------------------------------------------- the rule's text


@dataclass
class Rule:
    freq: str = ""
    interval: int = 1
    count: int | None = None
    until: tuple | None = None  # ("utc", epoch seconds) | ("local", datetime) | ("date", date)
    wkst: int = 0
    by: dict = field(default_factory=dict)  # "BYMONTH" -> frozenset of numbers; absent if not given
    byday: tuple = ()  # of (ordinal or None, weekday)


def parse(text):
    parts = {}
    for item in text.split(";"):
        name, separator, value = item.partition("=")
        if not separator or not value:
            raise Refused(f"not NAME=VALUE: {item!r}")
        if name in parts:
            raise Refused(f"{name} is given twice")
        parts[name] = value

    rule = Rule()
    rule.freq = parts.pop("FREQ", "")
    if rule.freq not in FREQS:
        raise Refused("FREQ is missing or unknown")
    if "COUNT" in parts and "UNTIL" in parts:
        raise Refused("COUNT and UNTIL must not occur together")
    for name, value in parts.items():
        if name == "INTERVAL":
            rule.interval = _number(name, value, 1, 10**9)
        elif name == "COUNT":
            rule.count = _number(name, value, 1, 10**18)
        elif name == "UNTIL":
            rule.until = _until(value)
        elif name == "WKST":
            if value not in WEEKDAYS:
                raise Refused("WKST is not a weekday")
            rule.wkst = WEEKDAYS.index(value)
        elif name == "BYDAY":
            rule.byday = tuple(_weekday(v) for v in value.split(","))
        elif name in RANGES:
            lowest, highest, negative = RANGES[name]
            numbers = set()
            for v in value.split(","):
                n = _number(name, v, -highest if negative else lowest, highest)
                if abs(n) < lowest:
                    raise Refused(f"{name} is out of range")
                numbers.add(min(n, 59) if name == "BYSECOND" else n)
            rule.by[name] = frozenset(numbers)
        else:
            raise Refused(f"unknown part {name}")
    _check_combinations(rule)
    return rule


def _number(name, text, lowest, highest):
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise Refused(f"{name} is not a number")
    n = int(text)
    if not lowest <= n <= highest:
        raise Refused(f"{name} is out of range")
    return n


def _weekday(text):
    match = re.fullmatch(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", text)
    if not match:
        raise Refused(f"not a BYDAY value: {text!r}")
    ordinal = int(match[1]) if match[1] else None
    if ordinal is not None and not 1 <= abs(ordinal) <= 53:
        raise Refused("BYDAY's ordinal is out of range")
    return ordinal, WEEKDAYS.index(match[2])


def _until(text):
    try:
        if re.fullmatch(r"[0-9]{8}", text):
            return "date", datetime.strptime(text, "%Y%m%d").date()
        if re.fullmatch(r"[0-9]{8}T[0-9]{6}Z", text):
            when = datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
            return "utc", int(when.timestamp())
        if re.fullmatch(r"[0-9]{8}T[0-9]{6}", text):
            return "local", datetime.strptime(text, "%Y%m%dT%H%M%S")
    except ValueError:
        pass
    raise Refused("UNTIL is not a date or time")


def _check_combinations(rule):
    has_ordinal = any(ordinal is not None for ordinal, _ in rule.byday)
    if "BYWEEKNO" in rule.by and rule.freq != "YEARLY":
        raise Refused("BYWEEKNO needs FREQ=YEARLY")
    if "BYYEARDAY" in rule.by and rule.freq in ("DAILY", "WEEKLY", "MONTHLY"):
        raise Refused(f"BYYEARDAY must not be used with FREQ={rule.freq}")
    if "BYMONTHDAY" in rule.by and rule.freq == "WEEKLY":
        raise Refused("BYMONTHDAY must not be used with FREQ=WEEKLY")
    if has_ordinal and rule.freq not in ("MONTHLY", "YEARLY"):
        raise Refused("BYDAY's ordinals need FREQ=MONTHLY or YEARLY")
    if has_ordinal and "BYWEEKNO" in rule.by:
        raise Refused("BYDAY's ordinals must not be used with BYWEEKNO")
    if "BYSETPOS" in rule.by and not rule.byday and set(rule.by) == {"BYSETPOS"}:
        raise Refused("BYSETPOS needs another BY part")


# ------------------------------------------------------------------------------------------ which days a rule allows


def days_in_year(year):
    return 366 if calendar.isleap(year) else 365


def _listed(numbers, position, length):
    """True if the 1-based position, or its count from the end (-1 is the last), is listed."""
    return position in numbers or position - length - 1 in numbers


@functools.lru_cache(maxsize=4096)
def week_one(year, wkst):
    """First day of week 1: the first week with at least four days in its year, so the one with 4 January."""
    fourth = date(year, 1, 4)
    return fourth - timedelta(days=(fourth.weekday() - wkst) % 7)


def week_of(day, wkst):
    """(number of the week that contains the day, number of weeks in the year which that week belongs to)."""
    for year in (day.year + 1, day.year, day.year - 1):
        first = week_one(year, wkst)
        if day >= first:
            return (day - first).days // 7 + 1, (week_one(year + 1, wkst) - first).days // 7
    raise AssertionError(day)


def _byday_allows(rule, day):
    for ordinal, weekday in rule.byday:
        if day.weekday() != weekday:
            continue
        if ordinal is None:
            return True
        # "the numeric value corresponds to an offset within the month when the BYMONTH rule part is present",
        # and within the year otherwise; with FREQ=MONTHLY always within the month.
        if rule.freq == "MONTHLY" or "BYMONTH" in rule.by:
            position, length = day.day, calendar.monthrange(day.year, day.month)[1]
        else:
            position, length = day.timetuple().tm_yday, days_in_year(day.year)
        if ordinal in ((position - 1) // 7 + 1, -((length - position) // 7 + 1)):
            return True
    return False


def day_allowed(rule, start, day):
    """True if every date part of the rule, given or implied by DTSTART, allows this day."""
    by = rule.by
    if "BYMONTH" in by and day.month not in by["BYMONTH"]:
        return False
    if "BYMONTHDAY" in by and not _listed(by["BYMONTHDAY"], day.day, calendar.monthrange(day.year, day.month)[1]):
        return False
    if rule.byday and not _byday_allows(rule, day):
        return False
    if "BYYEARDAY" in by and not _listed(by["BYYEARDAY"], day.timetuple().tm_yday, days_in_year(day.year)):
        return False
    if "BYWEEKNO" in by and not _listed(by["BYWEEKNO"], *week_of(day, rule.wkst)):
        return False

    # "Information, not contained in the rule, necessary to determine the various recurrence instance start
    # time and dates are derived from the Start Time (DTSTART)".
    names_a_day = rule.byday or "BYMONTHDAY" in by or "BYYEARDAY" in by
    if not names_a_day:
        if rule.freq == "YEARLY" and "BYWEEKNO" in by:
            return day.weekday() == start.weekday()
        if rule.freq == "YEARLY":
            return day.day == start.day and ("BYMONTH" in by or day.month == start.month)
        if rule.freq == "MONTHLY":
            return day.day == start.day
        if rule.freq == "WEEKLY":
            return day.weekday() == start.weekday()
    return True


def _set_positions(rule, members):
    """BYSETPOS's choice out of one period's sorted members."""
    if "BYSETPOS" not in rule.by:
        return members
    return [m for i, m in enumerate(members, 1) if _listed(rule.by["BYSETPOS"], i, len(members))]


# --------------------------------------------------------------------------------------- DAILY, WEEKLY, MONTHLY, YEARLY


def _period(rule, day):
    """The number of the period that the day lies in."""
    if rule.freq == "YEARLY":
        return day.year
    if rule.freq == "MONTHLY":
        return day.year * 12 + day.month - 1
    if rule.freq == "WEEKLY":
        return (day.toordinal() - 1 - rule.wkst) // 7  # ordinal 1 is a Monday
    return day.toordinal()


def _first_day_of_period(rule, day):
    if rule.freq == "YEARLY":
        return day.replace(month=1, day=1)
    if rule.freq == "MONTHLY":
        return day.replace(day=1)
    if rule.freq == "WEEKLY":
        return day - timedelta(days=(day.weekday() - rule.wkst) % 7)
    return day


class LocalWalk:
    """Local times of a rule of FREQ=DAILY or coarser, from DTSTART on, without COUNT and UNTIL.

    After the walk has run out, every local time before `covered` has been seen.
    """

    def __init__(self, rule, start, last_day):
        self.rule, self.start, self.last_day = rule, start, last_day
        self.covered = None

    def __iter__(self):
        rule, start = self.rule, self.start
        times = [
            timedelta(hours=h, minutes=m, seconds=s)
            for h in sorted(rule.by.get("BYHOUR", {start.hour}))
            for m in sorted(rule.by.get("BYMINUTE", {start.minute}))
            for s in sorted(rule.by.get("BYSECOND", {start.second}))
        ]
        first_period = _period(rule, start.date())
        day = _first_day_of_period(rule, start.date())
        period, members = first_period, []
        while day <= self.last_day:
            if _period(rule, day) != period:
                for local in _set_positions(rule, members):
                    if local >= start:
                        yield local
                period, members = _period(rule, day), []
            if (period - first_period) % rule.interval == 0 and day_allowed(rule, start, day):
                midnight = datetime(day.year, day.month, day.day)
                members.extend(midnight + t for t in times)
            day += timedelta(days=1)
        # The last period may be cut short by the horizon, so what it holds is not known.
        self.covered = datetime.combine(_first_day_of_period(rule, day - timedelta(days=1)), datetime.min.time())


def to_utc(local, zone):
    """Epoch seconds of a local time.  fold=0 is just the default policy: in a gap zoneinfo takes the offset before
    the gap, in an overlap the first of the two."""
    return int(local.replace(tzinfo=zone, fold=0).timestamp())


# No gap of the zones used here is longer (Troll has 2 hours), so local times this far apart keep their order.
LONGEST_GAP = timedelta(hours=3)


def settle(local_times, zone, wanted, until=None):
    """Map ascending local times to the first `wanted` distinct instants.

    Returns (instants, local times, whether it ran out of input).  A gap can put two local times onto one instant or
    change their order, so it looks a little further than the last one wanted.
    """
    seen = {}
    enough_at = None
    ran_out = True
    for local in local_times:
        if enough_at is not None and local > enough_at:
            ran_out = False
            break
        if until is not None:
            kind, limit = until
            if kind == "date" and local.date() > limit or kind == "local" and local > limit:
                break
            if kind == "utc" and to_utc(local, zone) > limit:
                if to_utc(local - LONGEST_GAP, zone) > limit:
                    break
                continue
        seen.setdefault(to_utc(local, zone), local)
        if enough_at is None and len(seen) >= wanted:
            enough_at = max(seen.values()) + LONGEST_GAP
    instants = sorted(seen)
    if len(instants) > wanted:
        ran_out = False
    instants = instants[:wanted]
    return instants, [seen[t] for t in instants], ran_out


# ------------------------------------------------------------------------------------------- HOURLY, MINUTELY, SECONDLY

TILE = 900  # seconds; see _offset


@functools.lru_cache(maxsize=1 << 18)
def _offset(zone, tile):
    """Offset in seconds during one quarter of an hour.

    Since 2019 every offset is a multiple of 15 minutes and changes at such a time, so it is constant in a tile, and
    so are the local date and hour.  That is checked, not believed.
    """
    begin = datetime.fromtimestamp(tile * TILE, zone).utcoffset()
    end = datetime.fromtimestamp(tile * TILE + TILE - 1, zone).utcoffset()
    seconds = int(begin.total_seconds())
    assert begin == end and seconds % TILE == 0, (zone, tile)
    return seconds


def _tiles_of(day, zone):
    """The quarters of an hour whose local date is `day`, ascending."""
    midnight = (day.toordinal() - date(1970, 1, 1).toordinal()) * 86400
    for tile in range((midnight - 15 * 3600) // TILE, (midnight + 39 * 3600) // TILE):
        if midnight <= tile * TILE + _offset(zone, tile) < midnight + 86400:
            yield tile


class InstantWalk:
    """Instants of a rule of FREQ=HOURLY or finer, from DTSTART on, without COUNT and UNTIL.

    After the walk has run out, every instant before `covered` has been seen.
    """

    def __init__(self, rule, start, zone, last_day, budget):
        self.rule, self.start, self.zone, self.last_day = rule, start, zone, last_day
        self.budget = budget  # tiles and seconds to look at before giving up
        self.covered = None

    def __iter__(self):
        rule, start, zone = self.rule, self.start, self.zone
        unit = UNIT[rule.freq]
        step = unit * rule.interval
        first = to_utc(start, zone)
        # The first window is DTSTART's own hour, minute or second, by the clock that DTSTART is read with.
        base = first - {"HOURLY": start.minute * 60 + start.second, "MINUTELY": start.second, "SECONDLY": 0}[rule.freq]

        window, members = None, []
        day = datetime.fromtimestamp(base, zone).date() - timedelta(days=1)
        looked_at = 0
        while day <= self.last_day and looked_at < self.budget:
            if day_allowed(rule, start, day):
                for tile in _tiles_of(day, zone):
                    looked_at += 4  # about what the look at its offset costs
                    begin, offset = tile * TILE, _offset(zone, tile)
                    if "BYHOUR" in rule.by and (begin + offset) // 3600 % 24 not in rule.by["BYHOUR"]:
                        continue
                    # the first window that ends after the tile's begin, and those that follow it
                    for k in itertools.count(max(0, (begin - base - unit) // step + 1)):
                        opens = base + k * step
                        if opens >= begin + TILE:
                            break
                        for t in range(max(opens, begin), min(opens + unit, begin + TILE)):
                            looked_at += 1
                            if self._clock_allows(t - opens, t + offset):
                                if k != window:
                                    yield from self._finish(members, first)
                                    window, members = k, []
                                members.append(t)
            day += timedelta(days=1)
        self.covered = (day.toordinal() - 1 - date(1970, 1, 1).toordinal()) * 86400 - 15 * 3600
        if members:
            if base + window * step + unit <= self.covered:
                yield from self._finish(members, first)
            else:
                self.covered = min(self.covered, members[0])

    def _finish(self, members, first):
        return [t for t in _set_positions(self.rule, members) if t >= first]

    def _clock_allows(self, into_window, local):
        """Minute and second: from the local clock if the rule names them, else DTSTART's, in absolute time."""
        rule, start = self.rule, self.start
        if "BYSECOND" in rule.by:
            if local % 60 not in rule.by["BYSECOND"]:
                return False
        elif rule.freq != "SECONDLY" and into_window % 60 != start.second:
            return False
        if "BYMINUTE" in rule.by:
            return local // 60 % 60 in rule.by["BYMINUTE"]
        return rule.freq != "HOURLY" or into_window // 60 == start.minute


# ------------------------------------------------------------------------------------------------------------- answers


@dataclass
class Answer:
    times: list  # epoch seconds, ascending, as many as wanted or as are known
    local: list  # the local times they come from (for HOURLY and finer: the local clock at that instant)
    ended: bool  # the rule has no further occurrence
    covered: int  # every occurrence before this instant is in `times` (unless there are as many as wanted)


def expand(rule, start, zone, wanted, years=60, budget=2_000_000):
    """The first `wanted` occurrences within the horizon."""
    zone = ZoneInfo(zone) if isinstance(zone, str) else zone
    rule = parse(rule) if isinstance(rule, str) else rule
    limit = wanted if rule.count is None else min(wanted, rule.count)
    last_day = min(LAST_DAY, start.date().replace(day=1) + timedelta(days=int(years * 365.25) + 32))
    # No need to look past UNTIL; two months more, so that the last period is not cut short.
    over = None
    if rule.until is not None:
        kind, value = rule.until
        until_day = (
            datetime.fromtimestamp(value, zone).date() if kind == "utc" else value if kind == "date" else value.date()
        )
        if until_day < LAST_DAY - timedelta(days=800):
            over = date(until_day.year + 1, 12, 31) if rule.freq == "YEARLY" else until_day + timedelta(days=62)
            if over <= last_day:
                last_day = over
            else:
                over = None

    if rule.freq not in UNIT:
        walk = LocalWalk(rule, start, last_day)
        times, local, ran_out = settle(walk, zone, limit, rule.until)
        ended_by_walk = ran_out and (walk.covered is None or over is not None)
        covered = to_utc(walk.covered - timedelta(days=1), zone) if walk.covered else None
    else:
        until = None
        if rule.until is not None:
            kind, value = rule.until
            if kind == "utc":
                until = value
            elif kind == "local":
                until = to_utc(value, zone)
            else:  # the whole day: with the second pass, should its last hour happen twice
                end = datetime.combine(value, datetime.max.time().replace(microsecond=0))
                until = int(end.replace(tzinfo=zone, fold=1).timestamp())
        walk = InstantWalk(rule, start, zone, last_day, budget)
        times, ended_by_walk = [], False
        for t in walk:
            if until is not None and t > until:
                ended_by_walk = True
                break
            times.append(t)
            if len(times) >= limit:
                break
        covered = walk.covered
        if covered is not None and until is not None and covered > until:
            ended_by_walk = True
        local = [datetime.fromtimestamp(t, zone).replace(tzinfo=None) for t in times]

    ended = ended_by_walk or (rule.count is not None and len(times) >= rule.count)
    if covered is None:
        covered = times[-1] + 1 if times else 0
    return Answer(times, local, ended, covered)


def utc_text(epoch):
    return datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_epoch(text):
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())


def answer_request(request):
    """The line tool's answer to one request, by brute force."""
    trigger = request["trigger"]
    if trigger["kind"] != "rrule":
        return {"error": "only rrule is known here", "code": "invalid_request"}
    start = datetime.fromisoformat(trigger["start"])
    begin, count = utc_epoch(request["from"]), request["count"]
    wanted = count
    while True:
        try:
            answer = expand(trigger["rrule"], start, request["timezone"], wanted, years=400)
        except Refused as refused:
            return {"error": str(refused), "code": "invalid_request"}
        if not answer.times:
            return {"error": "the rule never fires", "code": "invalid_request"}
        later = [t for t in answer.times if t >= begin][:count]
        if len(later) >= count or len(answer.times) < wanted:
            return {"times": [utc_text(t) for t in later]}
        wanted *= 2


def main():
    for line in sys.stdin:
        print(json.dumps(answer_request(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
