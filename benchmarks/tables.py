"""Markdown tables from benchmarks/results/*.json, put into README.md and docs/*.md.

    python benchmarks/tables.py [--check]

Text between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` is replaced. NAME is a result (all its tables and its
bars), one table of it as in `exemplars.one_thread`, or its bars as in `exemplars.bars`. Running it twice changes
nothing. With --check nothing is written, and the exit code is 1 if something would change.
"""

import argparse
import json
import re
import sys

from common import RESULTS, ROOT, cell

MARKED = re.compile(r"(<!-- bench:(?P<name>[\w.]+) -->\n).*?(<!-- /bench:(?P=name) -->)", re.DOTALL)
BARS = [("wish", "bar", ""), ("measured", "measured", ""), ("verdict", "", "")]


def markdown(columns, rows):
    """A Markdown table; numbers to the right."""
    numeric = [any(isinstance(row.get(key), int | float) for row in rows) for key, _, _ in columns]
    lines = [[head for _, head, _ in columns], ["---:" if right else "---" for right in numeric]]
    lines += [[cell(row.get(key), form).replace("|", "\\|") for key, _, form in columns] for row in rows]
    shown = [
        i for i in range(len(columns)) if any(line[i] for line in lines[2:])
    ]  # columns without values are left out
    return "\n".join("| " + " | ".join(line[i] for i in shown) + " |" for line in lines)


def section(name, folder=RESULTS):
    """The text for one marker."""
    result_name, _, part = name.partition(".")
    path = folder / f"{result_name}.json"
    if not path.exists():
        sys.exit(f"bench:{name}: there is no result {result_name}; run python benchmarks/run.py --only {result_name}")
    result = json.loads(path.read_text())
    tables = {key: markdown(table["columns"], table["rows"]) for key, table in result["tables"].items()}
    words = {True: "met", False: "**not met**", None: "unknown"}
    if result["bars"]:
        tables["bars"] = markdown(BARS, [{**bar, "verdict": words[bar["met"]]} for bar in result["bars"]])
    if part and part not in tables:
        sys.exit(f"bench:{name}: {result_name} has no table {part}, only {', '.join(tables)}")
    texts = [tables[part]] if part else list(tables.values())
    machine, versions = result["machine"], result["versions"]
    origin = (
        f"<sub>`{result['command']}` on {result['date']}: {machine['cpu']}, {machine['cores']} cores, Python "
        f"{machine['python']}, modicum {versions['modicum']} at {(result['commit'] or 'no commit')[:9]}.</sub>"
    )
    return "\n\n".join([*texts, origin]) + "\n"


def fill(text, folder=RESULTS):
    """The text with everything between markers replaced."""
    return MARKED.sub(lambda found: found[1] + section(found["name"], folder) + found[3], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    changed = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.exists() and (filled := fill(path.read_text())) != path.read_text():
            changed.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(filled)
    print(("would change: " if check else "changed: ") + (", ".join(changed) or "nothing"))
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
