"""Is this build slower than that one?  against.py BEFORE NOW [--pairs N] [NAME...]

Runs `carillon bench once` of both programs in turns, so that whatever else the machine does falls on both, and prints for
each rate the median and the quartiles of now / before. "Not slower" is a median of at least 0.94 and an upper quartile
of at least 0.97; the exit code is 1 if one of them is slower. Compare a program with itself to see what is noise.
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


def measure(program, names, folder):
    done = subprocess.run([program, "bench", "once", "--folder", folder, *names], capture_output=True, text=True,
                          timeout=RUN_SECONDS_MAX, env={k: v for k, v in os.environ.items() if k != "CARILLON_PYTHON"})
    if done.returncode != 0:
        sys.exit(f"against: {program} bench once {' '.join(names)} ended with {done.returncode}: {done.stderr.strip()}")
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
    before, now, ratios = {}, {}, {}
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        for pair in range(arguments.pairs):
            found = {}
            # The first of a pair may find a quieter or a busier machine: each is first in turns.
            order = ["before", "now"] if pair % 2 == 0 else ["now", "before"]
            for side in order:
                found[side] = measure(getattr(arguments, side), arguments.names, folder)
            for name in found["now"]:
                before.setdefault(name, []).append(found["before"][name])
                now.setdefault(name, []).append(found["now"][name])
                ratios.setdefault(name, []).append(found["now"][name] / found["before"][name])
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
