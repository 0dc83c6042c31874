"""Subtree patterns of small graphs counted by hand, and a plain twin with sorted strings."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from modicum.kernels import Normalized, WeisfeilerLehman, as_kernel

PATH = [(0, 1), (1, 2)], ["a", "a", "b"]
STAR = [(0, 1), (0, 2), (0, 3)], ["a", "b", "b", "b"]
PAIR = [(0, 1)], ["a", "b"]
LONELY = [], ["a", "c"]
NOTHING = [], []


def patterns(graph, iterations):
    """Counts of labels over all rounds, with a label spelled out as a string (shervashidze2011, Algorithm 1)."""
    edges, labels = graph
    labels = [f"<{label}>" for label in labels]
    counts = Counter(labels)
    for _ in range(iterations):
        near = [sorted(labels[j] for i, j in both_ways(edges) if i == node) for node in range(len(labels))]
        labels = [f"<{label}:{','.join(around)}>" for label, around in zip(labels, near, strict=True)]
        counts.update(labels)
    return counts


def both_ways(edges):
    return [*edges, *((j, i) for i, j in edges)]


def by_strings(A, B, iterations):
    counts = [[patterns(graph, iterations) for graph in chunk] for chunk in (A, B)]
    return np.array([[sum(a[name] * b[name] for name in a) for b in counts[1]] for a in counts[0]], float)


def test_counted_by_hand():
    # round 0: PATH has a a b, STAR a b b b, PAIR a b, LONELY a c.
    rounds_0 = [[5, 5, 3, 2], [5, 10, 4, 1], [3, 4, 2, 1], [2, 1, 1, 2]]
    graphs = [PATH, STAR, PAIR, LONELY]
    assert WeisfeilerLehman(0)(graphs, graphs).tolist() == rounds_0
    # round 1: PATH a:a a:ab b:a, STAR a:bbb and three b:a, PAIR a:b b:a, LONELY a: c:
    rounds_1 = np.add(rounds_0, [[3, 3, 1, 0], [3, 10, 3, 0], [1, 3, 2, 0], [0, 0, 0, 2]])
    assert WeisfeilerLehman(1)(graphs, graphs).tolist() == rounds_1.tolist()
    # round 2: only equal graphs, and equal nodes in them, still agree: a:a has met an a:ab, b:a of PATH too
    rounds_2 = rounds_1 + np.array([[3, 0, 0, 0], [0, 10, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]])
    assert WeisfeilerLehman(2)(graphs, graphs).tolist() == rounds_2.tolist()


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_numbers_work_like_strings(iterations):
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng) for _ in range(30)]
    found = WeisfeilerLehman(iterations)(graphs[:12], graphs)
    np.testing.assert_array_equal(found, by_strings(graphs[:12], graphs, iterations))


def random_graph(rng, labels=("C", "N", "O")):
    size = int(rng.integers(1, 10))
    edges = [(i, j) for i in range(size) for j in range(i) if rng.random() < 0.4]
    return edges, [str(label) for label in rng.choice(labels, size)]


def test_renumbered_nodes_make_the_same_graph():
    rng = np.random.default_rng(0)
    kernel = Normalized(WeisfeilerLehman(4))
    for _ in range(20):
        edges, labels = random_graph(rng)
        order = rng.permutation(len(labels))  # node i is called order[i]
        moved = [(int(order[j]), int(order[i])) for i, j in edges], [labels[i] for i in np.argsort(order)]
        assert kernel([(edges, labels)], [moved])[0, 0] == pytest.approx(1.0)


def test_a_ring_of_six_looks_like_two_of_three():
    """The test of isomorphism behind the kernel is known to miss this."""
    ring = [(i, (i + 1) % 6) for i in range(6)], ["x"] * 6
    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], ["x"] * 6
    assert as_kernel("wl")([ring], [triangles])[0, 0] == pytest.approx(1.0)


def test_labels_are_anything_hashable_and_edges_any_pairs():
    a = [(0, 1)], [1, ("x", 2)]
    b = np.array([[1, 0]]), [("x", 2), 1]
    assert WeisfeilerLehman(2)([a], [b]).tolist() == WeisfeilerLehman(2)([a], [a]).tolist()


def test_a_graph_of_nothing_is_similar_to_none():
    assert as_kernel("wl")([NOTHING, PAIR], [NOTHING, PAIR]).round(12).tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("graph", [3, ([(0, 1, 2)], ["a"] * 3), ([(0, 1)],), ("ab", "cd")])
def test_invalid_graphs_are_refused(graph):
    with pytest.raises(ValueError, match=r"a graph is a pair \(edges, node_labels\)"):
        WeisfeilerLehman()([graph], [PAIR])


def test_edges_to_nowhere_are_refused():
    with pytest.raises(ValueError, match="2 node labels, but edges between nodes 0 to 2"):
        WeisfeilerLehman()([([(0, 2)], ["a", "b"])], [PAIR])


def test_counts_are_sparse():
    counts = WeisfeilerLehman(1)._counts([PATH, STAR])
    assert sparse.issparse(counts)
    assert counts.sum() == 2 * (3 + 4)
