"""The tournament: when entrants are ranked and dropped, and that they do not affect each other."""

import numpy as np
import pytest

from modicum.svm import StreamSVC, suggest_C
from modicum.svm.ellipsoid import Full
from modicum.svm.inputs import Inputs
from modicum.svm.one_vs_rest import OneVsRest
from modicum.svm.tournament import FIRST_CUT, Entrant, Tournament

COSTS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def inputs(center=False):
    return Inputs(2, center=center, scale=False, normalize=False, constant=0.0)


def tournament(costs=COSTS, *, eliminate=True, steps=1):
    entrants = [Entrant(i, C, OneVsRest(Full(2))) for i in range(steps) for C in costs]
    for entrant in entrants:
        entrant.machines.add_class()
        entrant.machines.add_class()
    return Tournament([inputs(bool(i)) for i in range(steps)], entrants, eliminate=eliminate)


def data(count, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    return X, (X[:, 0] + rng.normal(size=count) > 0).astype(np.int64), np.ones(count)


def run(field, X, codes, weight):
    """Learn rows as the learner does: never past a ranking. Returns the leader's decisions."""
    decisions, start = [], 0
    while start < len(codes):
        part = slice(start, start + min(len(codes) - start, field.rows_to_go))
        decisions.append(field.learn(X[part], codes[part], weight[part]))
        start = part.stop
    return np.concatenate(decisions)


def alone(C, X, codes, weight):
    """One candidate alone: its decisions, its mistakes, and its squared margin violations."""
    machine = Full(2)
    decisions = machine.learn(X, np.where(codes == 1, 1.0, -1.0), C * weight)
    short = np.maximum(1 - np.where(codes == 1, decisions, -decisions), 0.0)
    return decisions, (weight * ((decisions > 0) != codes)).sum(), (weight * short**2).sum(), machine


def test_entrants_count_their_mistakes_and_losses():
    X, codes, _ = data(300)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=300)
    field = tournament()
    run(field, X, codes, weight)
    for entrant in field.entrants:
        _, mistakes, losses, machine = alone(entrant.C, X, codes, weight)
        assert entrant.score == pytest.approx((mistakes, losses))
        np.testing.assert_array_equal(entrant.machines.machines[0].coef, machine.coef)


def test_losses_decide_where_mistakes_are_equal():
    first, second = (Entrant(0, C, OneVsRest(Full(2))) for C in (1.0, 2.0))
    first.totals[:], second.totals[:] = (3.0, 5.0), (3.0, 4.0)
    assert second.score < first.score
    first.totals[0] = 2.0
    assert first.score < second.score


def test_rankings_are_at_powers_of_two_and_halve_the_field_from_the_first_cut_on():
    X, codes, weight = data(4 * FIRST_CUT)
    field, left = tournament(), {}
    for i in range(len(codes)):
        order = [entrant.C for entrant in field.entrants]
        field.learn(X[i : i + 1], codes[i : i + 1], weight[i : i + 1])
        rows = i + 1
        assert field.rows == rows
        if rows & (rows - 1) == 0 and rows > 1:
            left[rows] = len(field.entrants)
            assert [entrant.score for entrant in field.entrants] == sorted(entrant.score for entrant in field.entrants)
        else:
            assert [entrant.C for entrant in field.entrants] == order
    assert left == {2**k: max(1, [6, 3, 2, 1][max(0, k - 9)]) if k <= 12 else 1 for k in range(1, 13)}


def test_the_better_half_stays():
    X, codes, weight = data(FIRST_CUT)
    field = tournament()
    run(field, X, codes, weight)
    scores = {C: alone(C, X, codes, weight)[1:3] for C in COSTS}
    assert [entrant.C for entrant in field.entrants] == sorted(COSTS, key=scores.get)[:3]


def test_the_leader_s_decisions_are_returned():
    X, codes, weight = data(200)
    field = tournament()
    start = 0
    while start < 200:
        leader, stop = field.leader.C, min(200, start + field.rows_to_go)
        found = field.learn(X[start:stop], codes[start:stop], weight[start:stop])
        np.testing.assert_array_equal(found[:, 0], alone(leader, X, codes, weight)[0][start:stop])
        start = stop


def test_rows_are_prepared_for_each():
    X, codes, weight = data(50)
    X += 5.0
    field = tournament([1.0], steps=2)
    run(field, X, codes, weight)
    for entrant in field.entrants:
        Z = inputs(bool(entrant.inputs)).update(X, weight)
        np.testing.assert_array_equal(entrant.machines.machines[0].coef, alone(1.0, Z, codes, weight)[3].coef)
    leader = field.leader
    np.testing.assert_array_equal(field.prepare(X), field.inputs[leader.inputs].apply(X))


