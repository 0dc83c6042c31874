"""Plans of tasks obey the laws of their scheme, and tasks are dealt to workers evenly."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from modicum.crowd.answers import Answers
from modicum.crowd.tasks import Plan, assign, random_plan
from modicum.exceptions import DataError

SIZES = [
    (2, 2, 1),
    (2, 2, 6),
    (3, 2, 1.5),
    (7, 7, 3),
    (20, 20, 6),
    (50, 2, 6),
    (50, 5, 20),
    (100, 20, 6),
    (101, 20, 2.5),
]


def table_of_counts(plan, n):
    return np.bincount(np.concatenate(plan.tasks), minlength=n)


def loads(plan, workers):
    given_to = np.concatenate(plan.workers).tolist()
    return [given_to.count(worker) for worker in workers]


# ---- random plans ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "size", "redundancy"), SIZES)
def test_a_random_plan_has_the_tasks_of_the_scheme(n, size, redundancy):
    plan = random_plan(n, size, redundancy, random_state=0)
    assert len(plan) == math.ceil(n * redundancy / size)
    for task in plan.tasks:
        assert len(task) == size == len(set(task.tolist()))
    assert table_of_counts(plan, n).min() >= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.data())
def test_any_sizes_give_whole_tasks_of_distinct_items(n, data):
    size = data.draw(st.integers(2, n))
    redundancy = data.draw(st.floats(1, 30))
    plan = random_plan(n, size, redundancy, random_state=1)
    assert {len(set(task.tolist())) for task in plan.tasks} == {size}
    assert table_of_counts(plan, n).min() >= 1


def test_items_are_dealt_in_their_order_first():
    plan = random_plan(list("abcdefghij"), task_size=4, redundancy=2, random_state=0)
    dealt = "".join("".join(task[:2]) for task in plan.tasks)
    assert dealt == "abcdefghij"


def test_the_rest_of_a_task_is_a_uniform_sample_of_the_other_items():
    n, size, redundancy, repeats = 23, 6, 2.5, 2000
    dealt, n_tasks = 3, 10
    counts = np.zeros(n)
    for seed in range(repeats):
        counts += table_of_counts(random_plan(n, size, redundancy, random_state=seed), n)
    own = np.bincount(np.arange(n_tasks * dealt) % n, minlength=n)
    chance = (size - dealt) / (n - dealt)
    expected = repeats * (own + (n_tasks - own) * chance)
    deviation = np.sqrt(repeats * (n_tasks - own) * chance * (1 - chance))
    bound = norm.isf(0.5e-6 / n)  # false alarms: at most one in a million
    assert (np.abs(counts - expected) < bound * deviation).all()
    assert counts.mean() / repeats == pytest.approx(redundancy, rel=size / (n * redundancy))  # for ceil(N V / M)


def test_items_are_numbers_or_names():
    assert {name for task in random_plan(30, 5, 2).tasks for name in task.tolist()} == set(range(30))
    assert random_plan(["a", "b", "c"], 2, 1).tasks[0].dtype.kind == "U"
    assert random_plan(np.array([7, 9]), 2, 1).tasks[0].tolist() == [7, 9]


def test_the_same_seed_gives_the_same_plan():
    one, two, other = (random_plan(40, 10, 3, random_state=seed).table()["item"] for seed in (5, 5, 6))
    assert (one == two).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((10, 11), "task_size must be at most the number of items, 10; got 11"),
        ((10, 1), "task_size must be an int of at least 2; got 1"),
        ((10, 2.5), "task_size must be an int of at least 2"),
        ((10, 5, 0.5), "redundancy must be a number from 1; got 0.5"),
        ((10, 5, math.nan), "redundancy must be"),
        ((1,), "items must be at least 2; got 1"),
        ((-3,), "items must be at least 2; got 0"),
        (("abc", 2), "items must be names or their number"),
        ((["a", "b", "a"], 2), "the item 'a' is given twice"),
        ((["a", None], 2), "an item of row 1 is missing"),
    ],
)
def test_impossible_plans_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words) as error:
        random_plan(*arguments)
    assert "random_plan" in str(error.value)


def test_a_seed_must_be_one():
    with pytest.raises(ValueError, match="random_state must be"):
        random_plan(10, 5, random_state="x")


# ---- tables ------------------------------------------------------------------------------------------


def test_a_table_has_a_row_for_each_item_of_each_task():
    plan = Plan((np.array(["a", "b"]), np.array(["b", "c", "d"])), first=4)
    assert len(plan) == 2
    assert plan.table()["task"].tolist() == [4, 4, 5, 5, 5]
    assert plan.table()["item"].tolist() == ["a", "b", "b", "c", "d"]


def test_a_table_of_an_assigned_plan_repeats_tasks_for_their_workers():
    plan = Plan((np.array(["a", "b"]), np.array(["b", "c", "d"])), (np.array([1]), np.array([2, 1])))
    rows = list(zip(*(plan.table()[name].tolist() for name in ("worker", "task", "item")), strict=True))
    slow = [
        (worker, number, item)
        for number, (task, workers) in enumerate(zip(plan.tasks, plan.workers, strict=True))
        for worker in workers.tolist()
        for item in task.tolist()
    ]
    assert rows == slow


def test_an_assigned_table_can_be_read_as_answers():
    table = assign(random_plan(30, 5, 3, random_state=0), ["x", "y", "z"], 2, random_state=0).table()
    answers = Answers(**table, group=np.zeros(len(table["item"]), np.int64))
    assert answers.n_answers == 2 * 18


def test_an_empty_plan_has_an_empty_table():
    assert len(assign(Plan(()), ["x"]).table()["item"]) == 0
    assert len(Plan(()).table()["task"]) == 0


# ---- workers -----------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 9), st.data())
def test_tasks_go_to_different_workers_evenly(n_tasks, n_workers, data):
    per_task = data.draw(st.integers(1, n_workers))
    plan = Plan(tuple(np.arange(3) + task for task in range(n_tasks)))
    assigned = assign(plan, range(n_workers), per_task, random_state=0)
    assert all(len(set(workers.tolist())) == per_task for workers in assigned.workers)
    assert max(loads(assigned, range(n_workers))) - min(loads(assigned, range(n_workers))) <= 1


def most_even(n_tasks, n_workers, per_task, seen):
    """The sorted loads of the best assignment, by trying all."""
    choices = [
        [who for who in itertools.combinations(range(n_workers), per_task) if not seen[task, list(who)].any()]
        for task in range(n_tasks)
    ]
    every = (
        sorted(np.bincount(np.concatenate(chosen), minlength=n_workers).tolist())
        for chosen in itertools.product(*choices)
    )
    return min(every, key=lambda found: sum(load**2 for load in found))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_with_tasks_done_before_loads_are_as_even_as_can_be(data):
    n_tasks, n_workers = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 4))
    per_task = data.draw(st.integers(1, 2))
    blocked = st.lists(st.booleans(), min_size=n_workers, max_size=n_workers)
    rows = [data.draw(blocked.filter(lambda row: row.count(False) >= per_task)) for _ in range(n_tasks)]
    seen = np.array(rows)
    task, worker = np.nonzero(seen)
    plan = Plan(tuple(np.arange(3) + task for task in range(n_tasks)), first=10)
    assigned = assign(plan, range(n_workers), per_task, done={"task": task + 10, "worker": worker}, random_state=0)
    for number, workers in enumerate(assigned.workers):
        assert len(set(workers.tolist())) == per_task
        assert not seen[number, workers].any()
    found = loads(assigned, range(n_workers))
    assert sum(load**2 for load in found) == sum(load**2 for load in most_even(n_tasks, n_workers, per_task, seen))


@pytest.mark.parametrize("form", ["answers", "plan", "table", "text"])
def test_no_worker_gets_a_task_again(form):
    workers = ["a", "b", "c", "d"]
    plan = random_plan(20, 4, 2, random_state=0)
    first = assign(plan, workers, 2, random_state=1)
    table = first.table()
    done = {
        "plan": first,
        "table": {name: table[name] for name in ("worker", "task")},
        "text": {"worker": table["worker"], "task": table["task"].astype(str)},
        "answers": Answers(**table, group=np.zeros(len(table["task"]), np.int64)),
    }[form]
    second = assign(plan, workers, 2, done=done, random_state=2)
    for before, after in zip(first.workers, second.workers, strict=True):
        assert sorted([*before.tolist(), *after.tolist()]) == workers


def repeated_pairs(plan):
    seen, repeats = set(), 0
    for task, workers in zip(plan.tasks, plan.workers, strict=True):
        for worker, pair in itertools.product(workers.tolist(), itertools.combinations(sorted(task.tolist()), 2)):
            repeats += (worker, pair) in seen
            seen.add((worker, pair))
    return repeats


def test_workers_seldom_see_a_pair_twice():
    tasks = tuple(np.arange(5) + 5 * block for block in (0, 1, 2) for _ in range(4))  # each of three tasks four times
    plan = assign(Plan(tasks), range(4), random_state=0)
    assert repeated_pairs(plan) == 0
    again = assign(Plan(tasks[:2], first=12), range(8), done=plan, random_state=0)
    assert min(np.concatenate(again.workers)) >= 4  # the others have seen all these pairs


def test_answers_of_others_and_to_other_tasks_forbid_nothing():
    plan = Plan((np.array(["x", "y"]),), first=3)
    done = {"worker": ["eve", "ann"], "task": ["3", "other"], "item": ["x", "z"]}
    assert assign(plan, ["ann"], done=done).workers[0].tolist() == ["ann"]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((["a", "b"], 3), {}, "3 answers per task need as many different workers; there are 2. Ask more workers"),
        ((["a", "b"], 0), {}, "answers_per_task must be a positive int; got 0"),
        ((["a", "a"],), {}, "the worker 'a' is given twice"),
        (([],), {}, "there are 0"),
        ((["a"],), {"done": {"worker": ["a"], "task": [1]}}, "1 of them had the task 1 before"),
        ((["a"],), {"done": {"worker": ["a"]}}, "with the columns worker and task"),
        ((["a"],), {"done": Plan((np.arange(2),))}, "with the columns worker and task"),
        ((["a"],), {"random_state": -1}, "random_state must be"),
    ],
)
def test_impossible_assignments_are_refused(arguments, options, words):
    with pytest.raises(ValueError, match=words) as error:
        assign(random_plan(10, 5, 2, random_state=0), *arguments, **options)
    assert str(error.value).startswith("assign: ")


def test_what_is_refused_as_data_is_a_data_error():
    with pytest.raises(DataError):
        assign(random_plan(4, 2), ["a", "a"])
    with pytest.raises(DataError):
        random_plan(["a", "a"], 2)


def test_the_plan_of_the_thesis_gives_all_workers_equally_many_tasks():
    plan = random_plan(1000, 20, 6, random_state=0)  # section 7.5.3, with ten workers for each task
    assigned = assign(plan, range(300), 10, random_state=0)
    assert set(loads(assigned, range(300))) == {10}
