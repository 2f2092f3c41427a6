"""The rules of the tree, each a function that returns what is wrong."""
import os
import re

import classes

CODE_LINK = re.compile(r"\[`([^`\]]+)`\]\(([^)\s]+)\)")
CODE_FILE_LINK = re.compile(r"\[`[^`\]]+`\]\([^)\s]+\.(?:cpp|h)\)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([^`]+)`")

INVARIANTS = "docs/invariants.md"
SEEDS = "docs/seeds.md"
INVARIANTS_COUNT = 34
LINES_MAX = 600
METHODS_MAX = 40
EXEMPTIONS = "tests/tidy/exemptions.txt"


def flowing(text):
    """Comments that go on in the next line, as one."""
    return re.sub(r"[ \t]*\n[ \t]*(?://+|#)?[ \t]*", " ", text)


def target_of(page, link):
    """The path that a link means, without its anchor; nothing for an address elsewhere."""
    if re.match(r"[a-z]+:", link):
        return None
    path = link.split("#")[0]
    return os.path.normpath(os.path.join(os.path.dirname(page), path)).replace(os.sep, "/") if path else page


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def code_problems(tree, page, text):
    """Of every [`function`](file) and [`file`](file): the file is there, and has it."""
    found = []
    for name, link in CODE_LINK.findall(text):
        path = target_of(page, link)
        if tree.has(path) and (f"/{path}".endswith(f"/{name}") or path.startswith(f"{name}/")):
            continue  # the file itself, or the folder that it stands for
        if path not in tree.known:
            found.append(f"{name}: there is no file {link}")
        elif not tree.has_word(path, name):
            found.append(f"there is no {name} in {path}")
    return found


# ---- Invariants -------------------------------------------------------------------------------------------------

ENTRY = re.compile(r"^### (\d+)\. (.+)$", re.MULTILINE)
CITED = re.compile(r"\b[Ii]nvariants? (\d+(?:(?:, and |, | and |-| to )\d+)*)")


def numbers_of(text):
    numbers = {int(number) for number in re.findall(r"\d+", text)}
    for first, last in re.findall(r"(\d+)(?:-| to )(\d+)", text):
        numbers.update(range(int(first), int(last) + 1))
    return numbers


def entries(text):
    parts = ENTRY.split(text)
    return [(int(parts[i]), parts[i + 1], parts[i + 2].split("\n## ")[0]) for i in range(1, len(parts), 3)]


def part(body, name):
    found = re.search(rf"\*\*{name}:\*\*(.*?)(?=\n\*\*|\Z)", body, re.DOTALL)
    return found.group(1) if found else ""


def invariant_problems(tree, number, body):
    found = []
    if not body.split("**")[0].strip():
        found.append("it does not say what holds")
    kept, shown = part(body, "Kept by"), part(body, "Shown by")
    if not CODE_LINK.search(kept):
        found.append("it names no code")
    found += code_problems(tree, INVARIANTS, kept)
    tests, _, planted = shown.partition("mutant")
    names = QUOTED.findall(tests)
    if not names:
        found.append("it names no test")
    found += [f"there is no test {name}" for name in names if not tree.is_test(name)]
    found += [f"there is no mutant {name}" for name in QUOTED.findall(planted) if name not in tree.mutants]
    if re.search(r"\bjudged\b", shown) and number not in tree.judged:
        found.append("the simulation does not judge it")
    return found


def invariants(tree):
    """Each number that is cited is an entry, and each entry has code and tests that exist."""
    if INVARIANTS not in tree.known:
        return [f"there is no {INVARIANTS}"]
    found, known = [], []
    for number, title, body in entries(tree.text(INVARIANTS)):
        known.append(number)
        found += [f"{INVARIANTS}: {number}. {title}: {problem}" for problem in invariant_problems(tree, number, body)]
    if known != list(range(1, INVARIANTS_COUNT + 1)):
        found.append(f"{INVARIANTS}: the entries are {known}, and should be 1 to {INVARIANTS_COUNT} in their order")
    for path in tree.code() + tree.pages():
        for cited in CITED.findall(flowing(tree.text(path))):
            found += [f"{path}: invariant {number} is no entry of {INVARIANTS}"
                      for number in sorted(numbers_of(cited) - set(known))]
    return found + [f"sim: invariant {number} is no entry of {INVARIANTS}" for number in sorted(tree.judged - set(known))]


# ---- Seeds ------------------------------------------------------------------------------------------------------

SEED = re.compile(r"^## (S[0-4])\b", re.MULTILINE)
SEED_CITED = re.compile(r"(?<![\w.-])(S[0-4])(?:'s)?((?:,? (?:and )?(?:[IE]\d|\d+\.\d+|§[\d.]+\d|§\d+))*)(?![\w-])")
ITEM = re.compile(r"[IE]\d|§\d+(?:\.\d+)?")
ROW = re.compile(r"^\| (S[0-4])\.(\w+) \|(.*)\|$", re.MULTILINE)
NOT_YET = "not yet"
OTHERWISE = "otherwise"


