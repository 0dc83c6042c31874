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


class TestRowsBeside:
    def rows(self, budget, asked=None, useful=100):
        return as_budget(budget).rows_beside(
            20, asked, useful=useful, at_least=5, bytes_of=lambda n: 1000 + 10 * n, what="It"
        )

    @pytest.mark.parametrize("budget", [None, 80, "2000 B"])
    def test_those_asked_for(self, budget):
        assert self.rows(budget, asked=60) == 60

    def test_by_default_those_that_are_useful_and_fit(self):
        assert self.rows(None) == 100
        assert self.rows(500) == 100
        assert self.rows(70) == 50
        assert self.rows("1500 B") == 50
        assert self.rows("1 MiB") == 100
        assert self.rows(None, useful=2) == 5

    @pytest.mark.parametrize(
        ("budget", "asked", "needed"), [(24, None, "25 rows"), (70, 60, "80 rows"), ("1040 B", None, "1.03 KiB")]
    )
    def test_errors_say_what_is_needed(self, budget, asked, needed):
        with pytest.raises(BudgetError, match=f"It needs a budget of at least {needed}; got"):
            self.rows(budget, asked)


def test_no_budget_has_no_bounds():
    assert as_budget(None) == Budget()
    assert str(as_budget(None)) == "no budget"
    assert [str(as_budget(budget)) for budget in (1200, "1 KiB")] == ["1,200 rows", "1 KiB"]


def test_a_plan_adds_up():
    plan = Plan.of(1200, kept_rows=2048, history=100.0)
    assert plan.nbytes == 2148
    assert str(plan).splitlines() == ["1,200 rows kept, 2.1 KiB in all", "  kept rows: 2 KiB", "  history: 100 B"]
