"""Rows to look at, as pictures, texts or a table."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from modicum.contract.picks import Picks
from modicum.plot.formatting import about, clipped, count, percent
from modicum.plot.images import as_pictures, data_uri, file_uri
from modicum.plot.page import Block, Card, Cards, Column, Context, Table
from modicum.rows import is_sparse, n_rows, take

MOST_ROWS = 200  # rows of a table or cards; more belong in a file
MOST_COLUMNS = 24
MOST_ENTRIES = 10  # of a sparse row
MOST_LETTERS = 320  # of a text
PICTURE_BYTES = 700_000  # all pictures together
FILE_BYTES = 3_000_000  # all thumbnails of picture files together
CAPTION_COLUMNS = 3  # columns shown below a picture or text


@dataclass(frozen=True)
class Exhibit:
    """Rows to show: chosen rows with their ids, or centers, which have none.

    Attributes
    ----------
    rows : array, sparse matrix or list
    ids, weights, targets : as in `Picks`
    exact : whether weights are exact, or estimates to be rounded
    weight_name : the heading of the weights
    """

    rows: Any
    ids: np.ndarray | None = None
    weights: np.ndarray | None = None
    targets: np.ndarray | None = None
    exact: bool = False
    weight_name: str = "cluster size"

    @classmethod
    def of(cls, picks: Picks, *, exact: bool = False) -> Self:
        return cls(picks.rows, picks.ids, picks.weights, picks.targets, exact)

    def __len__(self) -> int:
        return n_rows(self.rows)

    def take(self, order: np.ndarray) -> "Exhibit":
        ids, weights, targets = (
            None if column is None else column[order] for column in (self.ids, self.weights, self.targets)
        )
        return replace(self, rows=take(self.rows, order), ids=ids, weights=weights, targets=targets)

    def shares(self) -> np.ndarray:
        assert self.weights is not None
        return self.weights / (self.weights.sum() or 1.0)

    def bars(self) -> np.ndarray:
        assert self.weights is not None
        return self.weights / (self.weights.max() or 1.0)


def gallery(learner: Any, exhibit: Exhibit, context: Context, *, order: np.ndarray | None = None) -> tuple[Block, str]:
    """A block that shows rows, and a note of what it leaves out.

    They are shown in the given order; by default largest weight first, or in their own order.
    """
    _check(exhibit, context)
    if context.pipeline is not None and exhibit.ids is not None:
        exhibit = replace(exhibit, ids=context.pipeline.picks().ids)
    if order is None:
        order = np.arange(len(exhibit)) if exhibit.weights is None else np.argsort(-exhibit.weights, kind="stable")
    names = [str(name) for name in learner.column_names_ or ()]
    exhibit, columns = exhibit.take(order), _in_order(context.picks, order)
    if context.pictures is not None and columns is not None and context.pictures in columns:
        return picture_gallery(columns[context.pictures], None, exhibit.weights, exact=exhibit.exact)
    if context.image is not None:
        return _pictures(exhibit, context.image, _other_columns(exhibit, columns, names))
    if context.text is not None:
        assert columns is not None
        texts = ["" if text is None else str(text) for text in columns.pop(context.text)]
        return _texts(exhibit, texts, _other_columns(exhibit, columns, names))
    if columns is None and isinstance(exhibit.rows, list):
        return _texts(exhibit, [str(row) for row in exhibit.rows], _other_columns(exhibit, None, names))
    return _table(exhibit, _own_columns(exhibit, names) if columns is None else columns)


def _check(exhibit: Exhibit, context: Context) -> None:
    n = len(exhibit)
    for name, values in (context.picks or {}).items():
        if len(values) != n:
            raise ValueError(f"write_report: picks must have {n} rows, one per chosen row; {name!r} has {len(values)}.")
    if context.text is not None and context.text not in (context.picks or {}):
        known = ", ".join(map(str, context.picks or {})) or "none"
        raise ValueError(f"write_report: text must name a column of picks; got {context.text!r}, there are: {known}.")


def _in_order(picks: Mapping[str, Sequence[Any]] | None, order: np.ndarray) -> dict[str, list[Any]] | None:
    if picks is None:
        return None
    columns = {str(name): [_plain(value) for value in values] for name, values in picks.items()}
    return {name: [values[i] for i in order] for name, values in columns.items()}


def _pictures(exhibit: Exhibit, image: tuple[int, ...], others: Sequence[Column]) -> tuple[Cards, str]:
    cards: list[Card] = []
    room = PICTURE_BYTES
    for i, picture in enumerate(as_pictures(exhibit.rows, image)):
        address = data_uri(picture)
        room -= len(address)
        if room < 0:
            break
        cards.append(_card(exhibit, i, others, picture=address))
    return Cards(cards), _left_out(len(cards), len(exhibit))


def picture_gallery(
    paths: Sequence[str | None],
    captions: Sequence[Sequence[str]] | None = None,
    weights: np.ndarray | None = None,
    *,
    exact: bool = False,
) -> tuple[Cards, str]:
    """Cards of picture files in the given order, and a note of what is left out.

    A card has the file's name, the rows that it stands for (`weights`, rounded unless `exact`) and further `captions`.
    A file that can't be read is a grey box.
    """
    cards: list[Card] = []
    room = FILE_BYTES
    for i, path in enumerate(paths[:MOST_ROWS]):
        name = "no picture" if path is None else os.path.basename(os.fsdecode(path))
        address = file_uri(path or "", name)
        room -= len(address)
        if room < 0:
            break
        caption, bar = [name], None
        if weights is not None:
            caption.append(f"stands for {count(weights[i]) if exact else about(weights[i])}")
            bar = float(weights[i] / (np.max(weights) or 1.0))
        cards.append(Card([*caption, *(captions[i] if captions is not None else ())], picture=address, bar=bar))
    return Cards(cards), _left_out(len(cards), len(paths))


def _texts(exhibit: Exhibit, texts: list[str], others: Sequence[Column]) -> tuple[Cards, str]:
    cards = [_card(exhibit, i, others, text=clipped(text, MOST_LETTERS)) for i, text in enumerate(texts[:MOST_ROWS])]
    return Cards(cards), _left_out(len(cards), len(texts))


def _card(exhibit: Exhibit, i: int, others: Sequence[Column], **content: str) -> Card:
    caption = [] if exhibit.weights is None else [percent(exhibit.shares()[i])]
    if exhibit.ids is not None:
        caption.append("given" if exhibit.ids[i] < 0 else f"row {count(exhibit.ids[i])}")
    for column in others:
        caption.append(f"{column.name} {column.cells[i]}" if column.numeric else column.cells[i])
    return Card(caption, bar=None if exhibit.weights is None else float(exhibit.bars()[i]), **content)


def _table(exhibit: Exhibit, cells: dict[str, list[Any]]) -> tuple[Table, str]:
    n = min(len(exhibit), MOST_ROWS)
    columns = []
    if exhibit.weights is not None:
        written = [count(weight) if exhibit.exact else about(weight) for weight in exhibit.weights[:n]]
        bars = [float(bar) for bar in exhibit.bars()[:n]]
        columns.append(Column(exhibit.weight_name, written, numeric=True, bars=bars))
    if exhibit.ids is not None:
        ids = ["given" if row_id < 0 else count(row_id) for row_id in exhibit.ids[:n]]
        columns.append(Column("position" if "row" in cells else "row", ids, numeric=True))
    shown = list(cells)[:MOST_COLUMNS]
    columns += [Column.of(name, cells[name][:n]) for name in shown]
    notes = [_left_out(n, len(exhibit))]
    if len(shown) < len(cells):
        notes.append(f"{len(cells) - len(shown):,} of {len(cells):,} columns are not shown.")
    return Table(columns), " ".join(filter(None, notes))


def _own_columns(exhibit: Exhibit, names: list[str]) -> dict[str, list[Any]]:
    """Targets and the rows themselves, as columns; a sparse row as its largest entries."""
    columns = {} if exhibit.targets is None else {"target": list(exhibit.targets)}
    return columns | row_columns(exhibit.rows, names)


def row_columns(rows: Any, names: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Rows as columns by name; a sparse row as its largest entries, an object as its text."""
    if isinstance(rows, list):
        return {"row": [clipped(str(row)) for row in rows]}
    names = names or [f"x{i}" for i in range(rows.shape[1])]
    if is_sparse(rows):
        return {"largest entries": [_entries(rows[i], names) for i in range(rows.shape[0])]}
    return {name: list(rows[:, i]) for i, name in enumerate(names)}


def _entries(row: Any, names: Sequence[str]) -> str:
    order = np.argsort(-np.abs(row.data), kind="stable")[:MOST_ENTRIES]
    text = ", ".join(f"{names[row.indices[i]]}: {row.data[i]:.3g}" for i in order)
    return text + (", …" if len(row.data) > MOST_ENTRIES else "")


def _other_columns(exhibit: Exhibit, columns: dict[str, list[Any]] | None, features: list[str]) -> list[Column]:
    """A few columns to show below a picture or text: the target, or those that were not learned from."""
    if columns is None:
        return [] if exhibit.targets is None else [Column.of("target", list(exhibit.targets))]
    others = [name for name in columns if name not in features]
    return [Column.of(name, columns[name]) for name in others] if len(others) <= CAPTION_COLUMNS else []


def _plain(value: Any) -> Any:
    """The Python value of a cell, which may be an Arrow scalar."""
    return value.as_py() if hasattr(value, "as_py") else value


def _left_out(shown: int, total: int) -> str:
    return "" if shown == total else f"The first {shown:,} of {total:,} are shown."
