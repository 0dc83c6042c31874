"""Fixtures of rows and items."""

from items import make_items, name, rows  # noqa: F401
