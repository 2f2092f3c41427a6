"""docs/reference/api.md is what the table of routes says.

    reference_test.py PROGRAM docs/reference/api.md            fails if the file is stale
    reference_test.py PROGRAM docs/reference/api.md --write    refreshes it
"""
import difflib
import json
import os
import re
import sys

from server import Server

PROGRAM, PAGE = (os.path.abspath(path) for path in sys.argv[1:3])
WRITE = sys.argv[3:] == ["--write"]

HEAD = """# The HTTP API

Written from the table of routes, the same that serves `/openapi.json` and decides who may call what. Refresh it with
`python3 tests/server/blackbox/reference_test.py build/release/carillon docs/reference/api.md --write`; a test fails if it is stale.

Keys go into `Authorization: Bearer KEY`. Bodies are JSON; a field that a call does not know is refused by name. An error is
`{"error": {"code": "…", "message": "…", "details": {}}}`. Besides the errors that stand at a call, every one may answer
400 `invalid_request` (also to an unknown query parameter), 404 `route_not_found`, 405 `method_not_allowed`, 503 `store_unavailable` or
`database_error`, and those that write 507 `store_full`. Who has too much under way is told so with `Retry-After`: 429
`too_many_calls` or `too_many_bytes` of a key, 503 `overloaded` (also: too many calls wait) or `too_many_connections` of all. Lists take `limit` (50, at most
500) and `cursor`, and answer `{"items": […], "next_cursor": …}`; a page of large items may have fewer.
"""


