"""Every rule sees what it is for: a small tree that is tidy passes, and each thing that is wrong in it is found by its rule.

   controls.py"""
import os
import sys
import tempfile

import classes
import rules
import source_tree

METHODS = "".join(f"  int method_{i}();\n" for i in range(rules.METHODS_MAX))


def invariants_page():
    entries = [f"### {number}. Rule {number}\nIt holds.\n**Kept by:** [`keep`](../src/core/keep.cpp).\n"
               f"**Shown by:** `Keep.Works`; judged; mutant `bad_keep`.\n" if number == 1 else
               f"### {number}. Rule {number}\nIt holds.\n**Kept by:** [`keep`](../src/core/keep.cpp).\n"
               f"**Shown by:** `test_it`, `sim.seeds`, `server.kill`.\n"
               for number in range(1, rules.INVARIANTS_COUNT + 1)]
    return "# Invariants\n\n" + "\n".join(entries)


def tidy_tree():
    return {
        "README.md": "# It\n\n[docs](docs/README.md)\n\n" + rules.QUESTIONS_HEADING + "\n\n| question | answer |\n| --- | --- |\n" +
                     "".join(f"| Where or how is {question}? | [`keep`](src/core/keep.cpp) |\n" for question in rules.QUESTIONS) +
                     "\n## More\n\nNothing.\n",
        "docs/README.md": "[a](invariants.md) [b](seeds.md) [c](adr/README.md) [d](reports) [e](invariants.md#1-rule-1) [f](../README.md)\n",
        "docs/invariants.md": invariants_page(),
        "docs/seeds.md": "# Seeds\n\n## S0\n\n| item | asked | kept | shown |\n| --- | --- | --- | --- |\n"
                         "| S0.I1 | once (§12) | [`keep`](../src/core/keep.cpp) | `Keep.Works` |\n"
                         "| S0.1 | a program | not yet: it is to come | none |\n",
        "docs/adr/README.md": "| number | decision |\n| --- | --- |\n| [1](0001-first.md) | First |\n"
                              "| 2 | was never written, as nobody needed it |\n| [3](0003-third.md) | Third |\n",
        "docs/adr/0001-first.md": "# 1. First\n",
        "docs/adr/0003-third.md": "# 3. Third\n",
        "docs/reports/today.md": "# Today\n",
        "src/base/mutant.h": "enum class Mutant : int {\n  none,\n  bad_keep,\n  last,\n};\n",
        "src/core/keep.h": "class Keeper {\n public:\n  Keeper() = default;\n  int value = std::max(1, 2);\n" + METHODS + "};\n",
        "src/core/keep.cpp": "// It stays. (invariants 1, 3,\n// 34; S0 I1)\nint keep() { return mutant(Mutant::bad_keep) ? 1 : 0; }\n",
        "sim/judge.cpp": 'findings.expect(ok, 1, "wrong");  // S0\'s §12\n',
        "sim/CMakeLists.txt": "add_test(NAME sim.seeds COMMAND sim)\n",
        "tests/CMakeLists.txt": "add(keep_test.cpp)\nforeach(name kill large)\n  add_test(NAME server.${name} COMMAND x)\nendforeach()\nrun(it_test.py)\n",
        "tests/keep_test.cpp": "TEST(Keep, Works) {}  // invariants 2 to 5\n",
        "tests/it_test.py": "def test_it():\n    pass\n",
        "tests/tidy/exemptions.txt": "# nothing\n",
    }


def replaced(path, old, new):
    def change(files):
        assert old in files[path], (path, old)
        files[path] = files[path].replace(old, new, 1)
    return change


def added(path, text):
    return lambda files: files.update({path: files.get(path, "") + text})


def without(path):
    return lambda files: files.pop(path)


PAGE = "docs/invariants.md"
SEEDS = "docs/seeds.md"
INDEX = "docs/adr/README.md"
LONG = "x\n" * (rules.LINES_MAX + 1)
EXEMPT = "tests/tidy/exemptions.txt"

