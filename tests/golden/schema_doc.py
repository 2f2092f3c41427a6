"""Compares docs/reference/sqlite-schema.md with the schema: every table, every column, its type and whether it may be none.

usage: schema_doc.py DOCUMENT MIGRATION.sql...
"""
import re
import sqlite3
import sys


def documented(path):
    tables, table = {}, None
    for line in open(path, encoding="utf-8"):
        heading = re.match(r"## (\w+)$", line)
        row = re.match(r"\| (\w+) \| (\w+)(, \*or none\*)? \| .+ \|$", line)
        if heading:
            table = tables.setdefault(heading[1], {})
        elif row and table is not None and row[1] != "column":
            table[row[1]] = (row[2], row[3] is not None)
    return tables


def actual(migrations):
    database = sqlite3.connect(":memory:")
    for path in migrations:
        database.executescript(open(path, encoding="utf-8").read())
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    tables = {}
    for (name,) in names.fetchall():
        columns = database.execute(f"PRAGMA table_info({name})").fetchall()
        tables[name] = {column[1]: (column[2], not column[3] and not column[5]) for column in columns}
    return tables


def main():
    says, has = documented(sys.argv[1]), actual(sys.argv[2:])
    says.pop("migrations", None)  # made by the program before the first step
    wrong = 0
    for table in sorted(says.keys() | has.keys()):
        for column in sorted(says.get(table, {}).keys() | has.get(table, {}).keys() | {""}):
            here, there = says.get(table, {}).get(column), has.get(table, {}).get(column)
            if (table in says) != (table in has) or here != there:
                print(f"{table}.{column}: the document says {here}, the schema {there}")
                wrong += 1
    print(f"{len(has)} tables, {sum(map(len, has.values()))} columns compared, {wrong} differ")
    sys.exit(1 if wrong or not has else 0)


main()
