"""Coresets: small weighted summaries; a model fitted to one is nearly as good as one fitted to all rows."""

from modicum.coreset.kmeans_coreset import KMeansCoreset
from modicum.coreset.mixture_coreset import MixtureCoreset
from modicum.coreset.seeding import kmeans_plusplus
from modicum.coreset.stream_gaussian_mixture import StreamGaussianMixture
from modicum.coreset.stream_kmeans import StreamKMeans
from modicum.coreset.weighted_gaussian_mixture import WeightedGaussianMixture

__all__ = [
    "KMeansCoreset",
    "MixtureCoreset",
    "StreamGaussianMixture",
    "StreamKMeans",
    "WeightedGaussianMixture",
    "kmeans_plusplus",
]
