"""Clustering: exemplars that represent the rows of a stream, and online k-means."""

from modicum.cluster.exemplars import ExemplarClustering
from modicum.cluster.online_kmeans import OnlineKMeans

__all__ = ["ExemplarClustering", "OnlineKMeans"]
