"""Clustering: exemplars of a stream, clusters that a classifier tells apart (RIM), and online k-means."""

from modicum.cluster.exemplars import ExemplarClustering
from modicum.cluster.kernel_rim import KernelRIM
from modicum.cluster.online_kmeans import OnlineKMeans
from modicum.cluster.rim import RIM

__all__ = ["RIM", "ExemplarClustering", "KernelRIM", "OnlineKMeans"]
