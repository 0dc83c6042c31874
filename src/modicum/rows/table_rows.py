"""Kept rows of Arrow tables: all columns of any type."""

from typing import Any

import numpy as np

from modicum.rows.rows import Rows
from modicum.rules.invariants import Array

END_BYTES = 8  # of an Arrow stream


class TableRows(Rows):
    """Rows of an Arrow table with the columns of the first one; saved as an Arrow stream."""

    kind = "table"
    _invariants = {"_blob": Array(("u",), None)}
    _blob: np.ndarray

    def __init__(self, like: Any):
        self.values = _plain(like.slice(0, 0))

    @property
    def values(self) -> Any:
        if "_table" not in vars(self):  # read from a file, where only the bytes were checked
            self._table = _from_bytes(self._blob)
        return self._table

    @values.setter
    def values(self, table: Any) -> None:
        self._table = table
        self.__dict__.pop("_blob", None)

    def put(self, slots: np.ndarray, X: Any) -> None:
        import pyarrow as pa

        count = len(self)
        order = np.arange(max(count, int(slots.max(initial=-1)) + 1))
        order[slots] = count + np.arange(len(X))
        new = _plain(X)
        schema = _wide_enough(self.values, new)
        both = pa.concat_tables([self.values.cast(schema), _like(new, schema)])
        self.values = both.take(pa.array(order)).combine_chunks()

    def keep(self, slots: np.ndarray) -> None:
        import pyarrow as pa

        self.values = self.values.take(pa.array(np.asarray(slots, np.int64))).combine_chunks()

    @property
    def nbytes(self) -> int:
        return _n_bytes(self.values)

    def shorten(self, limit: int) -> None:
        """Cut texts to at most `limit` characters."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self.values
        for j, field in enumerate(table.schema):
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                table = table.set_column(j, field, pc.utf8_slice_codeunits(table.column(j), 0, limit))
        self.values = table.combine_chunks()

    def _fields(self) -> dict[str, Any]:
        if "_blob" not in vars(self):
            self._blob = _to_bytes(self._table)
        return {"_blob": self._blob}

    def __deepcopy__(self, memo: dict[int, Any]) -> "TableRows":
        same = object.__new__(TableRows)
        vars(same).update(vars(self))  # neither tables nor bytes are ever changed in place
        return same


def _plain(table: Any) -> Any:
    """A table without dictionaries, which would keep the values of all rows ever seen."""
    import pyarrow as pa

    fields = [pa.field(field.name, _value_type(field.type), metadata=field.metadata) for field in table.schema]
    return table.cast(pa.schema(fields))


def _value_type(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def _wide_enough(table: Any, other: Any) -> Any:
    """A schema for the cells of two tables: gaps become anything, whole numbers fractions, all else text."""
    schema = table.schema
    for j, field in enumerate(schema):
        place = other.schema.get_field_index(field.name)
        if place >= 0 and other.schema.field(place).type != field.type:
            schema = schema.set(j, field.with_type(_common(table.column(j), other.column(place))))
    return schema


def _common(cells: Any, new: Any) -> Any:
    """The type that holds cells of two types; the first if there is none."""
    import pyarrow as pa

    kinds = cells.type, new.type
    if _is_text(kinds[0]) and not _is_text(kinds[1]):
        return kinds[0]
    try:
        both = [pa.schema([("cells", kind)]) for kind in kinds]
        kind = pa.unify_schemas(both, promote_options="permissive").field(0).type
        for column in (cells, new):
            column.cast(kind)  # floats can't hold large integers
        return kind
    except pa.ArrowException:
        simple = all(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or _is_text(kind) for kind in kinds)
        return pa.large_string() if simple else kinds[0]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _like(table: Any, schema: Any) -> Any:
    """A table with exactly these columns: cells that are missing or of another type become null or text."""
    import pyarrow as pa

    if table.schema.equals(schema, check_metadata=True):
        return table
    columns, there = [], set(table.column_names)
    for field in schema:
        if field.name not in there:
            columns.append(pa.nulls(len(table), field.type))
            continue
        column = table.column(field.name)
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException:
            columns.append(pa.nulls(len(table), field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _to_bytes(table: Any) -> np.ndarray:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _n_bytes(table: Any) -> int:
    """The length of `_to_bytes(table)`."""
    import pyarrow as pa

    batches = sum(pa.ipc.get_record_batch_size(batch) for batch in table.to_batches())
    return table.schema.serialize().size + batches + END_BYTES


def _from_bytes(blob: np.ndarray) -> Any:
    import pyarrow as pa

    from modicum._optional import require
    from modicum.exceptions import StateError

    require("pyarrow", "rows of tables")
    try:
        table = pa.ipc.open_stream(pa.py_buffer(blob.tobytes())).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StateError(f"the file has rows of a table that can't be read: {error}") from None
    return table
