"""Items from folders of pictures and sounds, from tables, and from texts with an item per line."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modicum.exceptions import DataError
from modicum.streams import Paths, stream
from modicum.streams.readers.base import join
from modicum.web.store.media import Item, file_item, is_media, text_item

MOST_NAMED = 3  # files that can't be read, in a message


@dataclass
class ItemSource:
    """Items that are read one by one; what can't be read is refused, or left out and listed in `left_out`."""

    makers: list[Callable[[], Item]]
    skip_bad: bool = False
    left_out: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # files of a folder that are no pictures or sounds

    def __len__(self) -> int:
        return len(self.makers)

    def __iter__(self) -> Iterator[Item]:
        """All items. Files that can't be read are refused together, at the end, so that all are known at once."""
        for make in self.makers:
            try:
                item = make()
            except DataError as error:
                self.left_out.append(str(error))
            else:
                yield item
        if self.left_out and not self.skip_bad:
            more = len(self.left_out) - MOST_NAMED
            told = " ".join(self.left_out[:MOST_NAMED]) + (f" And {more:,} more." if more > 0 else "")
            raise DataError(f"{told} Mend or remove them, or leave them out with --skip-bad-rows.")


def find_items(sources: Sequence[str], *, skip_bad: bool = False) -> ItemSource:
    """The items of some sources: folders, files of pictures or sounds, tables and texts."""
    found = ItemSource([], skip_bad)
    for source in sources:
        path = Path(source)
        if path.is_dir():
            _add_folder(found, path)
        elif is_media(path):
            found.makers.append(lambda path=path: file_item(path, path.name))  # type: ignore[misc]
        else:
            _add_table(found, source)
    if not found.makers:
        raise DataError(f"{', '.join(sources)}: there are no items in it.")
    return found


def read_columns(source: str, wanted: Sequence[str]) -> dict[str, list[Any]]:
    """The wanted columns of a table as texts, those that it has; of a text, its lines are the first of them."""
    rows = stream(Paths(source), raw=True, documents="lines" if source == "-" else None)
    known = rows.table_columns or []
    if len(known) == 1:
        names = {known[0]: wanted[0]}
    else:
        names = {name: name for name in known if name in wanted}
    if wanted[0] not in names.values():
        told = f"It has: {', '.join(known)}." if known else "It has no names of columns."
        raise DataError(f"{rows.name}: no column {wanted[0]!r}. {told}")
    if source.lower().endswith((".csv", ".tsv")):
        rows = stream(Paths(source), raw=True, as_text=list(names))  # so that the item 007 is not the item 7
    table = join([chunk.X for chunk in rows])
    return {
        name: ["" if cell is None else str(cell).strip() for cell in table.column(column).to_pylist()]
        for column, name in names.items()
    }


def _add_folder(found: ItemSource, folder: Path) -> None:
    """All pictures and sounds in a folder and below it, named by their paths within it."""
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(where, name)
            if not is_media(path):
                found.skipped.append(name)
                continue
            within = path.relative_to(folder).as_posix()
            found.makers.append(lambda path=path, within=within: file_item(path, within))  # type: ignore[misc]


def _add_table(found: ItemSource, source: str) -> None:
    """A row for each item: its name, and a text or a file to show; without these the name is shown."""
    columns = read_columns(source, ("item", "text", "file", "alt"))
    blank = [""] * len(columns["item"])
    rows = zip(*(columns.get(name, blank) for name in ("item", "text", "file", "alt")), strict=True)
    base = Path(source).resolve().parent
    for name, text, file, alt in rows:
        if not name:
            continue
        if file:
            found.makers.append(lambda name=name, file=file, alt=alt: _file_beside(base, file, name, alt))  # type: ignore[misc]
        else:
            found.makers.append(lambda name=name, text=text, alt=alt: text_item(name, text or name, alt))  # type: ignore[misc]


def _file_beside(base: Path, file: str, name: str, alt: str) -> Item:
    """The item in a file that a table names; only files beside the table or below it are read."""
    path = (base / file).resolve()
    if not path.is_relative_to(base):
        raise DataError(f"the file {file!r} of the item {name!r} is not in the folder of the table.")
    return file_item(path, name, alt)
