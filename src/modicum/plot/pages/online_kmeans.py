"""The page of online k-means."""

from typing import Any

from modicum.plot.formatting import count, percent, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.page import Context, Section
from modicum.plot.pages.shared import Content, at_a_glance, cluster_size_bars, costs


def online_kmeans(learner: Any, context: Context) -> Content:
    sizes = learner.cluster_sizes_
    block, left_out = gallery(learner, Exhibit(learner.cluster_centers_, weights=sizes, exact=True), context)
    largest = percent(sizes.max() / sizes.sum())
    sections = [
        at_a_glance(learner, context, ("clusters", count(len(sizes)))),
        Section("Centers", [block], f"Largest cluster first. {left_out}"),
        Section("Clusters", [cluster_size_bars(sizes)]),
        costs(learner, context),
    ]
    clusters = plural(len(sizes), "cluster")
    return f"{clusters} of {plural(learner.n_seen_, 'row')}; the largest holds {largest} of them.", sections
