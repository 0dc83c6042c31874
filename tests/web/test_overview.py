"""What an overview counts, against loops that count one by one."""

import itertools
import re
import time

import numpy as np
import pytest
from scipy.stats import binom

from modicum.crowd import as_answers, random_plan
from modicum.crowd.answers import Answers
from modicum.web.overview import (
    FEWEST_ASKED,
    WorkerFacts,
    _by_gold,
    _measuring,
    agreements,
    known_pairs,
    measured,
    median_sorted,
    overview,
    progress,
)
from modicum.web.store import Project, work
from projects import do_task, pictures


def random_answers(rng, n_items=8, n_workers=4, n_answers=10, size=5):
    rows = []
    for answer in range(n_answers):
        worker = int(rng.integers(n_workers))
        for item in rng.choice(n_items, size, replace=False).tolist():
            rows.append((worker, answer, item, int(rng.integers(3))))
    return Answers(*np.array(rows, np.int64).T)


def labels_of(answers):
    """(worker, pair, together) one by one."""
    rows = list(
        zip(answers.worker.tolist(), answers.task.tolist(), answers.item.tolist(), answers.group.tolist(), strict=True)
    )
    for (w, t, a, g), (v, s, b, h) in itertools.combinations(rows, 2):
        if (w, t) == (v, s):
            yield w, frozenset((a, b)), g == h


def two_loops(answers, worker):
    """Agreement and kappa of a worker."""
    labels = list(labels_of(answers))
    shares, said, heard = [], [], []
    for who, pair, together in labels:
        others = [other for v, p, other in labels if v != worker and p == pair]
        if who == worker and others:
            shares.append(np.mean([other == together for other in others]))
            said.append(together)
            heard.append(np.mean(others))
    if not shares:
        return None, None
    p, q = np.mean(said), np.mean(heard)
    chance = p * q + (1 - p) * (1 - q)
    return np.mean(shares), (np.mean(shares) - chance) / (1 - chance) if chance < 1 else None


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_that_of_two_loops(seed):
    answers = random_answers(np.random.default_rng(seed))
    pairs = answers.pairs()
    for worker, found in zip(pairs.workers.tolist(), agreements(pairs), strict=True):
        expected = two_loops(answers, worker)
        assert found == tuple(None if value is None else pytest.approx(value) for value in expected)


def test_nobody_agrees_alone_and_one_group_agrees_by_chance():
    alone = Answers(*np.array([[0, 0, 0, 0], [0, 0, 1, 1]], np.int64).T)
    assert agreements(alone.pairs()) == [(None, None)]
    half = [(0, 0, item, item % 2) for item in range(4)] + [(1, 1, item, 0) for item in range(4)]
    share, kappa = agreements(Answers(*np.array(half, np.int64).T).pairs())[1]
    assert share == pytest.approx(1 / 3)
    assert kappa == pytest.approx(0)


def test_known_pairs_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    answers = random_answers(rng)
    known = [(0, 1, True), (5, 2, False), (3, 4, True), (6, 99, True)]  # nobody has seen 99
    pairs = answers.pairs()
    truth = {frozenset((a, b)): same for a, b, same in known}
    for worker, found in zip(pairs.workers.tolist(), known_pairs(pairs, known), strict=True):
        right = [truth[p] == together for w, p, together in labels_of(answers) if w == worker and p in truth]
        assert found == (sum(right), len(right))
    assert known_pairs(pairs, []) == [(0, 0)] * len(pairs.workers)


# ---- a project -------------------------------------------------------------------------------------------


def by_parity(shown):
    return [{"id": k + 1, "name": "", "items": [item for item in shown if item % 2 == k]} for k in (0, 1)]


def in_one(shown):
    return [{"id": 1, "name": "all", "items": shown}]


def few(shown):
    return [{"id": 1, "name": "", "items": shown[:2]}]


def test_an_empty_project(project):
    now = overview(project)
    assert (now.n_items, now.n_tasks, now.n_wanted, now.n_answers, now.n_open) == (12, 6, 12, 0, 0)
    assert now.n_unsorted == 12
    assert now.bars == [("0", 12)]
    assert [who.seconds for who in now.workers] == [None] * 3


def test_counts(project, people):
    mine = do_task(project, people["ann"], by_parity, seconds=20.0, comment="hm")
    do_task(project, people["bob"], few)
    with project.changing() as connection:
        work.take_task(connection, people["eve"].id)
    now = overview(project)
    ann, bob, eve = now.workers
    assert (now.n_answers, now.n_wanted_done, now.n_open) == (2, 2, 1)
    assert now.per_item.sum() == 6
    assert sum(n for _, n in now.bars) == 12
    assert (ann.n_answers, ann.n_items, ann.n_moves, ann.n_comments) == (1, 4, 1, 1)
    assert ann.seconds == 20.0 / len(mine.shown)
    assert (ann.left_out, bob.left_out, eve.left_out) == (0.0, 0.5, None)
    assert eve.n_open == 1


def test_imported_answers_are_no_answers_that_were_wanted(project):
    rows = [("zoe", "t", f"picture {k}.png", str(k % 2)) for k in range(1, 5)]
    project.add_answers(as_answers(rows))
    now = overview(project)
    assert (now.n_answers, now.n_wanted_done, now.share) == (1, 0, 0.0)
    assert (now.n_imported, now.n_elsewhere, now.n_invited) == (1, 1, 3)
    assert now.workers[-1].seconds is None  # nobody measured them


