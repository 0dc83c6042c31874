"""Particle filter for Dirichlet-process mixtures of full Gaussians (fearnhead2004), to compare with.

    python benchmarks/particle_filter.py      # checks itself against brute force

A particle is a clustering of the rows seen so far, with a weight. A new row may join any cluster of a particle or start
a new one; of all these descendants as many are kept as there are particles, by the optimal resampling of the
paper. Clusters that particles have in common are held, and updated, once (this is ours: the paper's particles have
separate statistics, as here with `shared=False`; what is found is the same).
"""

import numpy as np
from scipy.special import gammaln, logsumexp

EMPTY = 0  # number of the cluster without rows: what a particle gives to a row that starts a cluster


class Clusters:
    """Posteriors of clusters under a Normal-Wishart prior: rows with the prior's, means, inverse scatter."""

    def __init__(self, counts, means, inverses, log_dets, mean_weight, degrees):
        self.counts = counts
        self.means = means
        self.inverses = inverses
        self.log_dets = log_dets  # of the scatter
        self.mean_weight, self.degrees = mean_weight, degrees

    @classmethod
    def empty(cls, prior):
        """One cluster without rows; `prior` is a bound FullGaussian with `degrees`."""
        scatter = prior.degrees * prior.covariance
        inverse, log_det = np.linalg.inv(scatter), np.linalg.slogdet(scatter)[1]
        return cls(np.zeros(1), prior.mean[None], inverse[None], np.array([log_det]), prior.mean_weight, prior.degrees)

    def __getitem__(self, which):
        parts = (part[which] for part in (self.counts, self.means, self.inverses, self.log_dets))
        return Clusters(*parts, self.mean_weight, self.degrees)

    def __add__(self, other):
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("counts", "means", "inverses", "log_dets"))
        return Clusters(*map(np.concatenate, pairs), self.mean_weight, self.degrees)

    def log_predictive(self, x):
        """Logarithm of each cluster's Student-t density at x."""
        d, degrees = len(x), self.degrees + self.counts
        share, _, _, gaps = self._toward(x)
        heights = gammaln(0.5 * (degrees + 1)) - gammaln(0.5 * (degrees + 1 - d)) + 0.5 * d * np.log(share / np.pi)
        return heights - 0.5 * self.log_dets - 0.5 * (degrees + 1) * np.log1p(share * gaps)

    def with_row(self, x):
        """The clusters with x in each: a rank-one step of the scatter, so its inverse follows Sherman and Morrison."""
        share, steps, pulls, gaps = self._toward(x)
        shrink = share / (1 + share * gaps)
        inverses = self.inverses - (shrink[:, None] * pulls)[:, :, None] * pulls[:, None, :]
        means = self.means + steps / (self.mean_weight + self.counts + 1)[:, None]
        log_dets = self.log_dets + np.log1p(share * gaps)
        return Clusters(self.counts + 1, means, inverses, log_dets, self.mean_weight, self.degrees)

    def _toward(self, x):
        """What a row adds to the scatter, as a share of its outer product; steps to it; inverse @ step; gaps."""
        weights = self.mean_weight + self.counts
        steps = x - self.means
        pulls = np.matmul(self.inverses, steps[:, :, None])[:, :, 0]
        return weights / (weights + 1), steps, pulls, np.einsum("kd,kd->k", steps, pulls)


class ParticleFilter:
    """`fit` takes rows one by one; `score_samples` averages the predictive densities of all particles."""

    def __init__(self, n_particles, prior, *, concentration=1.0, shared=True, random_state=0):
        self.n_particles = n_particles
        self.shared = shared
        self.concentration = concentration
        self.rng = np.random.default_rng(random_state)
        self.clusters = Clusters.empty(prior)
        self.members = np.zeros((1, 0), int)  # (particle, place): the number of a cluster; EMPTY behind the last one
        self.weights = np.ones(1)
        self.n_seen = 0
        self.log_evidence = 0.0  # of the rows seen

    def fit(self, X):
        for x in X:
            self._extend(x)
        return self

    def score_samples(self, X):
        """Logarithm of the predictive density of each row."""
        shares = np.zeros(len(self.clusters.counts))
        np.add.at(shares, self.members, self.weights[:, None])  # weight of all particles that have the cluster
        shares *= self.clusters.counts
        shares[EMPTY] = self.concentration
        log_shares = np.log(shares / (self.n_seen + self.concentration))
        return np.array([logsumexp(log_shares + self.clusters.log_predictive(x)) for x in X])

    @property
    def n_components(self):
        """Clusters of a particle, on average."""
        return float(self.weights @ (self.members != EMPTY).sum(axis=1))

    def _extend(self, x):
        members = np.pad(self.members, ((0, 0), (0, 1)), constant_values=EMPTY)
        sizes = (members != EMPTY).sum(axis=1)
        rates = self.clusters.counts.copy()
        rates[EMPTY] = self.concentration
        log_joint = np.log(rates) + self.clusters.log_predictive(x)
        parent, place = np.nonzero(np.arange(members.shape[1]) <= sizes[:, None])  # all descendants
        log_weights = np.log(self.weights)[parent] + log_joint[members[parent, place]]
        total = logsumexp(log_weights)
        self.log_evidence += total - np.log(self.n_seen + self.concentration)
        kept, self.weights = optimal_resample(np.exp(log_weights - total), self.n_particles, self.rng)
        self.n_seen += 1
        self._assign(x, members[parent[kept]], place[kept])

    def _assign(self, x, members, place):
        """Let the row join the cluster at its place in each particle, and forget clusters that no particle has."""
        if not self.shared:
            self._separate(members)
        particle = np.arange(len(members))
        joined, which = np.unique(members[particle, place], return_inverse=True)
        members[particle, place] = len(self.clusters.counts) + which
        clusters = self.clusters + self.clusters[joined].with_row(x)
        members = members[:, : (members != EMPTY).sum(axis=1).max()]
        is_used = np.zeros(len(clusters.counts), bool)
        is_used[EMPTY] = is_used[members] = True
        self.clusters, self.members = clusters[is_used], (np.cumsum(is_used) - 1)[members]  # EMPTY stays the first

    def _separate(self, members):
        """Give every particle copies of its clusters."""
        is_filled = members != EMPTY
        self.clusters = self.clusters[np.append(EMPTY, members[is_filled])]
        members[is_filled] = np.arange(1, len(self.clusters.counts))


