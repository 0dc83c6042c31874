"""Components: what becomes of their statistics and names, and what they answer."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from modicum.clumps.splits import split_softly
from modicum.families import as_family
from modicum.mixture.components import Components, is_number


def assert_all_there(components, items):
    counts, sums = items.totals([np.arange(len(items))])
    assert_allclose(components.counts.sum(), counts[0])
    assert_allclose(components.sums.sum(axis=0), sums[0], rtol=1e-6)


def halves(items):
    counts, averages, starts = items.counts, items.averages(slice(0, len(items))), np.zeros(1, np.intp)
    along = items.family.projections(counts, averages, starts)[:, 0]
    return split_softly(items.family, counts, averages, starts, along, 5)[0]


def named(components, names):
    return components._with(names=names)


def test_complexity_is_the_sum_of_divergences(name, make_items, make_components):
    known = make_components(make_items(name), 3)
    of_parameters = known.family.divergence(known.counts, known.sums).sum()
    assert_allclose(known.complexity, of_parameters + known.sticks.divergence)


def test_scores_are_expected_log_joints(name, make_items, make_components):
    items = make_items(name)
    known = make_components(items, 3)
    slopes, offsets = known.scores
    expected, own = known.family.expected_log_likelihood(known.counts, known.sums)
    assert_allclose(slopes, expected)
    assert_allclose(offsets - own, known.sticks.expected_logs)


def test_a_split_keeps_all_rows_and_the_name_of_the_larger_part(name, make_items, make_components):
    items = make_items(name)
    before = named(make_components(items, 1), ["boots"])
    after = before.split({0: halves(items)})
    assert_all_there(after, items)
    assert len(after) == 2
    assert after.counts[0] >= after.counts[1]
    assert after.names[0] == "boots"
    assert is_number(after.names[1])
    assert len({*after.names, *before.names}) == 2


def test_a_merge_keeps_all_rows(name, make_items, make_components):
    items = make_items(name)
    before = make_components(items, 5)
    after = before.merged([(3, 1), (0, 4)])
    assert_all_there(after, items)
    assert len(after) == 3
    assert_allclose(after.counts[after.names.index(before.names[3])], before.counts[[1, 3]].sum())
    assert before.names == ["c0", "c1", "c2", "c3", "c4"]


def test_given_names_outlive_numbers(make_items, make_components):
    known = named(make_components(make_items("diagonal"), 4), ["c0", "hat", "glove", "shoe"])
    assert known.merged([(0, 1)]).names == ["hat", "glove", "shoe"]
    assert known.merged([(1, 0)]).names == ["hat", "glove", "shoe"]
    assert known.merged([(2, 3)]).names == ["c0", "hat", "glove"]


def test_names_are_not_given_twice(make_items, make_components):
    """Not even those of components that are gone."""
    items = make_items("diagonal")
    known = make_components(items, 3).merged([(0, 2)])
    assert known.split({0: halves(items)}).names == ["c0", "c1", "c3"]


def test_joined_components_keep_names_that_are_free(make_items, make_components):
    one = named(make_components(make_items("diagonal"), 3), ["hat", "c1", "c2"])
    other = named(make_components(make_items("diagonal", seed=1), 3), ["hat", "shoe", "c2"])
    both = one.joined(other)
    assert both.names[:3] == one.names
    assert both.names[4] == "shoe"
    assert len(set(both.names)) == 6
    assert is_number(both.names[3])


def test_joined_components_are_those_of_all_rows(name, rows):
    """The families of both sides may have taken statistics about different means."""
    X, Y = rows(name, 20), rows(name, 20, seed=1) + 3
    both = []
    for Z in (X, Y):
        family = as_family(name).bind(Z, np.ones(20))
        both.append(Components.new(family, 1.0, np.array([20.0]), family.statistics(Z).sum(axis=0)[None]))
    joined = both[0].joined(both[1])
    assert_allclose(joined.counts, 20)
    assert_allclose(joined.sums[1], joined.family.statistics(Y).sum(axis=0), atol=1e-8)


def test_the_largest_come_first_once_sorted(make_items, make_components):
    known = make_components(make_items("gaussian"), 5)
    found = known.sorted()
    order = np.argsort(-known.counts)
    assert_allclose(found.counts, known.counts[order])
    assert_allclose(found.sums, known.sums[order])
    assert found.names == ["c0", "c1", "c2", "c3", "c4"]


def test_joint_density_is_weight_times_prediction(name, rows, make_items, make_components):
    known, X = make_components(make_items(name), 3), rows(name, 10, seed=5)
    joint = known.log_joint(X)
    assert joint.shape == (10, 4)
    for k in range(3):
        predictive = known.family.log_predictive(X, known.counts[[k]], known.sums[[k]])[:, 0]
        assert_allclose(joint[:, k], np.log(known.sticks.means[k]) + predictive)
    prior = known.family.log_predictive(X, np.zeros(1), np.zeros((1, known.sums.shape[1])))[:, 0]
    assert_allclose(joint[:, -1], np.log(known.sticks.mean_rest) + prior)


def test_plug_in_density_is_that_of_a_mixture_of_known_parameters(name, rows, make_items, make_components):
    known, X = make_components(make_items(name), 3), rows(name, 10, seed=5)
    weights = known.sticks.means / known.sticks.means.sum()
    each = known.family.log_plug_in(X, known.counts, known.sums)
    assert_allclose(known.log_plug_in(X), logsumexp(np.log(weights) + each, axis=1))