def seed_rows(text):
    """(seed, item) and the cells: what is asked for, where it is kept, what shows it."""
    return [(seed, item, [cell.strip() for cell in cells.split("|")]) for seed, item, cells in ROW.findall(text)]


def seed_row_problems(tree, cells):
    if len(cells) != 3 or not all(cells):
        return ["a row is: what is asked for, where it is kept, what shows it"]
    _, kept, shown = cells
    found = code_problems(tree, SEEDS, kept)
    names = QUOTED.findall(shown)
    found += [f"there is no test {name}" for name in names if not tree.is_test(name)]
    open_still = kept.startswith((NOT_YET, OTHERWISE))
    if not open_still and not LINK.search(kept):
        found.append(f"it names no code, and does not say '{NOT_YET}' or '{OTHERWISE}'")
    if not open_still and not names:
        found.append(f"it names no test, and does not say '{NOT_YET}' or '{OTHERWISE}'")
    return found


def seeds(tree):
    """Each item of a seed that is cited has a line, and each line has code and tests that exist, or says what is open."""
    if SEEDS not in tree.known:
        return [f"there is no {SEEDS}"]
    text = tree.text(SEEDS)
    found, items = [], {}
    parts = SEED.split(text)
    sections = {parts[i]: parts[i + 1] for i in range(1, len(parts), 2)}
    for seed, item, cells in seed_rows(text):
        if item in items.setdefault(seed, set()):
            found.append(f"{SEEDS}: {seed}.{item} stands there twice")
        items[seed].add(item)
        found += [f"{SEEDS}: {seed}.{item}: {problem}" for problem in seed_row_problems(tree, cells)]
    for seed in sections:
        items.setdefault(seed, set()).update(re.findall(r"§\d+(?:\.\d+)?", sections[seed]))
    for path in tree.code() + [page for page in tree.pages() if page != SEEDS]:
        for seed, cited in SEED_CITED.findall(flowing(tree.text(path))):
            if seed not in sections:
                found.append(f"{path}: {seed} has no part in {SEEDS}")
                continue
            found += [f"{path}: {seed} {item} has no line in {SEEDS}"
                      for item in ITEM.findall(cited) if item not in items[seed]]
    return found


# ---- Decisions --------------------------------------------------------------------------------------------------

ADR = re.compile(r"docs/adr/(\d{4})-[\w-]+\.md")
ADR_ROW = re.compile(r"^\| (?:\[(\d+)\]\(([^)]+)\)|(\d+)) \| (.+) \|$", re.MULTILINE)


def decisions(tree):
    """The index lists every decision, and says of a number that is missing why."""
    index = "docs/adr/README.md"
    if index not in tree.known:
        return [f"there is no {index}"]
    found, listed, explained = [], {}, set()
    for number, link, bare_number, text in ADR_ROW.findall(tree.text(index)):
        if bare_number:
            explained.add(int(bare_number))
            if len(text.split()) < 5:
                found.append(f"{index}: {bare_number} has no page, and no word on why")
        else:
            listed[f"docs/adr/{link}"] = int(number)
    pages = {path: int(ADR.fullmatch(path).group(1)) for path in tree.paths if ADR.fullmatch(path)}
    for path, number in pages.items():
        if listed.get(path) != number:
            found.append(f"{index} does not list {path} under {number}")
        if not re.match(rf"# {number}\. \S", tree.text(path)):
            found.append(f"{path} does not begin with its number and title")
    found += [f"{index}: there is no {path}" for path in listed if path not in pages]
    for number in range(1, max(pages.values(), default=0) + 1):
        if number not in pages.values() and number not in explained:
            found.append(f"{index}: there is no decision {number}, and no word on why")
    if explained & set(pages.values()):
        found.append(f"{index} says of a decision that it is not there, and it is")
    return found


# ---- Sizes ------------------------------------------------------------------------------------------------------

CODE_ENDINGS = (".cpp", ".h", ".py", ".cmake", ".sql", ".sh", ".mjs", ".js", ".css", ".html")


def exemptions(tree, kind):
    """name -> how much is allowed. A line is: kind | name | most | reason."""
    allowed, found = {}, []
    text = tree.text(EXEMPTIONS) if EXEMPTIONS in tree.known else ""
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4 or cells[0] not in ("lines", "methods") or not cells[2].isdigit() or len(cells[3].split()) < 4:
            found.append(f"{EXEMPTIONS}: a line is 'lines or methods | name | most | reason': {line}")
        elif cells[0] == kind:
            allowed[cells[1]] = int(cells[2])
    return allowed, found


def too_large(tree, kind, most, sizes):
    allowed, found = exemptions(tree, kind)
    for name, size in sorted(sizes.items()):
        limit = allowed.get(name, most)
        if size > limit:
            found.append(f"{name} has {size} {kind}; at most {limit} are allowed")
    found += [f"{EXEMPTIONS}: {name} needs no exemption" for name in allowed if sizes.get(name, 0) <= most]
    return found


