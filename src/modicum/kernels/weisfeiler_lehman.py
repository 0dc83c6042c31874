"""The Weisfeiler-Lehman subtree kernel between graphs with labelled nodes (shervashidze2011, section 3.2).

Departure: the paper renames sorted lists of neighbor labels by a dictionary; here a label is a 64-bit number mixed from
the node's label and the sum of its neighbors' mixed labels. Sums need no sorting, and all graphs are renamed together.
Two different neighborhoods get the same label with a probability of about 2^-64.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from modicum.exceptions import DataError
from modicum.kernels.kernel import Kernel
from modicum.rules.invariants import Whole
from modicum.rules.params import Int, check_params

_NEIGHBOR = np.uint64(0xD1B54A32D192ED03)  # distinguishes a neighbor's label from the node's own


class WeisfeilerLehman(Kernel):
    """How many subtree patterns of up to some height two graphs have in common, with multiplicity.

    A graph is a pair (edges, node_labels): pairs of node numbers, each undirected edge once, and one label per node
    (a string, a number, anything hashable). At first every node counts by its label; then, `iterations` times, by its
    label together with those of its neighbors. The kernel is the inner product of all counts.
    `Normalized(WeisfeilerLehman())`, also called "wl", does not favor large graphs.

    Cost: O(iterations * edges) for both chunks together, then one sparse product.

    Parameters
    ----------
    iterations : int, default=3
        Height of the patterns.

    Examples
    --------
    >>> path = [(0, 1), (1, 2)], ["C", "C", "O"]
    >>> same_path = [(2, 0), (0, 1)], ["C", "O", "C"]
    >>> pair = [(0, 1)], ["C", "O"]
    >>> WeisfeilerLehman(1)([path], [path, same_path, pair])
    array([[8., 8., 4.]])

    References
    ----------
    shervashidze2011, Algorithm 2 and Definition 4.
    """

    takes_objects = True

    _invariants = {
        "iterations": Whole(),
    }

    def __init__(self, iterations: int = 3):
        self.iterations = iterations
        check_params(self, vars(self), {"iterations": [Int(0)]})

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        counts = self._counts([*A, *B])
        return (counts[: len(A)] @ counts[len(A) :].T).toarray()

    def diagonal(self, A: Any) -> np.ndarray:
        counts = self._counts(A)
        return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()

    def _counts(self, graphs: Sequence[Any]) -> sparse.csr_matrix:
        """How often each label, of all rounds, occurs in each graph."""
        labels, sources, targets, owners = _union(graphs)
        rounds = [labels]
        for _ in range(self.iterations):
            labels = _relabeled(labels, sources, targets)
            rounds.append(labels)
        names, columns = np.unique(np.concatenate(rounds), return_inverse=True)
        rows = np.tile(owners, len(rounds))
        return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(graphs), len(names)))


def _union(graphs: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All graphs as one: labels of nodes, ends of edges in both directions, and the graph that each node is of."""
    codes: dict[Any, int] = {}
    labels: list[int] = []
    edges, owners = [np.empty((0, 2), np.int64)], [np.empty(0, np.int64)]
    for i, graph in enumerate(graphs):
        links, names = _parsed(graph)
        edges.append(links + len(labels))
        owners.append(np.full(len(names), i))
        labels += [codes.setdefault(name, len(codes)) for name in names]
    ends = np.concatenate(edges)
    sources, targets = np.concatenate([ends, ends[:, ::-1]]).T
    return _mixed(np.array(labels, np.uint64)), sources, targets, np.concatenate(owners)


def _parsed(graph: Any) -> tuple[np.ndarray, Sequence[Any]]:
    try:
        edges, names = graph
        links = np.asarray(edges, np.int64).reshape(-1, 2)
    except (TypeError, ValueError):
        raise DataError(
            "WeisfeilerLehman: a graph is a pair (edges, node_labels) such as ([(0, 1)], ['C', 'O']); "
            f"got a {type(graph).__name__} that is not."
        ) from None
    if links.size and not 0 <= links.min() <= links.max() < len(names):
        raise DataError(
            f"WeisfeilerLehman: a graph has {len(names)} node labels, but edges between nodes "
            f"{links.min()} to {links.max()}."
        )
    return links, names


def _relabeled(labels: np.ndarray, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """One round: each label taken together with the multiset of its neighbors' labels."""
    together = _mixed(labels)
    np.add.at(together, targets, _mixed(labels ^ _NEIGHBOR)[sources])
    return _mixed(together)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Scramble 64-bit numbers one to one: a step of the SplitMix64 generator."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
