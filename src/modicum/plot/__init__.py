"""Figures, one per question, and a report in one HTML file.

Every figure is a function of a learner that returns a `matplotlib.figure.Figure`; nothing is drawn through pyplot, so
nothing is shown or kept behind your back. Needs `modicum[cli]`.
"""

from modicum.plot.classes import accuracy_over_stream, confusion_matrix, largest_weights, weight_images
from modicum.plot.coresets import coreset_map, point_weights
from modicum.plot.curves import components_over_stream, curve, utility_over_stream, value_over_stream
from modicum.plot.images import exemplar_images
from modicum.plot.maps import prototype_map, sample_map
from modicum.plot.mixtures import component_images, component_map
from modicum.plot.predictions import interval_coverage, predictions_and_truth
from modicum.plot.report import write_report, write_tradeoff_report
from modicum.plot.similarities import nearest_similarities, similarity_matrix
from modicum.plot.sizes import cluster_sizes
from modicum.plot.tradeoffs import data_time, risk_by_size, risk_time, search_path

__all__ = [
    "accuracy_over_stream",
    "cluster_sizes",
    "component_images",
    "component_map",
    "components_over_stream",
    "confusion_matrix",
    "coreset_map",
    "curve",
    "data_time",
    "exemplar_images",
    "interval_coverage",
    "largest_weights",
    "nearest_similarities",
    "point_weights",
    "predictions_and_truth",
    "prototype_map",
    "risk_by_size",
    "risk_time",
    "sample_map",
    "search_path",
    "similarity_matrix",
    "utility_over_stream",
    "value_over_stream",
    "weight_images",
    "write_report",
    "write_tradeoff_report",
]
