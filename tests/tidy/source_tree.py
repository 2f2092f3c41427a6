"""The source as the rules see it: its files, and what tests, mutants and judgements it defines."""
import functools
import os
import re

import classes

# What is built, fetched or kept by tools.
SKIPPED_FOLDERS = {".git", "build", "node_modules", "__pycache__"}
CODE_FOLDERS = ("apps", "bench", "faults", "fuzz", "include", "sim", "src", "tests")
# The checks speak of numbers and names that are not there.
NOT_LOOKED_AT = ("tests/tidy/",)

GTEST = re.compile(r"\b(?:TEST(?:_F|_P)?|RC_GTEST_(?:FIXTURE_)?PROP)\(\s*(\w+)\s*,\s*(\w+)\s*[,)]")
PYTHON_TEST = re.compile(r"^\s*def (test_\w+)\(", re.MULTILINE)
CTEST = re.compile(r"add_test\(\s*NAME\s+([\w.${}]+)")
MUTANTS = re.compile(r"enum class Mutant[^{]*\{([^}]*)\}")
JUDGED = re.compile(r"\b(?:expect|add)\((?:[^;]*?,)?\s*(\d{1,2}),\s*\"")


class Tree:
    def __init__(self, root):
        self.root = root
        self.paths = []
        for folder, names, files in os.walk(root):
            names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS)
            for file in sorted(files):
                self.paths.append(os.path.relpath(os.path.join(folder, file), root).replace(os.sep, "/"))
        self.known = set(self.paths)
        self.folders = {os.path.dirname(path) for path in self.paths}
        for folder in list(self.folders):
            while folder:
                folder = os.path.dirname(folder)
                self.folders.add(folder)

    def has(self, path):
        return path in self.known or path.rstrip("/") in self.folders

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def under(self, folders, endings):
        return [path for path in self.paths
                if path.startswith(tuple(folder + "/" for folder in folders)) and path.endswith(endings)
                and not path.startswith(NOT_LOOKED_AT)]

    def code(self):
        return self.under(CODE_FOLDERS, (".cpp", ".h", ".py", ".txt", ".sql", ".mjs", ".sh"))

    def pages(self):
        return [path for path in self.paths if path.endswith(".md")]

    @functools.cached_property
    def cmake(self):
        """Of all that says what is built and run: path and text."""
        return {path: self.text(path) for path in self.paths if os.path.basename(path) == "CMakeLists.txt"}

    def is_built(self, path):
        """Whether some CMakeLists.txt names the file. Python tests may be named by their stem, in a loop."""
        name = os.path.basename(path)
        words = {name, re.sub(r"_test\.py$", "", name)}
        return any(re.search(r"(?<![\w.])" + re.escape(word) + r"(?![\w.])", text)
                   for text in self.cmake.values() for word in words)

    @functools.cached_property
    def tests(self):
        """Suite.Name and test_name of every test that is built or run."""
        names = set()
        for path in self.under(("tests",), (".cpp", ".h", ".py")):
            found = PYTHON_TEST.findall(self.text(path)) if path.endswith(".py") else \
                [f"{suite}.{name}" for suite, name in GTEST.findall(self.text(path))]
            if found and self.is_built(path):
                names.update(found)
        return names

    def is_ctest(self, name):
        for text in self.cmake.values():
            for given in CTEST.findall(text):
                pattern = re.sub(r"\\\$\\\{\w+\\\}", r"(\\w+)", re.escape(given))
                match = re.fullmatch(pattern, name)
                if match and all(re.search(rf"\b{word}\b", text) for word in match.groups()):
                    return True
        return False

    def is_test(self, name):
        return name in self.tests or self.is_ctest(name)

    @functools.cached_property
    def mutants(self):
        path = "src/base/mutant.h"
        listed = MUTANTS.search(self.text(path)) if path in self.known else None
        names = re.findall(r"\w+", listed.group(1)) if listed else []
        planted = "\n".join(self.text(other) for other in self.under(("src",), (".cpp", ".h")) if other != path)
        return {name for name in names if f"Mutant::{name}" in planted}

    @functools.cached_property
    def judged(self):
        """The numbers of invariants that the judge of the simulation reports."""
        return {int(number) for path in self.under(("sim",), (".cpp", ".h"))
                for number in JUDGED.findall(self.text(path))}

    def has_word(self, path, name):
        """Whether the file has the function or type: of `Node::commit` its last part."""
        word = re.split(r"::|\.", name)[-1].strip("()")
        text = classes.bare(self.text(path)) if path.endswith((".cpp", ".h")) else self.text(path)
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
