"""Figures and reports in one HTML file. Needs `modicum[cli]`.

Each figure is a function that returns a `matplotlib.figure.Figure`. pyplot is not used: nothing is shown or kept open.
"""

from modicum.plot.classifiers import accuracy_over_stream, confusion_matrix, largest_weights, weight_images
from modicum.plot.clusters import cluster_sizes
from modicum.plot.coresets import coreset_map, point_weights
from modicum.plot.curves import (
    changes_over_stream,
    clusters_over_stream,
    components_over_stream,
    history_over_stream,
    scores_over_stream,
    utility_over_stream,
    value_over_stream,
)
from modicum.plot.images import exemplar_images
from modicum.plot.information import regularization_path
from modicum.plot.maps import exemplar_map, prototype_map
from modicum.plot.mixtures import component_images, component_map
from modicum.plot.predictions import interval_coverage, predicted_and_true
from modicum.plot.report import write_report, write_tradeoff_report
from modicum.plot.segments import segment_images
from modicum.plot.similarities import nearest_similarities, similarity_matrix
from modicum.plot.topics import topic_words, topics_over_stream
from modicum.plot.tradeoffs import data_time, risk_by_points, risk_time, search_path

__all__ = [
    "accuracy_over_stream",
    "changes_over_stream",
    "cluster_sizes",
    "clusters_over_stream",
    "component_images",
    "component_map",
    "components_over_stream",
    "confusion_matrix",
    "coreset_map",
    "data_time",
    "exemplar_images",
    "exemplar_map",
    "history_over_stream",
    "interval_coverage",
    "largest_weights",
    "nearest_similarities",
    "point_weights",
    "predicted_and_true",
    "prototype_map",
    "regularization_path",
    "risk_by_points",
    "risk_time",
    "scores_over_stream",
    "search_path",
    "segment_images",
    "similarity_matrix",
    "topic_words",
    "topics_over_stream",
    "utility_over_stream",
    "value_over_stream",
    "weight_images",
    "write_report",
    "write_tradeoff_report",
]
