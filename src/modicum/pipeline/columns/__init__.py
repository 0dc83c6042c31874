"""How columns of a table become numbers: one file per kind of column."""

from modicum.pipeline.columns.boolean import Boolean
from modicum.pipeline.columns.category import Category
from modicum.pipeline.columns.column import Column
from modicum.pipeline.columns.image import Image
from modicum.pipeline.columns.number import Number
from modicum.pipeline.columns.text import Text
from modicum.pipeline.columns.time import Time

KINDS: dict[str, type[Column]] = {cls.kind: cls for cls in (Number, Boolean, Category, Time, Text, Image)}

__all__ = ["KINDS", "Boolean", "Category", "Column", "Image", "Number", "Text", "Time"]