def test_progress_is_that_of_the_overview(project, people):
    assert set(progress(project).shown.values()) == {"0", "0% done", "0 workers", "12", "3", "0.00"}
    rows = [(who, task, f"picture {k}.png", str(k % 2)) for k in range(1, 5) for who in "yz" for task in "stu"]
    project.add_answers(as_answers(rows))
    do_task(project, people["ann"], by_parity)
    with project.changing() as connection:
        for name in ("ann", "bob"):
            work.take_task(connection, people[name].id)
    now = progress(project)
    assert vars(now).items() <= vars(overview(project)).items()
    assert (now.n_answers, now.n_imported, now.n_elsewhere) == (7, 6, 2)
    assert now.shown == {
        "done": "1",
        "share": "8.3% done",
        "open": "2",
        "busy": "2 workers",
        "left": "9",
        "invited": "3",
        "filled": "8.33",
        "going": "25.00",
    }


def test_how_often_the_median_item_was_sorted_before_a_fit(project, people):
    moments = [time.time()]
    for name in people:
        while do_task(project, people[name], by_parity) is not None:
            pass
        moments.append(time.time())
    expected = [0.0, 2.0, 4.0]  # each item is in two tasks, which take two answers
    assert [median_sorted(project, moment) for moment in moments[:3]] == expected
    assert overview(project).median == expected[-1]


def test_answers_are_measured_once(project, people):
    do_task(project, people["ann"], by_parity)
    assert measured(project, 1) is measured(project, 1)
    assert measured(project, 1).by_worker.keys() == {people["ann"].id}


@pytest.fixture
def watched(tmp_path):
    """Eight workers with habits; of 40 pictures, pairs of the same and of different parity are known."""
    names = [f"picture {number}.png" for number in range(1, 41)]
    gold = [(names[0], names[2], True), (names[1], names[3], True), (names[0], names[1], False)]
    made = Project.create(tmp_path / "w.crowd", pictures(40), title="", instruction="", pairs=gold)
    made.add_plan(random_plan(made.item_names(), 10, 8, random_state=0), 8)
    people = {row.name: row for row in made.invite(["a", "b", "c", "d", "slow", "fast", "one", "out"])}
    habits = {"slow": (by_parity, 500.0), "fast": (by_parity, 5.0), "one": (in_one, 50.0), "out": (few, 50.0)}
    for _ in range(6):
        for name, person in people.items():
            do_task(made, person, *habits.get(name, (by_parity, 50.0)))
    yield made
    made.close()


def kinds(now):
    return {who.name: [flag.kind for flag in who.flags] for who in now.workers}


def test_flags(watched):
    now = overview(watched)
    found = kinds(now)
    assert found["slow"] == ["slow"]
    assert found["fast"] == ["fast"]
    assert found["out"] == ["one group", "leaves out"]
    assert not any(found[name] for name in "abcd")
    assert "one group" in found["one"]
    words = next(flag.words for who in now.workers for flag in who.flags if flag.kind == "slow")
    assert re.fullmatch(r"[\d.]+ s per item; the median worker needs [\d.]+ s", words)


@pytest.mark.parametrize(("right", "asked"), [(2, 10), (10, 10), (0, 4), (5, 10), (4, 10), (60, 100), (75, 100)])
def test_known_pairs_are_judged_by_the_binomial_law(right, asked):
    who = WorkerFacts(1, "a", None, True, n_known=asked, n_right=right)
    is_flagged = bool(_by_gold(who))
    assert is_flagged == (asked >= FEWEST_ASKED and binom.cdf(right, asked, 0.8) < 0.01)


def test_known_pairs_in_a_project(watched):
    who = {who.name: who for who in overview(watched).workers}
    assert who["a"].n_right == who["a"].n_known > 0  # by parity, as it is known
    assert who["one"].n_right < who["one"].n_known


def test_what_a_fit_says_of_workers(watched):
    found = {
        "workers": [
            {"name": "a", "kind": "adversarial", "reliability": -0.4},
            {"name": "b", "kind": "usual", "reliability": 0.9},
        ]
    }
    now = overview(watched, found)
    assert kinds(now)["a"] == ["adversarial"]
    assert [who.reliability for who in now.workers[:3]] == [-0.4, 0.9, None]


def test_one_answer_is_too_little_to_be_slow(project, people):
    for name, seconds in (("ann", 1000.0), ("bob", 1.0), ("eve", 1.0)):
        do_task(project, people[name], by_parity, seconds=seconds)
    assert not any(kinds(overview(project)).values())


def test_pages_do_not_wait_for_one_that_measures(project, people):
    """What they show is a moment old then."""
    do_task(project, people["ann"], lambda shown: [{"id": 1, "name": "", "items": shown}])
    before = overview(project)
    do_task(project, people["bob"], lambda shown: [{"id": 1, "name": "", "items": shown}])
    with _measuring:
        during = overview(project)
    assert during.per_item.tolist() == before.per_item.tolist()
    assert during.n_answers == 2
    assert overview(project).per_item.sum() == 2 * before.per_item.sum()
