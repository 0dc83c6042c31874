"""Cells of Arrow columns as arrays."""

from typing import Any

import numpy as np

LARGEST = 1e100  # beyond, squares overflow: such numbers count as missing


def combined(cells: Any) -> Any:
    """One Arrow array."""
    if hasattr(cells, "combine_chunks"):
        cells = cells.combine_chunks()
        if hasattr(cells, "chunks"):  # an empty one has no chunk
            import pyarrow as pa

            cells = cells.chunk(0) if cells.num_chunks else pa.array([], cells.type)
    return cells


def as_floats(cells: Any, *, may_be_wrong: bool = False) -> np.ndarray:
    """Numbers as float64, to be read only; missing and infinite ones are NaN. A ValueError for cells of another type.

    Texts that are no numbers are NaN too, if they may be there.
    """
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64, copy=False)
    else:
        import pyarrow as pa

        cells = combined(cells)
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        if is_text(cells.type):
            values, wrong = parse_numbers(cells)
            if not may_be_wrong and wrong.true_count:
                raise ValueError(f"{cells.filter(wrong)[0].as_py()!r} is not a number")
            cells = pa.array(values)
        if pa.types.is_boolean(cells.type):
            cells = cells.cast(pa.int8())
        if pa.types.is_duration(cells.type):
            cells = cells.cast(pa.int64())
        if pa.types.is_null(cells.type):
            return np.full(len(cells), np.nan)
        if not is_number(cells.type):
            raise ValueError(f"{cells.type} cells are not numbers")
        values = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    absolute = np.abs(values)
    if absolute.max(initial=0.0) <= LARGEST:  # false if there is a NaN
        return values
    return np.where(absolute <= LARGEST, values, np.nan)


def has_text(cells: Any) -> bool:
    """Whether cells are texts."""
    kind = getattr(cells, "type", None)
    return kind is not None and is_text(getattr(kind, "value_type", kind))


def is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_duration)
    return any(is_kind(kind) for is_kind in tests)


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def parse_numbers(cells: Any) -> tuple[np.ndarray, Any]:
    """Text cells as numbers, NaN where they are none; and which cells are neither empty nor a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    is_number = pc.fill_null(pc.match_substring_regex(text, NUMBER), False)
    values = pc.if_else(is_number, text, None).cast(pa.float64()).to_numpy(zero_copy_only=False)
    filled = pc.fill_null(pc.not_equal(text, ""), False)
    return values.copy(), pc.and_not(filled, is_number)


def _float_strings(cells: Any) -> Any:
    """Floats as strings; a whole number as if it were an integer, whatever other cells are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = cells.to_numpy(zero_copy_only=False)
    whole = np.isfinite(values) & (np.abs(values) < 2**53) & (values == np.round(values))
    integers = pa.array(np.where(whole, values, 0).astype(np.int64)).cast(pa.string())
    others = pc.if_else(pc.is_finite(cells), cells, None).cast(pa.string())
    return pc.if_else(pa.array(whole), integers, others)


NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"


def as_strings(cells: Any) -> Any:
    """Cells of any simple type as an Arrow array of strings; empty strings are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(cells, np.ndarray):
        cells = pa.array(cells)
    cells = combined(cells)
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_floating(cells.type):
        return _float_strings(cells)
    try:
        text = cells.cast(pa.string())
    except (pa.ArrowException, NotImplementedError):
        raise ValueError(f"{cells.type} cells are neither text nor categories") from None
    return pc.if_else(pc.equal(text, ""), None, text)
