"""What the first rows of a column suggest: the kind of its values, or why it is left out."""

import re
from typing import Any, NamedTuple

import numpy as np

from modicum.pipeline.columns.boolean import NO, YES
from modicum.pipeline.columns.cells import as_floats, as_strings, combined, is_number, is_text, parse_numbers
from modicum.pipeline.columns.time import parse_times

IGNORED = "ignore"
EMPTY = "empty in the first rows"
FEW = 20  # rows below which "all values differ" says nothing
UNIQUE = 0.9  # share of distinct texts above which they identify rows
WORDS = 3.0  # words per text, on average, from which on it is language
NUMERIC = 0.8  # share of texts that are numbers, above which the others are taken as missing
ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|idx|rowid|row|nr|no)$|[a-z](Id|ID|Uuid|UUID)$|^(id|Id|ID)[_\W]")


class Suggestion(NamedTuple):
    """A kind of column, and what is worth saying about it; for ignored columns, why."""

    kind: str
    reason: str = ""


def suggest(name: str, cells: Any, metadata: Any = None) -> Suggestion:
    """The kind of a column by its first cells, an Arrow array or an array of numbers."""
    if isinstance(cells, np.ndarray):
        return Suggestion("number")
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = combined(cells)
    if (told := (metadata or {}).get(b"modicum")) in (b"image", b"text"):
        return Suggestion(told.decode())
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    kind = cells.type
    if pa.types.is_null(kind) or cells.null_count == len(cells):
        return Suggestion(IGNORED, EMPTY)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return Suggestion(IGNORED, f"{kind} cells")
    if len(cells) > 1 and len(cells.unique().drop_null()) == 1 and not cells.null_count:
        return Suggestion(IGNORED, "constant")
    if pa.types.is_boolean(kind):
        return Suggestion("boolean")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return Suggestion("time")
    if is_text(kind):
        return _suggest_text(cells)
    if is_number(kind):
        found = _suggest_number(name, as_floats(cells))
        n_infinite = pc.sum(pc.is_inf(cells)).as_py() if pa.types.is_floating(kind) else 0
        return found._replace(reason=f"{n_infinite:,} infinite values count as missing") if n_infinite else found
    return Suggestion(IGNORED, f"{kind} cells")


def _suggest_number(name: str, values: np.ndarray) -> Suggestion:
    known = values[~np.isnan(values)]
    whole = len(known) >= FEW and np.array_equal(known, np.round(known))
    if whole and len(np.unique(known)) == len(known):
        if ID_NAME.search(name):
            return Suggestion(IGNORED, "unique numbers, named like an id")
        steps = np.diff(known)
        if (steps == 1).all():
            return Suggestion(IGNORED, "counts rows")
    return Suggestion("number")


def _suggest_text(cells: Any) -> Suggestion:
    import pyarrow.compute as pc

    text = as_strings(cells).drop_null()
    if not len(text):
        return Suggestion(IGNORED, EMPTY)
    distinct = {value.lower() for value in text.unique().to_pylist()[: 2 * FEW]}
    if distinct and distinct <= {*YES, *NO} and len(distinct) == 2:
        return Suggestion("boolean")
    if pc.any(pc.match_substring_regex(text, r"^0\d")).as_py():  # a code, such as a zip code
        return _suggest_words(text)
    wrong = parse_numbers(text)[1]
    n_wrong = pc.sum(wrong).as_py() or 0
    few_words = 2 * n_wrong < len(text) and len(text.filter(wrong).unique()) <= 2  # such as ? or n/a
    if n_wrong < (1 - NUMERIC) * len(text) or few_words:
        if not n_wrong:
            return Suggestion("number", "numbers written as text")
        example = f"{n_wrong:,} cells that are none, such as {text.filter(wrong)[0].as_py()!r}, count as missing"
        return Suggestion("number", f"numbers written as text; {example}")
    if parse_times(text) is not None:
        return Suggestion("time", "times written as text")
    return _suggest_words(text)


def _suggest_words(text: Any) -> Suggestion:
    import pyarrow.compute as pc

    share = len(text.unique()) / len(text)
    words = pc.mean(pc.add(pc.count_substring_regex(text, r"\S\s+\S"), 1)).as_py()
    if share > 0.5 and (words >= WORDS or (pc.mean(pc.utf8_length(text)).as_py() > 40 and words > 1.5)):
        return Suggestion("text")
    if share > UNIQUE and len(text) >= FEW:
        return Suggestion(IGNORED, "unique strings")
    return Suggestion("category")