# rule -> what is wrong -> how it becomes so
CONTROLS = {
    "invariants": {
        "a number that is no entry": added("src/core/keep.h", "// (invariant 35)\n"),
        "a list over two lines with such a number": added("tests/keep_test.cpp", "// (invariants 3,\n// 77)\n"),
        "a range that ends at such a number": added("tests/keep_test.cpp", "// invariants 33 to 36\n"),
        "a page that cites such a number": added("docs/README.md", "invariant 99\n"),
        "a judge of such a number": added("sim/judge.cpp", 'findings.add(41, "no");\n'),
        "an entry that is gone": replaced(PAGE, "### 7. ", "### "),
        "an entry without code": replaced(PAGE, "[`keep`](../src/core/keep.cpp)", "keep"),
        "a function that is gone": replaced(PAGE, "[`keep`]", "[`kept`]"),
        "a function that a comment alone names": lambda files: (replaced(PAGE, "[`keep`]", "[`keeps`]")(files),
                                                                added("src/core/keep.cpp", "// keeps\n")(files)),
        "a file that is gone": replaced(PAGE, "core/keep.cpp", "core/gone.cpp"),
        "an entry without a test": replaced(PAGE, "`Keep.Works`; judged; mutant `bad_keep`", "nothing"),
        "a test that is gone": replaced(PAGE, "`Keep.Works`", "`Keep.Worked`"),
        "a Python test that is gone": replaced(PAGE, "`test_it`", "`test_that`"),
        "an entry of ctest that is gone": replaced(PAGE, "`server.kill`", "`server.kills`"),
        "a test that nobody builds": replaced("tests/CMakeLists.txt", "add(keep_test.cpp)", "add(other_test.cpp)"),
        "a Python test that nobody runs": replaced("tests/CMakeLists.txt", "run(it_test.py)", "run(that_test.py)"),
        "a mutant that is gone": replaced(PAGE, "`bad_keep`", "`good_keep`"),
        "a mutant that is planted nowhere": replaced("src/core/keep.cpp", "mutant(Mutant::bad_keep) ? 1 : 0", "0"),
        "a judgement that is gone": replaced("sim/judge.cpp", "1, ", "2, "),
        "no page": without(PAGE),
    },
    "seeds": {
        "an item without a line": added("src/core/keep.h", "// (S0 I2)\n"),
        "the second of two items without a line": added("src/core/keep.h", "// S0's I1 and E5\n"),
        "a section without a line": added("src/core/keep.h", "// S0 §11.3\n"),
        "a seed without a part": added("tests/keep_test.cpp", "// S3\n"),
        "a line without code": replaced(SEEDS, "[`keep`](../src/core/keep.cpp)", "somewhere"),
        "a line without a test": replaced(SEEDS, "`Keep.Works`", "none"),
        "a test that is gone": replaced(SEEDS, "`Keep.Works`", "`Keep.Worked`"),
        "a function that is gone": replaced(SEEDS, "[`keep`]", "[`kept`]"),
        "a line that stands there twice": replaced(SEEDS, "| S0.1 |", "| S0.I1 |"),
        "a line that lacks a cell": replaced(SEEDS, "| not yet: it is to come | none |", "| not yet: it is to come |"),
        "no page": without(SEEDS),
    },
    "decisions": {
        "a decision that is not listed": added("docs/adr/0004-fourth.md", "# 4. Fourth\n"),
        "a listed decision that is gone": without("docs/adr/0003-third.md"),
        "a hole": replaced(INDEX, "| 2 | was never written, as nobody needed it |\n", ""),
        "a hole without a word": replaced(INDEX, "was never written, as nobody needed it", "none"),
        "a wrong number": replaced(INDEX, "| [3](0003-third.md)", "| [4](0003-third.md)"),
        "a page without its number": replaced("docs/adr/0001-first.md", "# 1. First", "# First"),
        "no index": without(INDEX),
    },
    "lengths": {
        "a file that is too long": added("src/core/long.cpp", LONG),
        "a file that is longer than its exemption": lambda files: (
            added("src/core/long.cpp", LONG)(files),
            added(EXEMPT, f"lines | src/core/long.cpp | {rules.LINES_MAX} | it was so long for ages\n")(files)),
        "an exemption that is not needed": added(EXEMPT, "lines | src/core/keep.cpp | 700 | it was so long for ages\n"),
        "an exemption without a reason": lambda files: (
            added("src/core/long.cpp", LONG)(files), added(EXEMPT, "lines | src/core/long.cpp | 700 | \n")(files)),
    },
    "class_sizes": {
        "a class with too many methods": replaced("src/core/keep.h", "};\n", "  void one_more() { f(); }\n};\n"),
        "one more that is an operator": replaced("src/core/keep.h", "};\n", "  bool operator()(int a) const;\n};\n"),
        "one more that is private": replaced("src/core/keep.h", "};\n", " private:\n  std::vector<int> all(int a = f());\n};\n"),
        "an exemption that is not needed": added(EXEMPT, "methods | src/core/keep.h:Keeper | 50 | it was so large for ages\n"),
    },
    "seam": {
        "a header of the store": added("src/server/api/keep.h", '#include "store/rows.h"\n'),
        "a round": added("src/daemon/keep.cpp", "void keep(Round& round);\n"),
        "a part of the store": added("src/observe/keep.cpp", "void keep(StoreReader& reader);\n"),
    },
    "links": {
        "a link to a file that is gone": added("docs/seeds.md", "[x](gone.md)\n"),
        "a link to a heading that is gone": added("docs/seeds.md", "[x](invariants.md#99-rule-99)\n"),
        "a function that is gone from a file": added("docs/seeds.md", "[`kept`](../src/core/keep.cpp)\n"),
        "a link in a page outside of docs": added("README.md", "[x](src/gone.cpp)\n"),
    },
    "reachable": {
        "a page that nobody links": added("docs/lonely.md", "# Lonely\n"),
        "a page that links itself alone": added("docs/lonely.md", "# Lonely\n\n[me](lonely.md)\n"),
        "a report when nobody links their folder": replaced("docs/README.md", "[d](reports)", "d"),
    },
    "documents": {
        "a page that only a comment knows": added("tests/keep_test.cpp", "// rules.md, worked\n"),
        "one in another folder": added("src/core/keep.h", "// see docs/guides/gone.md\n"),
    },
    "newcomer": {
        "no part for newcomers": replaced("README.md", rules.QUESTIONS_HEADING, "## Other"),
        "a question that is not answered": replaced("README.md", rules.QUESTIONS[0], "nothing"),
        "an answer without a function": replaced("README.md", "[`keep`](src/core/keep.cpp)", "somewhere"),
        "a function that is gone": replaced("README.md", "[`keep`]", "[`kept`]"),
        "a file that is gone": replaced("README.md", "src/core/keep.cpp", "src/core/gone.cpp"),
    },
}


