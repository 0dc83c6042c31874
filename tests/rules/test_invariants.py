"""Rules of invariants: what they accept, and how errors name what they do not."""

import numpy as np
import pytest
from scipy import sparse

from modicum.rules.invariants import (
    ABSENT,
    NOTHING,
    TEXT,
    AbsentWhile,
    Array,
    Each,
    Is,
    Keyed,
    Real,
    Scope,
    Sparse,
    Violation,
    Whole,
    check_compressed,
    check_invariants,
    check_rule,
    invariants_of,
)
from modicum.rules.params import NULL
from modicum.state.part import Part


def holds(rule, value, owner=None, **sizes):
    try:
        check_rule(rule, value, Scope(owner, sizes))
    except Violation:
        return False
    return True


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (Whole(), [0, 3, np.int64(3)], [-1, 1.0, True, None, "3", 2**63, NOTHING]),
        (Whole(2, "n"), [2, 5], [1, 6]),
        (Real(), [0, -1.5, np.float32(2)], [np.nan, np.inf, True, None, "1"]),
        (Real(0.0, finite=False), [0.0, np.inf], [-1e-300, np.nan]),
        (Real(above=0.0), [1e-300], [0.0]),
        (Array("float64", 2), [np.zeros(2)], [np.zeros(3), np.zeros((2, 1)), np.zeros(2, "f4"), [0.0, 0.0], None]),
        (Array("int64", None, low=0, below="n"), [np.array([0, 4]), np.empty(0, int)], [np.array([5]), np.array([-1])]),
        (Array("float64", "n", "n"), [np.eye(5)], [np.eye(4), np.ones((5, 4)), np.full((5, 5), np.nan)]),
        (Array("float64", None, finite=False), [np.array([np.nan])], []),
        (
            Array("int64", None, rising=True),
            [np.array([0, 2, 3])],
            [np.array([0, 2, 2]), np.array([1, 2]), np.empty(0, int)],
        ),
        (Array(("i", "U"), None), [np.array(["a"]), np.array([1])], [np.array([1.5])]),
        (Sparse(2, 2, "float64"), [sparse.csr_matrix(np.eye(2))], [np.eye(2), sparse.csr_matrix(np.eye(3))]),
        (Each(Whole(), low=1), [[1, 2]], [[], [1, "x"], (1, 2), None]),
        (Each(TEXT, "n"), [list("abcde")], [list("abc")]),
        (Keyed(a=Whole(), b=TEXT), [{"a": 1, "b": ""}], [{"a": 1}, {"a": 1, "b": "", "c": 2}, 3]),
        ([NULL, Whole(1)], [None, 1], [0, "x", NOTHING]),
        ([ABSENT, Whole(1)], [NOTHING, 1], [0, None]),
        ([AbsentWhile(lambda its: its["n"] > 4), Whole(1)], [NOTHING, 1], [0]),
        (AbsentWhile(lambda its: its["n"] > 5), [], [NOTHING, 1]),
    ],
)
def test_rules(rule, good, bad):
    for value in good:
        assert holds(rule, value, n=5), value
    for value in bad:
        assert not holds(rule, value, n=5), value


def test_a_size_is_fixed_where_it_first_occurs():
    scope = Scope(None, {})
    check_rule(Array("float64", "n"), np.zeros(3), scope)
    check_rule(Array("float64", "n", "m"), np.zeros((3, 2)), scope)
    with pytest.raises(Violation, match="of size 3; got 4"):
        check_rule(Array("float64", "n"), np.zeros(4), scope)


def test_alternatives_that_fail_fix_nothing():
    scope = Scope(None, {})
    check_rule([Array("float64", "n", "n"), Array("float64", "m")], np.zeros(3), scope)
    assert scope.sizes == {"m": 3}


class Pile(Part):
    _invariants = {"n": Whole(), "rows": Array("float64", "n", "width")}

    def __init__(self, rows):
        self.rows, self.n = rows, len(rows)


class Tower(Part):
    _invariants = {"piles": Each(Is(Pile, width="width"), "count"), "top": Is(Pile, at_most={"n": 2}, width="width")}

    def __init__(self, *piles):
        *self.piles, self.top = piles


class HighTower(Tower):
    _invariants = {"name": TEXT}

    def __init__(self, *piles):
        super().__init__(*piles)
        self.name = "high"


def pile(n=1, width=3):
    return Pile(np.zeros((n, width)))


def test_sizes_are_tied_between_parts():
    assert check_invariants(Tower(pile(5), pile(4), pile(2)), {})["width"] == 3
    for bad, match in (
        (Tower(pile(5), pile(4, width=2), pile(2)), r"piles\.1\.rows must be of size 3; got 2"),
        (Tower(pile(5), pile(3)), "top must be at most 2"),
        (Tower(pile(5), "x"), "top must be a Pile; got a str"),
    ):
        with pytest.raises(Violation, match=match):
            check_invariants(bad, {})


def test_an_attribute_that_is_a_size_must_be_it():
    bad = pile(4)
    bad.n = 10**6
    with pytest.raises(Violation, match="must be of size 1000000; got 4"):
        check_invariants(bad, {})
    with pytest.raises(Violation, match="n must be of size 4; got 1000000"):
        check_invariants(bad, {"n": 4})


def test_a_class_inherits_invariants():
    assert set(invariants_of(HighTower)) == {"piles", "top", "name"}
    check_invariants(HighTower(pile(2), pile(1)), {})


def test_undeclared_attributes_are_refused():
    tower = Tower(pile(1))
    tower.check = 2
    with pytest.raises(Violation, match="without 'check', which Tower does not declare"):
        check_invariants(tower, {})


@pytest.mark.parametrize("indptr", [[0, 2, 1, 3], [0, 2, 3, 0], [0, 2, 3, -5], [0, 4, 3, 0]])
def test_row_pointers_of_a_sparse_matrix(indptr):
    """scipy does not look at them if the last one says that there are no entries."""
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indptr = np.array(indptr, np.int32)
    with pytest.raises(ValueError, match="indptr"):
        check_compressed(matrix)
