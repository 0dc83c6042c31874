"""Groups of rows and the rows that stand for them."""

from modicum.cluster.exemplars import ExemplarClustering
from modicum.cluster.online_kmeans import OnlineKMeans

__all__ = ["ExemplarClustering", "OnlineKMeans"]
