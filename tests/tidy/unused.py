"""No function of src/ is there for nobody: cppcheck looks for those that neither the program nor an application, the
simulation, a fuzz target or a benchmark calls. What only tests call is dead as well. Functions that include/carillon
declares are for users. What is defined in a header cppcheck leaves out: such a name must stand in a second place.

   unused.py SOURCE_FOLDER EXEMPTIONS CACHE     reports what is wrong; what has not changed since is read from the cache
   unused.py --control                          a function that nobody calls must be found"""
import collections
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

import classes

# Who may call; the rest is tests.
CALLERS = ("src", "apps", "sim", "fuzz", "bench", "faults")
TEMPLATE = "{file}\t{line}\t{id}\t{message}"
# A file that cppcheck does not understand has callers that it does not see.
NOT_READ = ("syntaxError", "unknownMacro", "preprocessorErrorDirective", "internalError", "internalAstError", "cppcheckError",
            "noValidConfiguration")
# Macros of ours whose definition it would get lost in.
DEFINES = ("-DTRY(x)=(x)", "-DTRY_ASSIGN(a,b)=a=(b)", "-DCHECK(x)=(x)")


def cppcheck(source, files, cache):
    os.makedirs(cache, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(files) + "\n")
        listed.flush()
        ran = subprocess.run(
            ["cppcheck", "--enable=unusedFunction", "--quiet", "--language=c++", "--std=c++20", "--max-configs=1", "--inline-suppr",
             "-Isrc", "-Iinclude", *DEFINES, f"--cppcheck-build-dir={cache}", f"--template={TEMPLATE}", f"--file-list={listed.name}"],
            cwd=source, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"cppcheck ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
    return [line.split("\t", 3) for line in ran.stderr.split("\n") if line.count("\t") >= 3]


def sources(source, folders, endings):
    found = []
    for folder in folders:
        for path, names, files in os.walk(os.path.join(source, folder)):
            names[:] = sorted(name for name in names if name not in ("build", "node_modules"))
            found += sorted(os.path.relpath(os.path.join(path, file), source) for file in files if file.endswith(endings))
    return found


def text_of(source, path):
    with open(os.path.join(source, path), encoding="utf-8") as file:
        return classes.bare(file.read())


def words_in(source, path):
    return set(re.findall(r"\w+", text_of(source, path)))


def words_of(source, folders):
    return {word for path in sources(source, folders, (".h",)) for word in words_in(source, path)}


DEFINED = re.compile(r"(?<![\w.>:])(\w+)\([^;{}]*\)(?: const)?(?: noexcept)? \{")


def named_once(source):
    """Functions that are defined in a header of src/, and that nobody else names."""
    texts = {path: text_of(source, path) for path in sources(source, (*CALLERS, "include"), (".cpp", ".h"))}
    counts = collections.Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    return [(path, name) for path, text in texts.items() if path.startswith("src/") and path.endswith(".h")
            for name in DEFINED.findall(text) if counts[name] == 1]


def read_exemptions(path):
    """What may stand for nobody, or cannot be read, and why. A line is 'file: name | reason', with '*' for a whole file that
    cppcheck does not understand: whatever is named in that counts as called."""
    exempt = {}
    if path:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    name, _, reason = (part.strip() for part in line.partition("|"))
                    if len(reason.split()) < 4:
                        raise SystemExit(f"{path}: a line is 'file: name | reason': {line.strip()}")
                    exempt[name] = reason
    return exempt


def problems(source, exemptions, cache):
    exempt = read_exemptions(exemptions)
    public = words_of(source, ("include",))
    files = sources(source, CALLERS, (".cpp",))
    said = cppcheck(source, files, cache)
    found, used, called = [], set(), set()
    for path, line, kind, message in said:
        if kind not in NOT_READ:
            continue
        if f"{path}: *" in exempt:
            used.add(f"{path}: *")
            called |= words_in(source, path)
        else:
            found.append(f"{path}:{line}: cppcheck does not understand it: {message}")
    dead = named_once(source)
    for path, _, kind, message in said:
        named = re.search(r"'(\w+)'", message)
        if kind != "unusedFunction" or not named or not path.startswith("src/") or named.group(1) in public | called:
            continue
        if re.search(rf"(?<!\w){named.group(1)}<", text_of(source, path)):
            continue  # a template that is handed on, as in put(reader<Field>)
        dead.append((path, named.group(1)))
    for path, name in dead:
        matching = [key for key in exempt if fnmatch.fnmatchcase(f"{path}: {name}", key) and not key.endswith(": *")]
        used.update(matching)
        if not matching:
            found.append(f"{path}: nobody calls {name}")
    found += [f"{exemptions}: {key} is called, or is not there any more" for key in exempt if key not in used]
    return found, len(files)


def control():
    """One that nobody calls, one that only a test calls, one that is called, one for users."""
    planted = {
        "src/core/a.h": "#pragma once\nint called();\nint for_tests();\nint for_users();\nclass A {\n public:\n  int dead_method();\n  int dead_inline() const { return 1; }\n};\n",
        "src/core/a.cpp": '#include "core/a.h"\nint called() { return 1; }\nint for_tests() { return 2; }\nint for_users() { return 3; }\n'
                          "int A::dead_method() { return called(); }\n",
        "include/carillon/a.h": "int for_users();\n",
        "tests/a_test.cpp": "int main() { return for_tests(); }\n",
    }
    with tempfile.TemporaryDirectory(prefix="unused.") as folder:
        cache = os.path.join(folder, "cache")
        for path, text in planted.items():
            os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(text)
        found, _ = problems(folder, None, cache)
        names = sorted(problem.split()[-1] for problem in found)
        assert names == ["dead_inline", "dead_method", "for_tests"], found
        list_of_exempt = os.path.join(folder, "exempt.txt")
        with open(list_of_exempt, "w", encoding="utf-8") as file:
            file.write("src/core/a.cpp: for_* | a test needs to see it\nsrc/core/a.cpp: gone | a test needed to see it\n")
        found, _ = problems(folder, list_of_exempt, cache)
        assert len(found) == 3 and "gone" in found[2] and "dead_method" in found[1], found
        # What was cached is no excuse: a caller comes, changes, and goes.
        caller = os.path.join(folder, "src/core/b.cpp")
        for text, is_called in (("int b() { return for_tests() + b(); }\n", True), ("int b() { return b(); }\n", False),
                                ("int b() { return for_tests() + b(); }\n", True), (None, False)):
            if text is None:
                os.remove(caller)
            else:
                with open(caller, "w", encoding="utf-8") as file:
                    file.write(text)
            found, _ = problems(folder, None, cache)
            assert any("for_tests" in problem for problem in found) != is_called, (text, found)
        with open(os.path.join(folder, "src/core/a.cpp"), "a", encoding="utf-8") as file:
            file.write("int broken( { return }\n")
        for _ in range(2):
            found, _ = problems(folder, None, cache)
            assert any("does not understand" in problem for problem in found), found
        with open(list_of_exempt, "w", encoding="utf-8") as file:
            file.write("src/core/a.cpp: * | it cannot be read by it\nsrc/core/a.h: dead_inline | it is there for show\n")
        assert problems(folder, list_of_exempt, cache)[0] == [], "a file that cannot be read, and may be so"
    print("what nobody calls is found, and so is what cannot be read")


def main(arguments):
    if arguments == ["--control"]:
        control()
        return 0
    found, count = problems(*arguments)
    for problem in found:
        print(problem)
    if not found:
        print(f"{count} files, and no function that nobody calls")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
