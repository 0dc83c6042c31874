"""Budgets and sizes."""

import pytest

from modicum.exceptions import BudgetError
from modicum.rules.budget import Budget, as_budget, format_bytes


@pytest.mark.parametrize(
    ("text", "nbytes"), [("64 MiB", 64 * 2**20), ("1.5GB", 1_500_000_000), ("900 B", 900), (" 2 kib ", 2048)]
)
def test_sizes(text, nbytes):
    assert as_budget(text) == Budget(nbytes=nbytes)


@pytest.mark.parametrize("bad", ["64", "MiB", "0 B", "-3 MiB", "", 0, -5, 2.5, True])
def test_errors_about_budgets_show_what_is_expected(bad):
    with pytest.raises(BudgetError, match="64 MiB"):
        as_budget(bad)


def test_sizes_as_text():
    assert [format_bytes(n) for n in (0, 1023, 1024, 5 * 2**20, 3 * 2**30)] == [
        "0 B",
        "1023 B",
        "1 KiB",
        "5 MiB",
        "3 GiB",
    ]
