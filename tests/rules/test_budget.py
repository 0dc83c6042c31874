"""Budgets, plans and sizes."""

import pytest

from modicum.exceptions import BudgetError
from modicum.rules.budget import Budget, Plan, as_budget, format_bytes


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


@pytest.mark.parametrize("nbytes", [999, 1000, 999.6 * 2**10, 1023.9 * 2**20, 999.9 * 2**30, 5 * 2**40, 12_345 * 2**40])
def test_sizes_as_text_can_be_parsed(nbytes):
    assert as_budget(format_bytes(nbytes)).nbytes == pytest.approx(nbytes, rel=0.005)


class TestRowsWithin:
    def test_a_number_of_rows_is_not_changed(self):
        assert Budget(rows=7).rows_within(10**9, fixed_bytes=10**9, at_least=7, what="It") == 7
        with pytest.raises(BudgetError, match="It needs a budget of at least 8 rows; got 7"):
            Budget(rows=7).rows_within(1, fixed_bytes=0, at_least=8, what="It")

    def test_bytes_are_divided(self):
        budget = Budget(nbytes=1000)
        assert budget.rows_within(30, fixed_bytes=100, at_least=1, what="It") == 30
        with pytest.raises(BudgetError, match=r"It needs a budget of at least 1\.04 KiB; got 1000 B"):
            budget.rows_within(30, fixed_bytes=100, at_least=32, what="It")  # 1,060 bytes


@pytest.mark.parametrize("needed", [1023, 1055, 10_999, 1_234_567, 99_999_999, 2**30 + 2**23, 1_023_800])
def test_the_size_in_the_error_is_sufficient(needed):
    with pytest.raises(BudgetError) as caught:
        Budget(nbytes=10).rows_within(needed, fixed_bytes=0, at_least=1, what="It")
    stated = str(caught.value).partition("at least ")[2].partition(";")[0]
    assert needed <= as_budget(stated).nbytes <= 1.02 * needed


class TestMostWithin:
    @pytest.mark.parametrize("limit", [9, 10, 99, 100, 12_345])
    def test_it_is_the_largest_that_fits(self, limit):
        n = Budget(nbytes=limit).most_within(lambda n: n * n, at_least=1, what="It")
        assert n * n <= limit < (n + 1) ** 2

    def test_too_small(self):
        with pytest.raises(BudgetError, match="It needs a budget of at least 25 B; got 24 B"):
            Budget(nbytes=24).most_within(lambda n: n * n, at_least=5, what="It")


class TestSplit:
    def sizes(self, budget, n, w, useful=100, at_least=1):
        """Sizes for a cost of 10 per row produced, 1 per validation row, and 5."""
        given = {"n_produced": n, "n_validation": w, "useful": useful, "at_least": at_least, "what": "It"}
        return budget.split(lambda n, w: Plan.of(10 * n + w + 5, all=10 * n + w + 5), **given)

    @pytest.mark.parametrize(
        ("bound", "n", "w", "expected"),
        [
            (None, 7, None, (7, 100)),
            (None, 7, 30, (7, 30)),
            (90, 7, None, (7, 15)),  # what is left
            (900, 7, None, (7, 100)),  # no more than is useful
            (96, None, 11, (8, 11)),
            (1000, None, None, (89, 100)),
            (100, None, None, (6, 35)),  # half for the validation rows, beside one row produced
            (16, 1, None, (1, 1)),
        ],
    )
    def test_what_is_given_or_fits(self, bound, n, w, expected):
        for budget in (Budget(rows=bound), Budget(nbytes=bound)):
            assert self.sizes(budget, n, w) == expected

    def test_no_fewer_validation_rows_than_asked_for(self):
        assert self.sizes(Budget(), 7, None, useful=2, at_least=5) == (7, 5)
        assert self.sizes(Budget(rows=80), 7, None, useful=2, at_least=5) == (7, 5)
        assert self.sizes(Budget(rows=60), None, None, at_least=20) == (3, 20)
        with pytest.raises(BudgetError, match="It needs a budget of at least 80 rows; got 79 rows"):
            self.sizes(Budget(rows=79), 7, None, at_least=5)

    def test_the_largest_sizes_are_found_exactly(self):
        for bound in range(15, 200):
            n, _ = self.sizes(Budget(rows=bound), None, 0)
            assert 10 * n + 5 <= bound < 10 * (n + 1) + 5

    @pytest.mark.parametrize(("n", "w", "needed"), [(3, 8, 43), (3, None, 36), (None, 20, 35)])
    def test_errors_say_what_is_needed(self, n, w, needed):
        with pytest.raises(BudgetError, match=f"It needs a budget of at least {needed} rows; got 30 rows"):
            self.sizes(Budget(rows=30), n, w)
        with pytest.raises(BudgetError, match=f"It needs a budget of at least {needed} B; got 30 B"):
            self.sizes(Budget(nbytes=30), n, w)


def test_no_budget_has_no_bounds():
    assert as_budget(None) == Budget()
    assert str(as_budget(None)) == "no budget"
    assert [str(as_budget(budget)) for budget in (1200, "1 KiB")] == ["1,200 rows", "1 KiB"]


def test_a_plan_adds_up():
    plan = Plan.of(1200, kept_rows=2048, history=100.0)
    assert plan.nbytes == 2148
    assert str(plan).splitlines() == ["1,200 rows kept, 2.1 KiB in all", "  kept rows: 2 KiB", "  history: 100 B"]