def lengths(tree):
    """A file of code has at most 600 lines."""
    sizes = {path: tree.text(path).count("\n") for path in tree.paths
             if path.endswith(CODE_ENDINGS) or os.path.basename(path) in ("CMakeLists.txt", "dev")}
    return too_large(tree, "lines", LINES_MAX, sizes)


def class_sizes(tree):
    """A class has at most 40 methods, public and private, without those that are defaulted or deleted."""
    sizes = {}
    for path in tree.paths:
        if path.endswith((".cpp", ".h")):
            for name, count in classes.methods(tree.text(path)):
                key = f"{path}:{name}"
                sizes[key] = max(sizes.get(key, 0), count)
    return too_large(tree, "methods", METHODS_MAX, sizes)


# ---- Layers -----------------------------------------------------------------------------------------------------

ABOVE_ENGINE = tuple(f"src/{layer}/" for layer in ("observe", "config", "mail", "net", "server", "daemon", "cli"))
BELOW_SEAM = re.compile(r'#include "store/[^"]+"|\b(?:Round|JobStore|PlanStore|AdminStore|StoreReader)\b')


def seam(tree):
    """Above the engine nobody includes the store or runs inside of a round: there are commands and queries."""
    return [f"{path}: {named} is not for layers above the engine; give it a command or a query (src/engine/README.md)"
            for path in tree.code() if path.startswith(ABOVE_ENGINE)
            for named in BELOW_SEAM.findall(tree.text(path))]


# ---- Pages ------------------------------------------------------------------------------------------------------

def anchors(text):
    """As they are made of headings."""
    found, seen = set(), {}
    for heading in re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        seen[anchor] = seen.get(anchor, -1) + 1
        found.add(anchor if seen[anchor] == 0 else f"{anchor}-{seen[anchor]}")
    return found


def links(tree):
    """A link in a page leads to a file that exists, and to the heading or function of it that it names."""
    found = []
    for page in tree.pages():
        to_code = "\n".join(CODE_FILE_LINK.findall(tree.text(page)))
        found += [f"{page}: {problem}" for problem in code_problems(tree, page, to_code)]
        for link in LINK.findall(without_code(tree.text(page))):
            path = target_of(page, link)
            if path is None:
                continue
            if path != "." and not tree.has(path):
                found.append(f"{page}: there is no {link}")
            elif "#" in link and path.endswith(".md") and link.split("#")[1] not in anchors(tree.text(path)):
                found.append(f"{page}: there is no heading for {link}")
    return found


def reachable(tree):
    """Every page of docs/ is linked from another one. Who links a folder links the pages in it."""
    linked = set()
    for page in tree.pages():
        for link in LINK.findall(without_code(tree.text(page))):
            path = target_of(page, link)
            if path and path != page:
                linked.add(path.rstrip("/"))
    return [f"{page} is linked from no other page" for page in tree.pages()
            if page.startswith("docs/") and page not in linked and os.path.dirname(page) not in linked - {"docs"}]


MENTIONED = re.compile(r"(?<![\w*{}/.-])((?:[\w.-]+/)*[\w-]+\.md)\b")


def documents(tree):
    """A page that a comment names is one of ours."""
    names = {os.path.basename(page) for page in tree.pages()}
    return [f"{path}: there is no page {mentioned}" for path in tree.code()
            for mentioned in MENTIONED.findall(tree.text(path)) if os.path.basename(mentioned) not in names]


# ---- The newcomer's questions -----------------------------------------------------------------------------------

QUESTIONS = ("a retry delay decided", "a cutoff finalized", "add a route", "add a trigger kind", "add a store")
QUESTIONS_HEADING = "## Where do I find it"


def newcomer(tree):
    """The README answers what a newcomer asks with a function that exists, a link away."""
    if "README.md" not in tree.known:
        return ["there is no README.md"]
    text = tree.text("README.md")
    if QUESTIONS_HEADING not in text:
        return [f"README.md has no part '{QUESTIONS_HEADING}'"]
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", text.split(QUESTIONS_HEADING)[1].split("\n## ")[0], re.MULTILINE)
    answers = [(question.lower(), answer) for question, answer in rows]
    found = []
    for wanted in QUESTIONS:
        given = [answer for question, answer in answers if wanted in question]
        if not given:
            found.append(f"README.md does not answer: {wanted}")
        elif not any(CODE_LINK.search(answer) for answer in given):
            found.append(f"README.md: the answer to '{wanted}' links no function")
    for _, answer in answers:
        found += [f"README.md: {problem}" for problem in code_problems(tree, "README.md", answer)]
    return found


RULES = {rule.__name__: rule for rule in
         (invariants, seeds, decisions, lengths, class_sizes, seam, links, reachable, documents, newcomer)}
