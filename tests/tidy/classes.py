"""How many methods a class has. Reads C++ as this project writes it; it is no parser of all of C++."""
import re

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
HEAD = re.compile(r"(?<!enum )\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)(?:\s+final)?\s*(?::[^;{()]*)?\{")
NO_METHOD = re.compile(r"^\s*(?:using|friend|typedef|static_assert|enum|class|struct|union|NOLINT)\b")


def bare(text):
    """Without comments, and with texts emptied."""
    return COMMENT_OR_TEXT.sub(lambda found: "" if found.group().startswith("/") else '""', text)


def matching(text, begin):
    """Behind the brace that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def members(body):
    """The declarations at the top of a body: without what stands in braces."""
    begin, i = 0, 0
    while i < len(body):
        if body[i] == "{":
            yield body[begin:i], body[i:i + 1]
            i = matching(body, i)
            begin = i
            continue
        if body[i] == ";":
            yield body[begin:i], ";"
            begin = i + 1
        i += 1


def without_templates(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def is_method(declaration):
    text = re.sub(r"\b(?:public|private|protected)\s*:", " ", declaration)
    text = re.sub(r"\boperator\s*\S+?\s*\(", " operator_(", text)
    text = without_templates(text).strip()
    if not text or NO_METHOD.match(text) or re.search(r"=\s*(?:default|delete)$", text):
        return False
    text = re.sub(r"^(?:template\s*|requires\s*\S+\s*|\[\[\w+\]\]\s*)+", "", text)
    if NO_METHOD.match(text):
        return False
    head = re.split(r"(?<![=!<>])=(?!=)", text)[0]
    return re.search(r"\w\s*\(", head) is not None


def methods(text):
    """Name and number of methods of every class of a file, those without methods left out."""
    text = bare(text)
    found = []
    for head in HEAD.finditer(text):
        end = matching(text, head.end() - 1)
        count = sum(is_method(declaration) for declaration, _ in members(text[head.end():end - 1]))
        if count:
            found.append((head.group(1), count))
    return found
