"""The pages of coresets: how few points stand for how many rows, what is found on them, and what is held."""

from typing import Any

import numpy as np

from modicum.coreset.weighted_kmeans import weighted_kmeans
from modicum.numeric.nearest import nearest
from modicum.plot.coresets import coreset_map, point_weights
from modicum.plot.gallery import Kept, gallery
from modicum.plot.numbers import about, count, measure, percent, plural
from modicum.plot.page import Column, Context, Facts, Figure, Section, Table
from modicum.plot.pages.blocks import Content, at_a_glance, cluster_size_bars, costs, figure


def kmeans_coreset(learner: Any, context: Context) -> Content:
    points, weights = learner.as_sample()
    centers = weighted_kmeans(points, weights, learner.n_clusters, 1, np.random.default_rng(0), None)
    sections = [
        Section("", [_glance(learner, context)]),
        Section("The points", [_map(learner, centers), _weights(learner), _sizes(learner, centers)]),
        _centers("What k-means finds on them", learner, centers, context),
        *_held(learner, context),
    ]
    return _stand_for(learner), sections


def stream_kmeans(learner: Any, context: Context) -> Content:
    centers = learner.cluster_centers_
    sections = [
        Section("", [_glance(learner, context, ("clusters", count(len(centers))))]),
        Section("The clusters", [_map(learner, centers), _sizes(learner, centers), _weights(learner)]),
        _centers("The centers", learner, centers, context),
        *_held(learner, context),
    ]
    return f"{plural(len(centers), 'cluster')} of {plural(learner.n_seen_, 'row')}. {_stand_for(learner)}", sections


def stream_gaussian_mixture(learner: Any, context: Context) -> Content:
    points, weights = learner.as_sample()
    means, sizes = learner.means_, learner.weights_ * weights.sum()
    block, left_out = gallery(learner, Kept(means, sizes=sizes, exact=False), context)
    likelihood = measure(np.average(learner.score_samples(points), weights=weights))
    drawings = [_map(learner, means, learner.covariances_), cluster_size_bars(sizes), _weights(learner)]
    sections = [
        Section(
            "", [_glance(learner, context, ("components", count(len(means))), ("log-likelihood per row", likelihood))]
        ),
        Section("The components", drawings),
        Section("Their means", [block], f"The component that stands for most rows comes first. {left_out}"),
        *_held(learner, context),
    ]
    return f"{plural(len(means), 'component')} of {plural(learner.n_seen_, 'row')}. {_stand_for(learner)}", sections


def mixture_coreset(learner: Any, context: Context) -> Content:
    sections = [
        Section("", [_glance(learner, context)]),
        Section("The points", [_map(learner), _weights(learner)]),
        *_held(learner, context),
    ]
    return _stand_for(learner), sections


def _stand_for(learner: Any) -> str:
    points, weights = learner.as_sample()
    if len(points) == learner.n_seen_:
        return f"All {plural(len(points), 'row')} are still held, each as it is."
    each = about(weights.sum() / len(points))
    return f"{plural(len(points), 'weighted point')} stand for all rows, each for about {each} of them."


def _glance(learner: Any, context: Context, *items: tuple[str, str]) -> Facts:
    return at_a_glance(learner, context, *items, ("weighted points", count(len(learner.as_sample()[0]))))


def _map(learner: Any, centers: np.ndarray | None = None, covariances: np.ndarray | None = None) -> Figure:
    points = plural(len(learner.as_sample()[0]), "weighted point")
    caption = "The points, as large as their weights."
    if centers is None:
        return figure(coreset_map(learner), f"Map: {points}.", caption, tall=True)
    alt = f"Map: {points} coloured by cluster, {plural(len(centers), 'center')} among them."
    caption += " Dots with a rim: centers." if covariances is None else " Ellipses: two standard deviations."
    return figure(coreset_map(learner, centers, covariances), alt, caption, tall=True)


def _weights(learner: Any) -> Figure:
    weights = learner.as_sample()[1]
    low, high = about(weights.min()), about(weights.max())
    alt = f"Histogram: weights of {plural(len(weights), 'point')}, from {low} to {high}."
    return figure(point_weights(learner), alt, f"Weights go from {low} to {high}. Dashed: their mean.")


def _sizes(learner: Any, centers: np.ndarray) -> Figure:
    return cluster_size_bars(_cluster_weights(learner, centers))


def _cluster_weights(learner: Any, centers: np.ndarray) -> np.ndarray:
    points, weights = learner.as_sample()
    return np.bincount(nearest(points, centers)[0], weights, len(centers))


def _centers(title: str, learner: Any, centers: np.ndarray, context: Context) -> Section:
    block, left_out = gallery(learner, Kept(centers, sizes=_cluster_weights(learner, centers), exact=False), context)
    return Section(title, [block], f"{_cost(learner, centers)} {left_out}")


def _cost(learner: Any, centers: np.ndarray) -> str:
    points, weights = learner.as_sample()
    total = weights.sum()
    mean = (weights @ points / total)[None]
    one, found = (weights @ nearest(points, them)[1] / total for them in (mean, centers))
    explained = f"{percent(1 - found / one)} of the variance is explained" if one else "all rows are the same"
    fitted = "They were fitted to the points, so on new rows it is a little more"
    return f"The mean squared distance of the points to their centers is {measure(found)}: {explained}. {fitted}."


def _held(learner: Any, context: Context) -> list[Section]:
    buckets = sorted(learner._tree.parts(), key=lambda bucket: -bucket.weights.sum())
    sums = np.array([bucket.weights.sum() for bucket in buckets])
    table = Table(
        [
            Column("stands for", [about(total) for total in sums], numeric=True, bars=list(sums / sums.max())),
            Column("points", [count(len(bucket)) for bucket in buckets], numeric=True),
            Column("reduced", [_times(bucket.level) for bucket in buckets]),
        ]
    )
    note = "Rows fill one bucket after the other. When all are full, those that were reduced least become one."
    return [
        Section("What is held", [table], note),
        Section("Memory and time", [costs(learner, context)]),
    ]


def _times(level: int) -> str:
    return "not yet: rows as they are" if level == 0 else plural(level, "time")