class Page:
    def __init__(self, reference):
        self.reference = reference
        self.schemas = reference["components"]["schemas"]

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def kind(self, schema):
        """A schema in a word or two."""
        schema = self.resolved(schema)
        if "const" in schema:
            return json.dumps(schema["const"])
        if "enum" in schema:
            return " or ".join(json.dumps(one) for one in schema["enum"])
        for union in ("oneOf", "anyOf"):
            if union in schema:
                return " or ".join(dict.fromkeys(self.kind(one) for one in schema[union]))
        named = schema.get("type")
        if named is None:
            return "any JSON"
        if isinstance(named, list):
            return " or ".join(self.kind({**schema, "type": one}) for one in named)
        if named == "array":
            items = schema.get("items")
            return "list" if not items else f"list of {self.kind(items)}"
        if named == "string" and schema.get("format") == "date-time":
            return "instant"
        bounds = ""
        if "minimum" in schema and "maximum" in schema:
            bounds = f" {schema['minimum']} to {schema['maximum']}"
        return {"string": "text"}.get(named, named) + bounds

    def fields(self, schema):
        schema = self.resolved(schema)
        required = schema.get("required", [])
        for name, field in schema.get("properties", {}).items():
            note = self.resolved(field).get("description", "")
            yield name, self.kind(field), name in required, note

    def example_of(self, schema):
        schema = self.resolved(schema)
        if schema.get("examples"):
            return schema["examples"][0]
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        if "oneOf" in schema or "anyOf" in schema:
            return self.example_of(schema.get("oneOf", schema.get("anyOf"))[0])
        named = schema.get("type", "object")
        named = named[0] if isinstance(named, list) else named
        if named == "object":
            properties = schema.get("properties", {})
            return {name: self.example_of(properties.get(name, {})) for name in schema.get("required", [])}
        if named == "array":
            return [self.example_of(schema["items"])] if schema.get("items") else []
        return {"string": "…", "integer": schema.get("minimum", 1), "number": 1, "boolean": True}.get(named)

    def call(self, method, path, operation):
        yield f"### `{method.upper()} {path}`\n"
        yield f"{operation['summary']} {operation['description']}\n"
        query = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
        if query:
            yield "Query: " + ", ".join(f"`{one}`" for one in query) + ".\n"
        body = operation.get("requestBody")
        shown = None
        if body:
            (body_kind, content), = body["content"].items()
            schema = content["schema"]
            shown = self.example_of(schema)
            rows = list(self.fields(schema))
            if rows:
                yield "| field of the body | | |\n| --- | --- | --- |"
                for name, kind, required, note in rows:
                    yield f"| `{name}` | {kind.replace('|', '/')} | {'required' if required else ''}{'; ' if required and note else ''}{note} |"
                yield ""
            elif self.resolved(schema).get("description"):
                yield f"Body: {self.resolved(schema)['description']}\n"
        answers, errors = [], []
        for status, response in operation["responses"].items():
            if status == "default":
                continue
            if int(status) >= 400:
                errors.append(f"{status} " + ", ".join(f"`{one}`" for one in response["description"].split(", ")))
                continue
            content = response.get("content", {})
            if not content:
                answers.append(f"{status} without a body")
                continue
            (kind, inner), = content.items()
            named = inner["schema"]["$ref"].rsplit("/", 1)[1]
            answers.append(f"{status} {kind}" if kind != "application/json" else f"{status} [{named}](#{named.lower()})")
        yield "Answers: " + "; ".join(answers) + "."
        yield ("Errors: " + "; ".join(errors) + ".\n") if errors else "\n"
        filled = re.sub(r"\{tenant\}", "default", path)
        filled = re.sub(r"\{(\w+)\}", lambda match: "$" + match.group(1).upper(), filled)
        line = "curl -sf " + (f"-X {method.upper()} " if method not in ("get", "post") or (method == "post" and shown is None) else "")
        line += f'"http://127.0.0.1:7440{filled}"'
        if operation.get("security") != []:
            line += ' -H "Authorization: Bearer $KEY"'
        elif "signature" in operation["description"]:
            line += ' -H "webhook-id: $ID" -H "webhook-timestamp: $AT" -H "webhook-signature: $SIGNATURE"'
        elif path in ("/login", "/logout"):
            line += ' -H "Origin: http://127.0.0.1:7440"' + (' -H "Content-Type: application/json"' if shown is not None else "")
        if shown is not None and body_kind != "application/json":
            line += " --data-binary @LINES"
        elif shown is not None:
            line += f" -d '{json.dumps(shown, ensure_ascii=False)}'"
        yield f"```console\n$ {line}\n```\n"

    def answer_objects(self, used):
        yield "## Objects\n"
        for name in sorted(used):
            rows = list(self.fields(self.schemas[name]))
            yield f"### {name}\n"
            if not rows:
                yield self.schemas[name].get("description", "An object without fields of its own.") + "\n"
                continue
            yield "| field | |\n| --- | --- |"
            for field, kind, _, note in rows:
                yield f"| `{field}` | {kind.replace('|', '/')}{'. ' + note if note else ''} |"
            yield ""

    def text(self):
        groups, used = {}, set()
        for path, operations in self.reference["paths"].items():
            for method, operation in operations.items():
                groups.setdefault(operation["tags"][0], []).append((path, method, operation))
                for status, response in operation["responses"].items():
                    content = response.get("content", {}).get("application/json")
                    if content and status != "default" and int(status) < 400:
                        used.add(content["schema"]["$ref"].rsplit("/", 1)[1])
        order = {"get": 0, "put": 1, "post": 2, "patch": 3, "delete": 4}
        out = [HEAD]
        for group in sorted(groups):
            out.append(f"## {group}\n")
            for path, method, operation in sorted(groups[group], key=lambda one: (one[0], order[one[1]])):
                out.extend(self.call(method, path, operation))
        out.extend(self.answer_objects(used))
        return "\n".join(out).rstrip() + "\n"


with Server(PROGRAM) as server:
    wanted = Page(server.openapi()).text()
if WRITE:
    with open(PAGE, "w") as file:
        file.write(wanted)
    print(f"{PAGE}: {wanted.count('### `')} calls")
    sys.exit()
with open(PAGE) as file:
    found = file.read()
if found != wanted:
    difference = "\n".join(list(difflib.unified_diff(found.splitlines(), wanted.splitlines(), "the page", "the table", lineterm=""))[:40])
    sys.exit(f"docs/reference/api.md is stale; refresh it with\n  python3 {os.path.relpath(__file__)} PROGRAM {sys.argv[2]} --write\n{difference}")
print(f"{wanted.count('### `')} calls as the table says")
