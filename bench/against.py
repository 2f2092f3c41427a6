"""Is this build slower than that one?  against.py BEFORE NOW [--pairs N] [NAME...]

BEFORE and NOW are folders with the programs of a build. Runs `carillon-bench once` of both in turns, so that whatever
else the machine does falls on both, and prints for each rate the median and the quartiles of now / before. "Not slower" is
a median of at least 0.94 and an upper quartile of at least 0.97; the exit code is 1 if one of them is slower. Compare a
build with itself to see what is noise.

NAME:OLD compares a rate with another one of before: drain_fields:drain, of a commit that did not know drain_fields.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

MEDIAN_MIN = 0.94
UPPER_QUARTILE_MIN = 0.97
PAIRS_MIN = 9
RUN_SECONDS_MAX = 600


def once(build):
    """The command that measures; before the benchmarks had a program of their own it was `carillon bench once`."""
    program = os.path.join(build, "carillon-bench")
    return [program, "once"] if os.path.exists(program) else [os.path.join(build, "carillon"), "bench", "once"]


def measure(build, names, folder):
    command = [*once(build), "--folder", folder, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
                          env={k: v for k, v in os.environ.items() if k != "CARILLON_PYTHON"})
    if done.returncode != 0:
        sys.exit(f"against: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["rates"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("now")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN)
    arguments = parser.parse_args()
    if arguments.pairs < PAIRS_MIN:
        parser.error(f"--pairs takes {PAIRS_MIN} or more: fewer say nothing on a machine with noise")
    older = dict(name.split(":", 1) for name in arguments.names if ":" in name)
    wanted = {"now": [name.split(":")[0] for name in arguments.names],
              "before": list(dict.fromkeys(name.split(":")[-1] for name in arguments.names))}
    before, now, ratios = {}, {}, {}
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        for pair in range(arguments.pairs):
            found = {}
            # The first of a pair may find a quieter or a busier machine: each is first in turns.
            order = ["before", "now"] if pair % 2 == 0 else ["now", "before"]
            for side in order:
                found[side] = measure(getattr(arguments, side), wanted[side], folder)
            for name in found["now"]:
                old = found["before"][older.get(name, name)]
                before.setdefault(name, []).append(old)
                now.setdefault(name, []).append(found["now"][name])
                ratios.setdefault(name, []).append(found["now"][name] / old)
            print(f"    pair {pair + 1} of {arguments.pairs}: "
                  + ", ".join(f"{name} {values[-1]:.3f}" for name, values in ratios.items()), file=sys.stderr, flush=True)
    slower = []
    print(f"{'name':<24} {'before':>12} {'now':>12} {'quartile':>9} {'median':>8} {'quartile':>9}  not slower?")
    for name, values in ratios.items():
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        fine = middle >= MEDIAN_MIN and high >= UPPER_QUARTILE_MIN
        if not fine:
            slower.append(name)
        print(f"{name:<24} {statistics.median(before[name]):>10.0f}/s {statistics.median(now[name]):>10.0f}/s "
              f"{low:>9.3f} {middle:>8.3f} {high:>9.3f}  {'yes' if fine else 'NO'}")
    if slower:
        sys.exit(f"against: slower than before: {', '.join(slower)}")


if __name__ == "__main__":
    main()