def merged(left, right):
    assert left.merge(right, np.array([0, 1]))
    return left


def test_merging_pairs_those_with_the_same_settings():
    left, right = tournament([1.0, 10.0, 100.0]), tournament([0.1, 10.0, 100.0])
    rows, others = data(100), data(70, seed=1)
    run(left, *rows)
    run(right, *others)
    totals = {C: alone(C, *rows)[1] + alone(C, *others)[1] for C in (10.0, 100.0)}
    field = merged(left, right)
    assert {entrant.C: entrant.mistakes for entrant in field.entrants} == pytest.approx(totals)
    assert [entrant.score for entrant in field.entrants] == sorted(entrant.score for entrant in field.entrants)
    assert field.rows == 170
    assert field.rows_to_go == 256 - 170


def test_those_of_the_same_rule_are_merged():
    """Those that skip certain rows have the C of others, but not their covariance."""

    def field(*rules):
        made = tournament([C for C, _ in rules])
        for entrant, (_, skips_certain) in zip(made.entrants, rules, strict=True):
            for machine in entrant.machines.all():
                machine.skips_certain = skips_certain
        return made

    left, right = field((1.0, False), (1.0, True)), field((1.0, True), (1.0, False))
    run(left, *data(100))
    run(right, *data(70, seed=1))
    expected = {entrant.rule: entrant.machines.machines[0].copied() for entrant in left.entrants}
    for entrant in right.entrants:
        expected[entrant.rule].merge(entrant.machines.machines[0])
    field = merged(left, right)
    assert {entrant.rule for entrant in field.entrants} == {(1.0, False), (1.0, True)}
    for entrant in field.entrants:
        np.testing.assert_array_equal(entrant.machines.machines[0].coef, expected[entrant.rule].coef)


def test_merging_those_with_nothing_in_common_but_the_preparation_keeps_the_best():
    left, right = tournament([1.0, 10.0]), tournament([100.0, 1000.0])
    run(left, *data(100))
    run(right, *data(100, seed=1))
    best, guest = left.leader.C, right.leader.machines.machines[0].copied()
    expected = left.leader.machines.machines[0].copied()
    expected.merge(guest)
    field = merged(left, right)
    assert [entrant.C for entrant in field.entrants] == [best]
    np.testing.assert_array_equal(field.leader.machines.machines[0].coef, expected.coef)


def test_different_preparations_are_not_merged():
    left, right = tournament([1.0], steps=2), tournament([1.0], steps=2)
    run(left, *data(100))
    run(right, *data(100, seed=1))
    left.entrants = [entrant for entrant in left.entrants if entrant.inputs == 0]
    right.entrants = [entrant for entrant in right.entrants if entrant.inputs == 1]
    before = left.leader.machines.machines[0].coef.copy()
    assert not left.merge(right, np.array([0, 1]))
    assert left.rows == 100
    np.testing.assert_array_equal(left.leader.machines.machines[0].coef, before)


def test_suggesting_is_running_each_alone():
    X, codes, _ = data(3000)
    y = np.where(codes == 1, "yes", "no")
    grid, settings = [0.01, 1.0, 100.0], {"center": True, "scale": False}
    found = suggest_C(X, grid, target=y, **settings)
    each = {C: StreamSVC(C, **settings).fit(X, y).accuracy_ for C in grid}
    assert found.accuracy == pytest.approx(each)
    assert found.accuracy[found.C] == max(each.values())
    assert "<- best" in str(found)
    assert str(found).count("\n") == 2


def test_what_is_left_open_counts_by_its_best():
    X, codes, _ = data(1500)
    X[:, 1] = 100 * X[:, 1] + 1000
    found = suggest_C(X, (1.0,), target=codes)
    steps = [(False, True), (True, True), (True, False)]
    each = [StreamSVC(1.0, scale=scale, normalize=unit).fit(X, codes).accuracy_ for scale, unit in steps]
    assert found.accuracy == pytest.approx({1.0: max(each)})


def test_a_suggestion_of_single_rows_counts_them_all():
    from modicum.streams import stream

    X, codes, _ = data(100)
    parts = suggest_C(stream(X, target=codes, chunk_size=1), (1.0, 10.0), center=True, scale=False)
    assert parts.accuracy == pytest.approx(suggest_C(X, (1.0, 10.0), target=codes, center=True, scale=False).accuracy)


def test_errors_speak_of_the_learner():
    with pytest.raises(ValueError, match=r"^StreamSVC: C must be"):
        suggest_C(data(10)[0], [-1.0], target=data(10)[1])
