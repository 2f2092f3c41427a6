"""Whether the house is tidy: names lead somewhere, nothing has grown too large, every page can be found.

   tidy.py SOURCE_FOLDER [RULE...]"""
import sys

import rules
import source_tree


def main(source, names):
    tree = source_tree.Tree(source)
    count = 0
    for name in names or rules.RULES:
        for problem in rules.RULES[name](tree):
            print(f"{name}: {problem}")
            count += 1
    if count:
        print(f"{count} problems")
        return 1
    print(f"{len(names or rules.RULES)} rules, {len(tree.paths)} files, {len(tree.tests)} tests: nothing is wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
