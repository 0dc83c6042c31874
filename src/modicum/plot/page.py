"""What a report is made of: a page of sections, a section of blocks. The template draws a block by its `kind`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modicum.plot import numbers
from modicum.state.part import Part


@dataclass(frozen=True)
class Context:
    """What a report may tell beyond the learner itself; see `write_report`."""

    command: str | None = None
    source: str | None = None
    seconds: float | None = None
    picks: Mapping[str, Sequence[Any]] | None = None
    image: tuple[int, ...] | None = None
    text: str | None = None


@dataclass(frozen=True)
class Block:
    kind: ClassVar[str]


@dataclass(frozen=True)
class Text(Block):
    kind = "text"
    text: str


@dataclass(frozen=True)
class Code(Block):
    kind = "code"
    text: str


@dataclass(frozen=True)
class Facts(Block):
    """Label and value; the first few of a page as large figures in a strip."""

    kind = "facts"
    items: Sequence[tuple[str, str]]
    large: bool = False


@dataclass(frozen=True)
class Figure(Block):
    """An SVG drawing; a tall one takes the room of two."""

    kind = "figure"
    svg: str
    caption: str = ""
    tall: bool = False


@dataclass(frozen=True)
class Column:
    """Cells of a table; `bars` (0 to 1) are drawn beneath the cells."""

    name: str
    cells: Sequence[str]
    numeric: bool = False
    bars: Sequence[float] | None = None

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> "Column":
        cells, numeric = numbers.column(values)
        return cls(name, cells, numeric)


@dataclass(frozen=True)
class Table(Block):
    kind = "table"
    columns: Sequence[Column]

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].cells)


@dataclass(frozen=True)
class Card:
    """One kept row as people see it: a picture or a text, a caption, and how much it stands for (0 to 1)."""

    caption: Sequence[str]
    text: str = ""
    picture: str = ""
    bar: float | None = None


@dataclass(frozen=True)
class Cards(Block):
    """Texts in columns, or pictures in a dense grid. The first are in view, the others a click away."""

    kind = "cards"
    cards: Sequence[Card]

    @property
    def pictures(self) -> bool:
        return any(card.picture for card in self.cards)

    @property
    def open(self) -> int:
        return 200 if self.pictures else 12  # what a reader is glad to scroll past on a phone


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]
    note: str = ""


@dataclass(frozen=True)
class Page:
    title: str
    kind: str
    sentence: str
    sections: Sequence[Section]


def describe(value: Any) -> str:
    """A parameter's value in a few words."""
    if isinstance(value, np.ndarray) or hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"{type(value).__name__} of {len(value)}"
    if callable(value) and not isinstance(value, Part):  # a kernel's own text says more than its class
        return getattr(value, "__name__", type(value).__name__)
    return str(value) if isinstance(value, str | np.random.Generator) else repr(value)
