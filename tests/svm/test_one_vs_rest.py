"""Classes that appear late get the machines they would have had if announced."""

import numpy as np
import pytest

from modicum import state
from modicum.svm.ball import Ball
from modicum.svm.balls import Balls
from modicum.svm.ellipsoid import Diagonal, Full
from modicum.svm.intercept import WithIntercept
from modicum.svm.one_vs_rest import OneVsRest

MACHINES = {
    "full": lambda: Full(3),
    "diagonal": lambda: Diagonal(3),
    "ball": lambda: Ball(3, 4),
    "first ball": lambda: Ball(3, 1),
    "balls": lambda: Balls(3, 3),
    "with intercept": lambda: WithIntercept(Ball(3, 2)),
}
STARTS = {2: [0, 20], 3: [0, 20, 45], 4: [0, 20, 45, 70]}  # the row from which on a class may come


def data(n_classes, count=120, seed=0):
    """Rows and codes; a class does not occur before its first row."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, 3))
    codes = (Z @ rng.normal(size=(3, n_classes))).argmax(axis=1)
    for code, start in enumerate(STARTS[n_classes]):
        codes[:start] = np.where(codes[:start] == code, 0, codes[:start])
        codes[start] = code
    return Z, codes, rng.uniform(0.5, 2.0, size=count)


def late(make, Z, codes, cost):
    """Classes are added as they occur."""
    machines = OneVsRest(make())
    for i in range(len(codes)):
        while codes[i] >= machines.n_classes:
            machines.add_class()
        machines.learn(Z[i : i + 1], codes[i : i + 1], cost[i : i + 1])
    return machines


def announced(make, Z, codes, cost, n_classes):
    machines = OneVsRest(make())
    for _ in range(n_classes):
        machines.add_class()
    machines.learn(Z, codes, cost)
    return machines


def alone(make, Z, codes, cost, code):
    """A single machine for one class."""
    machine = make()
    machine.learn(Z, np.where(codes == code, 1.0, -1.0), cost)
    return machine


def bits(machine):
    return state.to_bytes({"machine": machine})


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_a_late_class_is_learned_as_if_announced(make, n_classes):
    rows = data(n_classes)
    machines, twin = late(make, *rows), announced(make, *rows, n_classes)
    positive = [1] if n_classes == 2 else range(n_classes)
    assert len(machines.machines) == len(twin.machines) == len(positive)
    for mine, its, code in zip(machines.machines, twin.machines, positive, strict=True):
        np.testing.assert_array_equal(mine.coef, its.coef)
        np.testing.assert_array_equal(mine.coef, alone(make, *rows, code).coef)
        assert mine.n_core == its.n_core
    np.testing.assert_array_equal(machines.unseen.coef, alone(make, *rows, -1).coef)
    np.testing.assert_array_equal(machines.decide(rows[0]), twin.decide(rows[0]))


def test_decisions_are_those_from_before():
    Z, codes, cost = data(3)
    machines = OneVsRest(Full(3))
    for _ in range(3):
        machines.add_class()
    decisions = machines.learn(Z, codes, cost)
    for code in range(3):
        np.testing.assert_array_equal(decisions[:, code], Full(3).learn(Z, np.where(codes == code, 1.0, -1.0), cost))


def test_one_class_has_only_the_machine_for_unseen_classes():
    Z, _, cost = data(2)
    machines = OneVsRest(Full(3))
    machines.add_class()
    assert machines.learn(Z, np.zeros(120, int), cost).shape == (120, 0)
    assert machines.machines == []
    assert len(machines.all()) == 1
    np.testing.assert_array_equal(machines.decide(Z), np.zeros((120, 1)))


def test_closing_removes_the_machine_for_unseen_classes():
    rows = data(3)
    machines = announced(lambda: Full(3), *rows, 3)
    before = [bits(machine) for machine in machines.machines]
    machines.close()
    assert len(machines.all()) == 3
    machines.learn(*rows)
    assert [bits(machine) for machine in machines.machines] != before


@pytest.mark.parametrize("n_classes", [2, 3])
def test_initialising_is_learning_all_rows_together(n_classes):
    rows = data(n_classes)
    machines = late(lambda: Ball(3, 2), *rows)
    machines.initialize(*rows)
    for machine, code in zip(machines.machines, [1] if n_classes == 2 else range(3), strict=True):
        twin = Ball(3, 2)
        twin.initialize(rows[0], np.where(rows[1] == code, 1.0, -1.0), rows[2])
        np.testing.assert_array_equal(machine.coef, twin.coef)
    twin.initialize(rows[0], np.full(120, -1.0), rows[2])
    np.testing.assert_array_equal(machines.unseen.coef, twin.coef)


def sides(make, ours, theirs):
    """Two sides over classes 0, 1, 2, ...: their labels in the order of first occurrence, which are their codes."""
    rng = np.random.default_rng(3)
    made = []
    for labels in (ours, theirs):
        Z, cost = rng.normal(size=(60, 3)), rng.uniform(0.5, 2.0, size=60)
        y = np.concatenate([labels, rng.choice(labels, 60 - len(labels))])
        made.append((late(make, Z, np.array([labels.index(label) for label in y]), cost), (Z, y, cost)))
    return made


@pytest.mark.parametrize("make", [MACHINES["full"], MACHINES["ball"], MACHINES["with intercept"]])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([0, 1], [0, 1]),
        ([0, 1], [1, 0]),
        ([0, 1, 2], [2, 0, 1]),
        ([0], [0]),
        ([0], [1]),
        ([0, 1], [1]),
        ([0, 1], [0]),
        ([0, 1], [1, 2]),
        ([0, 1], [2, 3]),
        ([0, 1, 2], [2, 1]),
        ([0, 1, 2], [3]),
        ([0], [2, 1, 0]),
    ],
)
def test_merging_is_merging_the_machine_of_each_class(make, ours, theirs):
    (mine, our_rows), (other, their_rows) = sides(make, ours, theirs)
    before = bits(other)
    all_labels = list(dict.fromkeys([*ours, *theirs]))
    for _ in all_labels[len(ours) :]:
        mine.add_class()
    mine.merge(other, np.array([all_labels.index(label) for label in theirs]))
    positive = all_labels[1:2] if len(all_labels) == 2 else all_labels if len(all_labels) > 2 else []
    assert len(mine.machines) == len(positive)
    for machine, label in zip([*mine.machines, mine.unseen], [*positive, -1], strict=True):
        twin = alone(make, *our_rows, label)
        twin.merge(alone(make, *their_rows, label))
        np.testing.assert_allclose(machine.coef, twin.coef, rtol=1e-9, atol=1e-12)
        assert machine.n_core == twin.n_core
    assert bits(other) == before