def planted(files):
    folder = tempfile.TemporaryDirectory(prefix="tidy.")
    for path, text in files.items():
        whole = os.path.join(folder.name, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def problems(files, rule):
    with planted(files) as folder:
        return rules.RULES[rule](source_tree.Tree(folder))


def check_classes():
    """What counts as a method."""
    text = """
    class [[nodiscard]] A : public B<int> {
     public:
      A() = default;
      A(const A&) = delete;
      explicit A(int a) : a_(a) {}
      template <typename T>
      void all(T value) { if (value) { f(value); } }
      std::function<void(int)> call;      // a member
      int count() const { return 1; }  // void not_this();
      std::string text = "void nor_this();";
      static_assert(sizeof(int) == 4);
      enum class Kind { one, two };
      struct Inner { int g(); int h(); };
      friend bool operator==(const A&, const A&) = default;
     private:
      int a_ = f(3);
      std::array<int, 3> b_{g(1), 2, 3};
    };"""
    found = classes.methods(text)
    assert found == [("A", 3), ("Inner", 2)], found


def main():
    assert CONTROLS.keys() == rules.RULES.keys(), "every rule has its controls"
    failures = [f"{rule}: a tidy tree is said to be untidy: {problem}"
                for rule in rules.RULES for problem in problems(tidy_tree(), rule)]
    count = 0
    for rule, wrongs in CONTROLS.items():
        for what, change in wrongs.items():
            files = tidy_tree()
            change(files)
            count += 1
            if not problems(files, rule):
                failures.append(f"{rule} does not see {what}")
    check_classes()
    print("\n".join(failures) if failures else f"{count} things that are wrong, all of them found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
