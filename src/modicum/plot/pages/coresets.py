"""The pages of coresets: points and weights, the model fitted to them, and the buckets held."""

from typing import Any

import numpy as np

from modicum.coreset.weighted_kmeans import weighted_kmeans
from modicum.numeric.nearest import nearest
from modicum.plot.coresets import coreset_map, point_weights
from modicum.plot.formatting import about, count, measure, percent, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.page import Column, Context, Figure, Section, Table
from modicum.plot.pages.shared import Content, at_a_glance, cluster_size_bars, costs, figure


def kmeans_coreset(learner: Any, context: Context) -> Content:
    points, weights = learner.as_sample()
    centers = weighted_kmeans(points, weights, learner.n_clusters, 1, np.random.default_rng(0), None)
    sections = [
        _glance(learner, context),
        Section("Points", [_map(learner, centers), _weights(learner), _sizes(learner, centers)]),
        _centers("k-means of the points", learner, centers, context),
        _buckets(learner),
        costs(learner, context),
    ]
    return _compression(learner), sections


def stream_kmeans(learner: Any, context: Context) -> Content:
    centers = learner.cluster_centers_
    sections = [
        _glance(learner, context, ("clusters", count(len(centers)))),
        Section("Clusters", [_map(learner, centers), _sizes(learner, centers), _weights(learner)]),
        _centers("Centers", learner, centers, context),
        _buckets(learner),
        costs(learner, context),
    ]
    return f"{plural(len(centers), 'cluster')} of {plural(learner.n_seen_, 'row')}. {_compression(learner)}", sections


def stream_gaussian_mixture(learner: Any, context: Context) -> Content:
    points, weights = learner.as_sample()
    means, sizes = learner.means_, learner.weights_ * weights.sum()
    block, left_out = gallery(learner, Exhibit(means, weights=sizes, weight_name="component size"), context)
    likelihood = measure(np.average(learner.score_samples(points), weights=weights))
    drawings = [_map(learner, means, learner.covariances_), cluster_size_bars(sizes, "component"), _weights(learner)]
    sections = [
        _glance(learner, context, ("components", count(len(means))), ("log-likelihood per row", likelihood)),
        Section("Components", drawings),
        Section("Means of the components", [block], f"Largest component first. {left_out}"),
        _buckets(learner),
        costs(learner, context),
    ]
    return f"{plural(len(means), 'component')} of {plural(learner.n_seen_, 'row')}. {_compression(learner)}", sections


def mixture_coreset(learner: Any, context: Context) -> Content:
    sections = [
        _glance(learner, context),
        Section("Points", [_map(learner), _weights(learner)]),
        _buckets(learner),
        costs(learner, context),
    ]
    return _compression(learner), sections


def _compression(learner: Any) -> str:
    points, weights = learner.as_sample()
    if len(points) == learner.n_seen_:
        return f"All {plural(len(points), 'row')} are held; nothing has been reduced yet."
    each = about(weights.sum() / len(points))
    rows = plural(learner.n_seen_, "row")
    return f"{plural(len(points), 'weighted point')} represent {rows}, about {each} rows per point."


def _glance(learner: Any, context: Context, *items: tuple[str, str]) -> Section:
    return at_a_glance(learner, context, *items, ("weighted points", count(len(learner.as_sample()[0]))))


def _map(learner: Any, centers: np.ndarray | None = None, covariances: np.ndarray | None = None) -> Figure:
    points = plural(len(learner.as_sample()[0]), "weighted point")
    caption = "The points, with areas in proportion to their weights."
    if centers is None:
        return figure(coreset_map(learner), f"Map: {points}.", caption, tall=True)
    alt = f"Map: {points} coloured by cluster, and {plural(len(centers), 'center')}."
    caption += " Outlined: centers." if covariances is None else " Ellipses: two standard deviations."
    return figure(coreset_map(learner, centers, covariances), alt, caption, tall=True)


def _weights(learner: Any) -> Figure:
    weights = learner.as_sample()[1]
    low, high = about(weights.min()), about(weights.max())
    alt = f"Histogram: weights of {plural(len(weights), 'point')}, from {low} to {high}."
    return figure(point_weights(learner), alt, f"Weights of the points, from {low} to {high}. Dashed: their mean.")


def _sizes(learner: Any, centers: np.ndarray) -> Figure:
    return cluster_size_bars(_cluster_weights(learner, centers))


def _cluster_weights(learner: Any, centers: np.ndarray) -> np.ndarray:
    points, weights = learner.as_sample()
    return np.bincount(nearest(points, centers)[0], weights, len(centers))


def _centers(title: str, learner: Any, centers: np.ndarray, context: Context) -> Section:
    block, left_out = gallery(learner, Exhibit(centers, weights=_cluster_weights(learner, centers)), context)
    return Section(title, [block], f"{_cost(learner, centers)} {left_out}")


def _cost(learner: Any, centers: np.ndarray) -> str:
    points, weights = learner.as_sample()
    total = weights.sum()
    mean = (weights @ points / total)[None]
    one, found = (weights @ nearest(points, them)[1] / total for them in (mean, centers))
    explained = f"{percent(1 - found / one)} of the variance is explained" if one else "all rows are identical"
    fitted = "Centers are fitted to the points: expect slightly more on new rows"
    return f"Weighted mean squared distance to the nearest center: {measure(found)}; {explained}. {fitted}."


def _buckets(learner: Any) -> Section:
    buckets = sorted(learner._tree.all_buckets(), key=lambda bucket: -bucket.weights.sum())
    sums = np.array([bucket.weights.sum() for bucket in buckets])
    table = Table(
        [
            Column("rows represented", [about(total) for total in sums], numeric=True, bars=list(sums / sums.max())),
            Column("points", [count(len(bucket)) for bucket in buckets], numeric=True),
            Column("reductions", [count(bucket.level) for bucket in buckets], numeric=True),
        ]
    )
    note = "Rows fill one bucket after another. When all are full, those with the fewest reductions are reduced to one."
    return Section("Buckets held", [table], note)
