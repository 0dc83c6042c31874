"""Consensus clusterings of crowds: labels of pairs in, clusters of items out.

Each contestant is called with `Pairs` of `modicum.crowd`, the number of clusters (None: it is to be found) and a seed,
and returns the cluster of each item in `pairs.items`. Those that can't find the number are in `NEEDS_NUMBER`.

- Co-association: the share of answers that put both items of a pair in one group. Pairs that nobody saw are 0, the
  usual way of evidence accumulation, or the mean of the seen ones. Spectral clustering, average linkage, and k-means on
  the rows of the matrix.
- crowd-kit's aggregators decide what is true of each pair, "same" or "different", from answers of unreliable workers;
  the probabilities of "same" then take the place of the shares. Its other aggregators need known classes, texts,
  comparisons or pictures. Pairs were seen by one or two workers each, which is little for models of that kind.
"""

import numpy as np
from scipy import linalg

MOST_CLUSTERS = 30  # that the eigengap may choose
N_INIT = 10


# ---- co-association ----------------------------------------------------------------------------------


def co_association(pairs):
    """Shares of answers that put both items in one group, and where there are any, as matrices."""
    shape = (len(pairs.items),) * 2
    together, seen = np.zeros(shape), np.zeros(shape)
    np.add.at(together, (pairs.first, pairs.second), np.maximum(pairs.label, 0))
    np.add.at(seen, (pairs.first, pairs.second), np.abs(pairs.label))
    together, seen = together + together.T, seen + seen.T
    return together / np.maximum(seen, 1e-300), seen > 0


def affinity(shares, is_seen, missing):
    """Shares with pairs that nobody saw filled in: "zero" or "mean"."""
    filled = np.where(is_seen, shares, 0.0 if missing == "zero" else shares[is_seen].mean())
    np.fill_diagonal(filled, 1.0)
    return filled


# ---- from a matrix to clusters -----------------------------------------------------------------------


def eigengap(matrix):
    """The number of clusters before the largest gap in the spectrum of the normalised matrix."""
    scale = 1 / np.sqrt(matrix.sum(axis=1))
    most = min(MOST_CLUSTERS, len(matrix) - 2)
    spectrum = linalg.eigh(matrix * scale * scale[:, None], eigvals_only=True)[::-1][: most + 1]
    return 2 + int(np.argmax(-np.diff(spectrum)[1:]))


def spectral(matrix, n_clusters, seed):
    from sklearn.cluster import SpectralClustering

    n_clusters = n_clusters or eigengap(matrix)
    model = SpectralClustering(n_clusters, affinity="precomputed", n_init=N_INIT, random_state=seed)
    return model.fit(matrix).labels_


def linkage(matrix, n_clusters, seed):
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(n_clusters, metric="precomputed", linkage="average").fit(1 - matrix).labels_


def kmeans(matrix, n_clusters, seed):
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=N_INIT, random_state=seed).fit(matrix).labels_


def consensus(method, missing):
    return lambda pairs, n_clusters, seed: method(affinity(*co_association(pairs), missing), n_clusters, seed)


# ---- crowd-kit ---------------------------------------------------------------------------------------


def aggregated(pairs, aggregate):
    """Probabilities of "same" from an aggregator of crowd-kit, and where there are any, as matrices."""
    import pandas as pd

    n = len(pairs.items)
    low, high = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    label = np.where(pairs.label > 0, "same", "different")
    found = aggregate(pd.DataFrame({"task": low.astype(np.int64) * n + high, "worker": pairs.worker, "label": label}))
    task, proba = found.index.to_numpy(), found["same"].fillna(0.0).to_numpy()
    shares, seen = np.zeros((n, n)), np.zeros((n, n), bool)
    for at in ((task // n, task % n), (task % n, task // n)):
        shares[at], seen[at] = proba, True
    return shares, seen


def wawa(table):
    """Votes weighted by agreement with the majority. crowd-kit's own last step fails with scikit-learn 1.9."""
    from crowdkit.aggregation import MajorityVote, Wawa

    return MajorityVote().fit_predict_proba(table, skills=Wawa().fit(table).skills_)


def named(name):
    """The aggregator of this name."""

    def aggregate(table):
        from crowdkit import aggregation

        return getattr(aggregation, name)().fit_predict_proba(table)

    return aggregate


def crowd_kit(aggregate):
    return lambda pairs, n_clusters, seed: spectral(affinity(*aggregated(pairs, aggregate), "zero"), n_clusters, seed)


CONSENSUS = {
    "spectral, unseen 0": consensus(spectral, "zero"),
    "spectral, unseen mean": consensus(spectral, "mean"),
    "average linkage, unseen 0": consensus(linkage, "zero"),
    "average linkage, unseen mean": consensus(linkage, "mean"),
    "k-means of rows, unseen 0": consensus(kmeans, "zero"),
    "k-means of rows, unseen mean": consensus(kmeans, "mean"),
}
CROWD_KIT = {
    "crowd-kit Dawid-Skene": crowd_kit(named("DawidSkene")),
    "crowd-kit one-coin Dawid-Skene": crowd_kit(named("OneCoinDawidSkene")),
    "crowd-kit GLAD": crowd_kit(named("GLAD")),
    "crowd-kit MACE": crowd_kit(named("MACE")),
    "crowd-kit Wawa": crowd_kit(wawa),
}
PEERS = CONSENSUS | CROWD_KIT
NEEDS_NUMBER = {name for name in CONSENSUS if not name.startswith("spectral")}
