"""docs/security.md names tests that exist, for every threat, and the list of pages names it.

   security_doc.py SOURCE_FOLDER"""
import os
import re
import sys

CELL = re.compile(r"`([^`]+)`")
GTEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
PYTHON = re.compile(r"^\s*def (test_\w+)\(", re.MULTILINE)
CTEST = re.compile(r"add_test\(\s*NAME\s+([\w.${}]+)")


def known_names(source):
    """Every test that the source defines: Suite.Name, test_name, and what CMake calls tests."""
    names = set()
    for folder, _, files in os.walk(os.path.join(source, "tests")):
        for file in files:
            path = os.path.join(folder, file)
            if file.endswith((".cpp", ".h")):
                names |= {f"{suite}.{name}" for suite, name in GTEST.findall(open(path, encoding="utf-8").read())}
            elif file.endswith(".py"):
                names |= set(PYTHON.findall(open(path, encoding="utf-8").read()))
            elif file == "CMakeLists.txt":
                names |= set(CTEST.findall(open(path, encoding="utf-8").read()))
    return names


def threats(text):
    """The rows of the table: what, control, tests."""
    rows, inside = [], False
    for line in text.split("\n"):
        if line.startswith("| threat |"):
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not line.startswith("| ---"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows.append((cells[0], cells[1] if len(cells) > 1 else "", CELL.findall(cells[2]) if len(cells) == 3 else []))
    return rows


def problems(text, pages, names):
    rows = threats(text)
    found = [] if rows else ["there is no table of threats"]
    for threat, control, tests in rows:
        if not control or not tests:
            found.append(f"{threat}: a row is a threat, a control and at least one test")
        found += [f"{threat}: there is no test {name}" for name in tests if name not in names]
    for heading in ("## Reporting", "## What is not promised"):
        if heading not in text:
            found.append(f"there is no part {heading!r}")
    if "](security.md)" not in pages:
        found.append("docs/README.md does not name the page")
    return found


def check_itself(text, pages, names):
    """What is wrong must be seen."""
    first = threats(text)[0]
    wrong = {
        "a test that is gone": text.replace(first[2][0], "test_that_is_not_there"),
        "a row without a test": text.replace("`" + first[2][0] + "`", "none", 1).replace(", `" + first[2][-1] + "`", "", 1),
        "no table": text.replace("| threat |", "| danger |"),
        "no promise": text.replace("## What is not promised", "## More"),
    }
    for name, broken in wrong.items():
        assert problems(broken, pages, names), f"the check does not see {name}"
    assert problems(text, pages.replace("security.md", ""), names), "the check does not see a page that nobody names"


def main(source):
    text = open(os.path.join(source, "docs", "security.md"), encoding="utf-8").read()
    pages = open(os.path.join(source, "docs", "README.md"), encoding="utf-8").read()
    names = known_names(source)
    found = problems(text, pages, names)
    for problem in found:
        print("docs/security.md:", problem)
    if found:
        return 1
    check_itself(text, pages, names)
    rows = threats(text)
    print(f"{len(rows)} threats, {sum(len(tests) for _, _, tests in rows)} tests named, all there")
    return 0


sys.exit(main(sys.argv[1]))
