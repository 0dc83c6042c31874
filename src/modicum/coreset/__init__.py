"""Coresets: small weighted summaries on which a solution is nearly as good as on all rows."""

from modicum.coreset.gaussian_mixture import WeightedGaussianMixture
from modicum.coreset.kmeans_coreset import KMeansCoreset
from modicum.coreset.mixture_coreset import MixtureCoreset
from modicum.coreset.seeding import kmeans_plusplus
from modicum.coreset.stream_gaussian_mixture import StreamGaussianMixture
from modicum.coreset.stream_kmeans import StreamKMeans

__all__ = [
    "KMeansCoreset",
    "MixtureCoreset",
    "StreamGaussianMixture",
    "StreamKMeans",
    "WeightedGaussianMixture",
    "kmeans_plusplus",
]
