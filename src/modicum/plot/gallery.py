"""Kept rows to look at: pictures, texts or a table, whatever they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.plot.images import as_pictures, data_uri
from modicum.plot.numbers import about, clipped, count, percent
from modicum.plot.page import Block, Card, Cards, Column, Context, Table
from modicum.rows import is_sparse, n_rows, take

MOST_ROWS = 200  # rows of a table or cards; more belong in a file
MOST_COLUMNS = 24
MOST_ENTRIES = 10  # of a sparse row
MOST_LETTERS = 320  # of a text
PICTURE_BYTES = 700_000  # all pictures together
CAPTION_COLUMNS = 3  # columns told below a picture or text


@dataclass(frozen=True)
class Kept:
    """Rows a learner keeps, each with its position in the stream and its size, and the order to show them in."""

    rows: Any
    ids: np.ndarray | None = None
    sizes: np.ndarray | None = None
    exact: bool = True
    order: np.ndarray | None = None

    def in_order(self, picks: Mapping[str, Sequence[Any]] | None) -> tuple["Kept", dict[str, list[Any]] | None]:
        """In the given order, or the largest first, and the picks with them."""
        order = self.order
        if order is None:
            order = np.arange(n_rows(self.rows)) if self.sizes is None else np.argsort(-self.sizes, kind="stable")
        kept = Kept(
            take(self.rows, order),
            None if self.ids is None else self.ids[order],
            None if self.sizes is None else self.sizes[order],
            self.exact,
        )
        if picks is None:
            return kept, None
        columns = {str(name): [_plain(value) for value in values] for name, values in picks.items()}
        return kept, {name: [values[i] for i in order] for name, values in columns.items()}

    def place(self, i: int) -> str:
        assert self.ids is not None
        return "given" if self.ids[i] < 0 else count(self.ids[i])

    def parts(self) -> np.ndarray:
        assert self.sizes is not None
        return self.sizes / (self.sizes.sum() or 1.0)

    def bars(self) -> np.ndarray:
        assert self.sizes is not None
        return self.sizes / (self.sizes.max() or 1.0)


def gallery(learner: Any, kept: Kept, context: Context) -> tuple[Block, str]:
    """A block that shows the kept rows, and a note of what it leaves out."""
    _check(kept, context)
    names = [str(name) for name in learner.column_names_ or ()]
    kept, picks = kept.in_order(context.picks)
    if context.image is not None:
        return _pictures(kept, context.image, _other_columns(picks, names))
    if context.text is not None:
        assert picks is not None
        texts = picks.pop(context.text)
        return _texts(kept, ["" if text is None else str(text) for text in texts], _other_columns(picks, names))
    if picks is None and isinstance(kept.rows, list):
        return _texts(kept, [str(row) for row in kept.rows], [])
    return _table(kept, _own_columns(kept.rows, names) if picks is None else picks)


def _check(kept: Kept, context: Context) -> None:
    n = n_rows(kept.rows)
    for name, values in (context.picks or {}).items():
        if len(values) != n:
            raise ValueError(
                f"write_report: picks must have {n} rows, as many as are kept; {name!r} has {len(values)}."
            )
    if context.text is not None and context.text not in (context.picks or {}):
        known = ", ".join(map(str, context.picks or {})) or "none"
        raise ValueError(f"write_report: text names a column of picks; got {context.text!r}, there are: {known}.")


def _pictures(kept: Kept, shape: tuple[int, ...], others: Sequence[Column]) -> tuple[Cards, str]:
    cards: list[Card] = []
    room = PICTURE_BYTES
    for i, picture in enumerate(as_pictures(kept.rows, shape)):
        address = data_uri(picture)
        room -= len(address)
        if room < 0:
            break
        cards.append(_card(kept, i, others, picture=address))
    return Cards(cards), _left_out(len(cards), n_rows(kept.rows))


def _texts(kept: Kept, texts: list[str], others: Sequence[Column]) -> tuple[Cards, str]:
    cards = [_card(kept, i, others, text=clipped(text, MOST_LETTERS)) for i, text in enumerate(texts[:MOST_ROWS])]
    return Cards(cards), _left_out(len(cards), len(texts))


def _card(kept: Kept, i: int, others: Sequence[Column], **face: str) -> Card:
    caption = [] if kept.sizes is None else [percent(kept.parts()[i])]
    if kept.ids is not None:
        caption.append("given" if kept.ids[i] < 0 else f"row {kept.place(i)}")
    for column in others:
        caption.append(f"{column.name} {column.cells[i]}" if column.numeric else column.cells[i])
    return Card(caption, bar=None if kept.sizes is None else float(kept.bars()[i]), **face)


def _table(kept: Kept, picks: dict[str, list[Any]]) -> tuple[Table, str]:
    n = min(n_rows(kept.rows), MOST_ROWS)
    columns = []
    if kept.sizes is not None:
        cells = [count(size) if kept.exact else about(size) for size in kept.sizes[:n]]
        columns.append(Column("stands for", cells, numeric=True, bars=[float(bar) for bar in kept.bars()[:n]]))
    if kept.ids is not None:
        columns.append(Column("row", [kept.place(i) for i in range(n)], numeric=True))
    shown = list(picks)[:MOST_COLUMNS]
    columns += [Column.of(name, picks[name][:n]) for name in shown]
    notes = [_left_out(n, n_rows(kept.rows))]
    if len(shown) < len(picks):
        notes.append(f"{len(picks) - len(shown):,} of {len(picks):,} columns are not shown.")
    return Table(columns), " ".join(filter(None, notes))


def _own_columns(rows: Any, names: list[str]) -> dict[str, list[Any]]:
    """The rows themselves, as columns; a sparse row as its largest entries."""
    names = names or [f"x{i}" for i in range(rows.shape[1])]
    if is_sparse(rows):
        return {"largest entries": [_entries(rows[i], names) for i in range(rows.shape[0])]}
    return {name: list(rows[:, i]) for i, name in enumerate(names)}


def _entries(row: Any, names: list[str]) -> str:
    order = np.argsort(-np.abs(row.data), kind="stable")[:MOST_ENTRIES]
    text = ", ".join(f"{names[row.indices[i]]}: {row.data[i]:.3g}" for i in order)
    return text + (", …" if len(row.data) > MOST_ENTRIES else "")


def _other_columns(picks: dict[str, list[Any]] | None, features: list[str]) -> list[Column]:
    """A few columns worth telling below a picture or text: not those that were learned from."""
    others = [name for name in picks or {} if name not in features]
    return [Column.of(name, picks[name]) for name in others] if picks and len(others) <= CAPTION_COLUMNS else []


def _plain(value: Any) -> Any:
    """A Python value, also of an Arrow column."""
    return value.as_py() if hasattr(value, "as_py") else value


def _left_out(shown: int, total: int) -> str:
    return "" if shown == total else f"The first {shown:,} of {total:,} are shown."
