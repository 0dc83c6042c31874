"""The contents of a report: a page of sections, a section of blocks. The template renders a block by its `kind`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modicum.plot import formatting
from modicum.state.part import Part


@dataclass(frozen=True)
class Context:
    """What a report may show besides the learner itself; see `write_report`."""

    command: str | None = None
    source: str | None = None
    seconds: float | None = None
    picks: Mapping[str, Sequence[Any]] | None = None
    image: tuple[int, ...] | None = None
    text: str | None = None
    preparation: Sequence[tuple[str, str, str]] | None = None
    learned_from: str | None = None
    pictures: str | None = None  # column of picks with paths of pictures
    documents: Mapping[Any, str] | None = None  # texts, paths of pictures or names, by id or item
    pipeline: Any = None  # of which the learner is the last step; its rows have numbers and budgets of their own


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
    """Labels and values; `large` ones are the headline figures of a page."""

    kind = "facts"
    items: Sequence[tuple[str, str]]
    large: bool = False


@dataclass(frozen=True)
class Figure(Block):
    """An SVG drawing; a tall one spans two rows of the layout, a wide one all columns."""

    kind = "figure"
    svg: str
    caption: str = ""
    tall: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Column:
    """The cells of one column of a table; `bars` (0 to 1) are drawn below the cells."""

    name: str
    cells: Sequence[str]
    numeric: bool = False
    bars: Sequence[float] | None = None

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> "Column":
        cells, numeric = formatting.column(values)
        return cls(name, cells, numeric)


@dataclass(frozen=True)
class Table(Block):
    """Columns of cells; a compact one takes less height and scrolls sooner."""

    kind = "table"
    columns: Sequence[Column]
    compact: bool = False

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].cells)


@dataclass(frozen=True)
class Card:
    """One row to look at: a picture or a text, a caption, and a bar for its weight (0 to 1)."""

    caption: Sequence[str]
    text: str = ""
    picture: str = ""
    bar: float | None = None


@dataclass(frozen=True)
class Cards(Block):
    """Texts in columns, or pictures in a dense grid. The first are visible, the others behind a click."""

    kind = "cards"
    cards: Sequence[Card]
    heading: str = ""

    @property
    def pictures(self) -> bool:
        return any(card.picture for card in self.cards)

    @property
    def open(self) -> int:
        return 200 if self.pictures else 12  # more is too much to scroll past on a phone


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
    """The value of a parameter, abbreviated."""
    if isinstance(value, np.ndarray) or hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"{type(value).__name__} of {len(value)}"
    if callable(value) and not isinstance(value, Part):  # a kernel's own text says more than its class
        return getattr(value, "__name__", type(value).__name__)
    return str(value) if isinstance(value, str | np.random.Generator) else repr(value)
