"""Tables for other programs: CSV, JSON and Parquet."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modicum._optional import require

Columns = Mapping[str, Sequence[Any]]
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets compute cells that begin so


def cluster_columns(findings: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The cluster of each item and its probability: cluster by cluster, the surest items first."""
    rows = sorted(findings["items"], key=lambda item: (item["cluster"], -item["sure"]))
    names = {"item": "name", "cluster": "cluster", "probability": "sure"}
    return {column: [row[name] for row in rows] for column, name in names.items()}


def without_formulas(columns: Columns) -> dict[str, list[Any]]:
    """Columns in which texts that spreadsheets would take for formulas have a ' before them."""
    return {name: [_harmless(cell) for cell in cells] for name, cells in columns.items()}


def as_written(cell: str) -> str:
    """A text without the ' that `without_formulas` put before it.

    >>> as_written("'=1+1"), as_written("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULAS) else cell


def as_csv(columns: Columns) -> bytes:
    """A table with commas, without formulas."""
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(columns)
    table.writerows(zip(*without_formulas(columns).values(), strict=True))
    return out.getvalue().encode()


def as_json(columns: Columns) -> bytes:
    """A list with an object for each row, one on a line."""
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return ("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n").encode()


def as_parquet(columns: Columns) -> bytes:
    table = require("pyarrow", "Parquet").table(dict(columns))
    out = io.BytesIO()
    require("pyarrow.parquet", "Parquet").write_table(table, out)
    return out.getvalue()


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell


FORMATS: dict[str, tuple[str, Callable[[Columns], bytes]]] = {  # by ending
    "csv": ("text/csv; charset=utf-8", as_csv),
    "json": ("application/json", as_json),
    "parquet": ("application/vnd.apache.parquet", as_parquet),
}
