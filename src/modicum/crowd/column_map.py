"""Which columns of a table have the workers, tasks, items and groups of answers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from modicum.exceptions import DataError

ROLES = ("worker", "task", "item", "group")
SHOWN = 30  # columns named in an error
LIKELY = {  # parts of names that such columns often have
    "worker": ("worker", "annotator", "user", "rater"),
    "task": ("task", "hitid", "question", "assignment"),
    "item": ("item", "image", "picture", "object", "input."),
    "group": ("group", "cluster", "label", "answer."),
}


class ColumnMap:
    """The names of the four columns in a source; without a map, their own."""

    def __init__(self, columns: Mapping[str, Any] | str | None):
        given = _parsed(columns) if isinstance(columns, str) else dict(columns or {})
        for role, name in given.items():
            _check(role, name)
        self.is_given = columns is not None
        self.names = {role: str(given.get(role, role)) for role in ROLES}
        self._told = set(given)
        stars = [self.names[role].count("*") for role in ROLES]
        if stars not in ([0, 0, 0, 0], [0, 0, 1, 1]):
            raise ValueError(
                "as_answers: a * stands once in the columns of both item and group, or nowhere; "
                f"got {_typed(self.names)}."
            )

    @property
    def is_wide(self) -> bool:
        """Whether a row has several items, in columns of their own."""
        return "*" in self.names["item"]

    def column(self, role: str, existing: Sequence[str], source: str) -> str | None:
        """The column of a role; None if there is no worker or task, and nobody said where. A `DataError` else."""
        if self.names[role] in existing:
            return self.names[role]
        if role in ("worker", "task") and role not in self._told:
            return None
        raise self._missing(role, existing, source, "no column")

    def partners(self, existing: Sequence[str], source: str) -> tuple[list[str], list[str], list[str]]:
        """Columns of items, those of their groups, and others that match only one of both patterns."""
        items, groups = (_starred(self.names[role], existing) for role in ("item", "group"))
        both = [part for part in items if part in groups]
        for role, found in (("item", items), ("group", groups)):
            if not found:
                raise self._missing(role, existing, source, "no columns")
        if not both:
            raise self._missing("group", existing, source, f"no column {self.names['item']!r} has a partner")
        alone = [name for found in (items, groups) for part, name in found.items() if part not in both]
        return [items[part] for part in both], [groups[part] for part in both], alone

    def _missing(self, role: str, existing: Sequence[str], source: str, what: str) -> DataError:
        likely = {r: name if name in existing else guess(r, existing) or "..." for r, name in self.names.items()}
        return DataError(
            f"{source}: {what} {self.names[role]!r} for the {role}s. It has: {listed(existing)}. "
            f"Map its columns, as in columns='{_typed(likely)}'."
        )


def listed(names: Sequence[str]) -> str:
    """The names of columns in a message."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def guess(role: str, existing: Iterable[str]) -> str | None:
    """A column whose name is like that of a role; a star stands for the numbers of several."""
    for part in LIKELY[role]:
        alike = [name for name in existing if part in name.lower()]
        numbered = {re.sub(r"\d+$", "*", name) for name in alike if name[-1:].isdigit()}
        if len(alike) > 1 and len(numbered) == 1:
            return numbered.pop()
        if alike:
            return alike[0]
    return None


def _parsed(text: str) -> dict[str, str]:
    """A map of columns from a text such as "worker=WorkerId,item=Input.image*"; names may have commas."""
    parts = re.split(rf",(?=(?:{'|'.join(ROLES)})=)", text)
    if wrong := [part for part in parts if "=" not in part]:
        raise ValueError(f"as_answers: columns must be a map such as worker=WorkerId,item=image*; got {wrong[0]!r}.")
    return dict(part.split("=", 1) for part in parts)


def _check(role: Any, name: Any) -> None:
    if role not in ROLES:
        raise ValueError(f"as_answers: columns maps worker, task, item and group; got {role!r}.")
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise ValueError(f"as_answers: the column of the {role} must be a name or a position; got {name!r}.")


def _starred(pattern: str, existing: Iterable[str]) -> dict[str, str]:
    """Columns that match a pattern, by what stands for its star."""
    before, after = map(re.escape, pattern.split("*"))
    matches = ((re.fullmatch(f"{before}(.*){after}", name, re.DOTALL), name) for name in existing)
    return {match[1]: name for match, name in matches if match}


def _typed(columns: Mapping[str, str]) -> str:
    """A map of columns as a text."""
    return ",".join(f"{role}={columns[role]}" for role in ROLES)