def optimal_resample(weights, n, rng):
    """Which n of the weights to keep, and their new weights (fearnhead2004; Fearnhead and Clifford 2003).

    Weights above a threshold c are unchanged. Of the others each is kept with probability weight / c and then weighs
    c, one from each stratum of mass c. c makes them n in all: sum of min(weight / c, 1) = n.
    """
    candidates = np.flatnonzero(weights)
    if len(candidates) <= n:
        return candidates, weights[candidates]
    largest = np.argpartition(-weights, n)[:n]
    largest = largest[np.argsort(-weights[largest], kind="stable")]
    falling = weights[largest]
    tails = max(weights.sum() - falling.sum(), 0.0) + np.cumsum(falling[::-1])[::-1]
    thresholds = tails / (n - np.arange(n))  # if the first 0, 1, ... n - 1 are above it
    n_large = int(np.argmax(falling <= thresholds))
    c, large = thresholds[n_large], largest[:n_large]
    is_small = weights > 0
    is_small[large] = False
    small = np.flatnonzero(is_small)
    marks = (rng.uniform() + np.arange(n - n_large)) * c
    drawn = small[np.searchsorted(np.cumsum(weights[small]), marks).clip(max=len(small) - 1)]
    new = np.concatenate([weights[large], np.full(len(drawn), c)])
    return np.concatenate([large, drawn]), new / new.sum()


# ---- checks --------------------------------------------------------------------------------------------


def partitions(n):
    """All partitions of 0 ... n - 1, as lists of lists."""
    if n == 0:
        yield []
        return
    for smaller in partitions(n - 1):
        yield [*smaller, [n - 1]]
        for k, part in enumerate(smaller):
            yield [*smaller[:k], [*part, n - 1], *smaller[k + 1 :]]


def brute_evidence(X, prior, concentration):
    """log p(X): all partitions, each by its prior (the Chinese restaurant's) and the evidence of its parts."""
    found = []
    for parts in partitions(len(X)):
        sums = np.array([prior.statistics(X[part]).sum(axis=0) for part in parts])
        counts = np.array([float(len(part)) for part in parts])
        found.append(
            len(parts) * np.log(concentration) + gammaln(counts).sum() + prior.log_evidence(counts, sums).sum()
        )
    return logsumexp(found) + gammaln(concentration) - gammaln(concentration + len(X))


def check_filter():
    """With as many particles as there are partitions, the filter is exact."""
    from modicum.families import FullGaussian

    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(7, 2)) * [3, 1], rng.normal(size=(4, 2))
    prior = FullGaussian(np.array([0.3, -0.2]), np.array([[1.0, 0.3], [0.3, 0.5]]), mean_weight=0.4, degrees=4.5)
    prior = prior.bind(X, np.ones(len(X)))
    peer = ParticleFilter(877, prior, concentration=0.7).fit(X)  # the Bell number of 7
    assert len(peer.weights) == 877
    exact = brute_evidence(X, prior, 0.7)
    np.testing.assert_allclose(peer.log_evidence, exact)
    predicted = [brute_evidence(np.vstack([X, x]), prior, 0.7) - exact for x in new]
    np.testing.assert_allclose(peer.score_samples(new), predicted)


def check_sharing():
    """Particles that copy their clusters find the same as those that share them."""
    from modicum.families import FullGaussian

    X = np.random.default_rng(0).normal(size=(60, 2)) * [3, 1]
    prior = FullGaussian(covariance=0.3, degrees=4.0).bind(X, np.ones(len(X)))
    shared, separate = (ParticleFilter(20, prior, shared=shared).fit(X) for shared in (True, False))
    np.testing.assert_allclose(separate.weights, shared.weights, rtol=1e-6)
    np.testing.assert_allclose(separate.score_samples(X), shared.score_samples(X))
    assert len(separate.clusters.counts) == 1 + (separate.members != EMPTY).sum() > len(shared.clusters.counts)


def check_resampling():
    """New weights are those before on average, large ones always; no descendant is taken twice."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(40, 0.3))
    sums = np.zeros(40)
    for _ in range(20_000):
        kept, new = optimal_resample(weights, 12, rng)
        assert len(np.unique(kept)) == len(kept) == 12
        sums[kept] += new
    c = new.min()
    large = weights > c
    assert 0 < large.sum() < 12
    np.testing.assert_allclose(sums[large] / 20_000, weights[large])
    np.testing.assert_allclose(sums / 20_000, weights, atol=6 * c / 2 / np.sqrt(20_000))  # six deviations at most


if __name__ == "__main__":
    check_filter()
    check_sharing()
    check_resampling()
    print("exact with all partitions; the same with shared clusters; resampling keeps weights on average")
