"""The papers behind modicum, by key, and an index of the files that carry them.

Every module names its papers by key in its docstrings; the index is made from those.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAPERS = {
    "cohen2007": "Cohen, Kaplan. Summarizing data using bottom-k sketches. PODC 2007.",
    "dasgupta2009": "Dasgupta. Online clustering. Lecture notes, CSE 291, UC San Diego, 2009.",
    "efraimidis2006": "Efraimidis, Spirakis. Weighted random sampling with a reservoir. IPL 97(5), 2006.",
    "gomes2010": "Gomes, Krause. Budgeted nonparametric learning from data streams. ICML 2010.",
    "hoeffding1963": "Hoeffding. Probability inequalities for sums of bounded random variables. JASA 58, 1963.",
    "macqueen1967": "MacQueen. Some methods for classification and analysis of multivariate observations. 1967.",
    "maron1994": "Maron, Moore. Hoeffding races: accelerating model selection search. NIPS 1994.",
    "schubert2021": "Schubert, Rousseeuw. Fast and eager k-medoids clustering. Information Systems 101, 2021.",
    "serfling1974": "Serfling. Probability inequalities for the sum in sampling without replacement. Ann. Stat. 1974.",
}
KEY = re.compile(r"\b[a-z]{3,}(?:18|19|20)\d\d\b")


def index() -> dict[str, dict[str, list[str]]]:
    """For every paper: the files that name it, with the public classes in them that do."""
    root = Path(__file__).parent
    found: dict[str, dict[str, list[str]]] = {key: {} for key in PAPERS}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name == "papers.py" or name.startswith("checks/"):
            continue
        for owner, text in _docstrings(path):
            for key in set(KEY.findall(text)):
                classes = found.setdefault(key, {}).setdefault(name, [])
                if owner and not owner.startswith("_"):
                    classes.append(owner)
    return found


def as_markdown() -> str:
    """The index as a Markdown page."""
    lines = ["# Papers", "", "Which paper is carried by which file. Made by `modicum papers`.", ""]
    for key, files in sorted(index().items()):
        lines += [f"**{key}**: {PAPERS[key]}", ""]
        for name, classes in files.items():
            lines.append(f"- `src/modicum/{name}`" + (f": {', '.join(f'`{c}`' for c in classes)}" if classes else ""))
        lines.append("")
    return "\n".join(lines)


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """(class name or "", docstring) of a module and its classes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield "", ast.get_docstring(tree) or ""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, ast.get_docstring(node) or ""
