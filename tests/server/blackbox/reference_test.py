"""docs/reference/api.md is what the table of routes says, and the table says what every field means.

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
`{"error": {"code": "…", "message": "…", "details": {}}}`. Lists take `limit` (50, at most 500) and `cursor`, and answer
`{"items": […], "next_cursor": …}`; a page of large items may have fewer.

| value | is written |
| --- | --- |
| name | of tenants, queues, types, schedules, limits, workers, tags: 1 to 200 bytes of printable ASCII without space |
| instant | RFC 3339, `2026-03-29T01:00:00Z`; answers are in UTC with milliseconds |
| duration | `250ms`, `90s`, `5m`, `2h`, `7d`, `1h30m` |
| local time, day | `08:00`; `2026-03-29` |

You may leave out a field that is not required; "default" says what its value is then. `null` means the same, except in
a `PATCH` and where the table says otherwise.

Besides the errors that are listed at a call, every call may answer these:

| status | code | when |
| --- | --- | --- |
| 400 | `invalid_request` | it cannot be read; also an unknown query parameter |
| 404 | `route_not_found`, `tenant_not_found` | there is no such path, or no such tenant for this key |
| 405 | `method_not_allowed` | the path has other methods; `Allow` names them |
| 408, 413, 431 | `request_timeout`, `body_too_large`, `head_too_large` | it came too slowly, or there is too much of it |
| 409 | `conflict` | a write under a tenant that is being deleted |
| 429 | `too_many_connections`, `too_many_calls`, `too_many_bytes` | this key, or this address without one, has too much under way |
| 429 | `quota_exceeded` | calls under `/v1/tenants/{tenant}/` beyond its `calls_per_second` |
| 429 | `too_many_streams` | of streams alone: too many are open |
| 500 | `internal_error` | a mistake of the server |
| 503 | `overloaded`, `too_many_connections` | all together, or one address, have too much under way |
| 503 | `store_unavailable`, `database_error` | the store does not answer |
| 507 | `store_full` | a write, and there is no space left |

429, `overloaded` and `too_many_connections` come with `Retry-After`.
"""


class Page:
    def __init__(self, reference):
        self.reference = reference
        self.schemas = reference["components"]["schemas"]

    def resolved(self, schema):
        while "$ref" in schema:
            found = self.reference
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema

    def undescribed(self):
        """Fields, of bodies, answers and queries, of which nobody says what they mean."""
        def walk(path, schema):
            for name, field in schema.get("properties", {}).items():
                if not self.resolved(field).get("description"):
                    yield f"{path}.{name}"
                yield from walk(f"{path}.{name}", field)
            for one in schema.get("oneOf", []) + schema.get("anyOf", []):
                yield from walk(path, one)
            if isinstance(schema.get("items"), dict):
                yield from walk(path + "[]", schema["items"])
        for name, schema in self.schemas.items():
            yield from walk(name, schema)
        known = self.schemas["QueryParameters"]["properties"]
        for path, operations in self.reference["paths"].items():
            for method, operation in operations.items():
                for one in operation["parameters"]:
                    if one["in"] == "query" and one["name"] not in known:
                        yield f"{method.upper()} {path}?{one['name']}"

    def kind(self, schema):
        """A schema in a word or two."""
        if schema.get("$ref", "").endswith("/Retry"):
            return "[Retry](#retry)"
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
        if named == "null":
            return "null"
        if named == "array":
            items = schema.get("items")
            return "list" if not items else f"list of {self.kind(items)}"
        if named == "string" and schema.get("format") == "date-time":
            return "instant"
        if named == "string" and "90s" in schema.get("examples", []):
            return "duration"
        bounds = ""
        if "minimum" in schema and "maximum" in schema:
            bounds = f" {schema['minimum']} to {schema['maximum']}"
        elif "minimum" in schema:
            bounds = f" from {schema['minimum']} on"
        elif "exclusiveMinimum" in schema:
            bounds = f" above {schema['exclusiveMinimum']}"
        return {"string": "text", "integer": "whole number"}.get(named, named) + bounds

    def note(self, field):
        """What a field means, and what holds if it is left out."""
        note = re.sub("^any JSON[,:] ", "", self.resolved(field).get("description", ""))
        if "default" in field:
            note += f"; default `{json.dumps(field['default'], ensure_ascii=False)}`"
        return note

    def fields(self, schema, path=""):
        """However deep, by their paths; what has a name of its own stands there."""
        schema = self.resolved(schema)
        required = schema.get("required", [])
        for name, field in schema.get("properties", {}).items():
            yield path + name, self.kind(field), name in required, self.note(field)
            if "$ref" not in field:
                yield from self.inside(field, path + name)

    def inside(self, field, path):
        if "$ref" in field and not path.endswith("[]"):
            return
        if isinstance(field.get("items"), dict):
            if "$ref" in field["items"]:
                return
            yield from self.inside(field["items"], path + "[]")
        seen = set()
        for one in [field] + field.get("oneOf", []) + field.get("anyOf", []):
            if "$ref" in one:
                continue
            for row in self.fields(one, path + "."):
                if row[0] not in seen:
                    seen.add(row[0])
                    yield row

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
        query = [one for one in operation["parameters"] if one["in"] == "query"]
        if query:
            yield "| query | | |\n| --- | --- | --- |"
            for one in query:
                field = self.resolved(one["schema"])
                yield f"| `{one['name']}` | {self.kind(field)} | {self.note(field)} |"
            yield ""
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
        line = "curl -s " + (f"-X {method.upper()} " if method not in ("get", "post") or (method == "post" and shown is None) else "")
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
        for name in sorted(used | {"Retry"}):
            rows = list(self.fields(self.schemas[name]))
            yield f"### {name}\n"
            if self.schemas[name].get("oneOf"):
                yield from self.shapes(name)
            if not rows:
                yield self.schemas[name].get("description", "An object without fields of its own.") + "\n"
                continue
            yield "| field | |\n| --- | --- |"
            for field, kind, _, note in rows:
                yield f"| `{field}` | {kind.replace('|', '/')}{'. ' + note if note else ''} |"
            yield ""

    def shapes(self, name):
        """Which fields go together."""
        schema = self.schemas[name]
        yield schema["description"][0].upper() + schema["description"][1:] + ".\n"
        yield "| shape | |\n| --- | --- |"
        for shape, example in zip(schema["oneOf"], schema["examples"]):
            told = shape.get("description") or shape["properties"]["kind"]["description"]
            yield f"| `{json.dumps(example, ensure_ascii=False)}` | {told} |"
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
    page = Page(server.openapi())
unsaid = list(page.undescribed())
if unsaid:
    sys.exit("of these nobody says what they mean; give them a description in src/server/api/schemas.json:\n  " + "\n  ".join(unsaid))
wanted = page.text()
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
