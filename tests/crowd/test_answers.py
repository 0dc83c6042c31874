"""Answers, pairs, names and labels against loops in plain Python."""

import itertools

import numpy as np
import pytest

from modicum.crowd.answers import Answers
from modicum.crowd.labels import PairLabels
from modicum.crowd.names import as_names, united
from modicum.crowd.pairs import as_pairs
from modicum.exceptions import DataError


def random_answers(rng, n_answers=8):
    rows = []
    for number in range(n_answers):
        for item in rng.choice(9, rng.integers(1, 6), replace=False):
            rows.append((f"w{number % 3}", number // 2, f"i{item}", rng.integers(3)))
    rng.shuffle(rows)
    return Answers(*(as_names(column, "") for column in zip(*rows, strict=True)))


def named(pairs):
    """The labels of pairs by name, in any order."""
    return sorted(
        (*sorted([str(pairs.items[a]), str(pairs.items[b])]), str(pairs.workers[j]), float(label))
        for a, b, j, label in zip(pairs.first, pairs.second, pairs.worker, pairs.label, strict=True)
    )


def test_pairs_of_answers_are_those_of_a_loop(rng):
    answers = random_answers(rng)
    expected = []
    rows = list(zip(answers.worker, answers.task, answers.item, answers.group, strict=True))
    for (w, t, a, g), (v, s, b, h) in itertools.combinations(rows, 2):
        if (w, t) == (v, s):
            expected.append((*sorted([str(a), str(b)]), str(w), 1.0 if g == h else -1.0))
    pairs = answers.pairs()
    assert named(pairs) == sorted(expected)
    for number in np.unique(pairs.answer):  # an answer is of one worker
        assert len(np.unique(pairs.worker[pairs.answer == number])) == 1
    assert len(np.unique(pairs.answer)) == sum(1 for n in np.bincount(answers.numbers()) if n > 1)


def test_an_item_twice_in_an_answer_is_refused():
    with pytest.raises(DataError, match="'ann' has the item 'cat' twice in the task 7"):
        Answers(*(np.array(column) for column in (["ann"] * 2, [7, 7], ["cat", "cat"], [1, 2])))


def test_labels_are_united_by_name(rng):
    first, second = random_answers(rng).pairs(), random_answers(rng, 12).pairs()
    both = PairLabels(first).with_more(second)
    assert named(both) == sorted(named(first) + named(second))
    assert both.items[: len(first.items)].tolist() == first.items.tolist()
    assert len(np.unique(both.answer)) == len(np.unique(first.answer)) + len(np.unique(second.answer))


def test_names_of_different_kinds_are_not_mixed():
    with pytest.raises(DataError, match="items are named by texts here; earlier ones were named by numbers"):
        united(np.array([1, 2]), np.array(["1"]), "items")


@pytest.mark.parametrize(
    ("given", "expected"),
    [([3.0, 4.0], [3, 4]), (["007", 7], ["007", "7"]), ([True, 1], ["True", "1"]), (np.array([2, 1]), [2, 1])],
)
def test_names_are_whole_numbers_or_texts(given, expected):
    assert as_names(given, "item").tolist() == expected


@pytest.mark.parametrize("hole", [None, "", float("nan")])
def test_a_missing_name_is_refused(hole):
    with pytest.raises(DataError, match="an item of row 1 is missing"):
        as_names(["a", hole], "an item")


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([(0, 1)], [1], r"rows of \(item, item, worker\)"),
        ([(0, 1, 0)], None, "labels are missing"),
        ([(0, 1, 0)], [1, -1], "1 pairs need as many labels"),
        ([(0, 1, 0), (1, 2, 0)], [1, 0], "the label of row 1 must be"),
        ([(0, 1, 0)], ["yes"], r"must be \+1 or -1; got 'yes'"),
        ([(0, 1, 0)], [True], r"must be \+1 or -1; got .*True"),
        ([(0, 1, 0), (2, 2, 0)], [1, 1], "row 1 pairs the item 2 with itself"),
        ([(0, np.nan, 0)], [1], "an item of row 1 is missing"),
    ],
)
def test_pairs_are_checked(rows, labels, message):
    with pytest.raises(DataError, match=message):
        as_pairs("Crowd", rows, labels)


def test_pairs_of_weight_zero_are_absent():
    found = as_pairs("Crowd", [(0, 1, 0), (1, 2, 0)], [1, -1], [0, 2.5])
    assert found.label.tolist() == [-2.5]
