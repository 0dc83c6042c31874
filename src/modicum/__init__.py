"""Learn from more data than you can keep.

modicum learns from streams of any length in a fixed amount of memory. Public names load on first use, so that
`import modicum` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from modicum._version import __version__

if TYPE_CHECKING:
    from modicum.base import Learner, Traits, load
    from modicum.checks import check_learner
    from modicum.cluster.exemplars import ExemplarClustering
    from modicum.cluster.online_kmeans import OnlineKMeans
    from modicum.coreset.gaussian_mixture import WeightedGaussianMixture
    from modicum.coreset.kmeans_coreset import KMeansCoreset
    from modicum.coreset.mixture_coreset import MixtureCoreset
    from modicum.coreset.stream_gaussian_mixture import StreamGaussianMixture
    from modicum.coreset.stream_kmeans import StreamKMeans
    from modicum.coreset.tram import Tram
    from modicum.mixture.dirichlet_process import DirichletProcessMixture
    from modicum.mixture.memory_bounded import MemoryBoundedMixture
    from modicum.regress.krls import KRLS
    from modicum.regress.prototypes import PrototypeRegressor
    from modicum.regress.sparse_gp import SparseGPRegressor
    from modicum.reservoir import Reservoir
    from modicum.select.block_greedy import BlockGreedy
    from modicum.select.online_greedy import OnlineGreedy
    from modicum.select.sieve_streaming import SieveStreaming
    from modicum.select.sieve_streaming_plus_plus import SieveStreamingPlusPlus
    from modicum.select.stream_greedy import StreamGreedy
    from modicum.select.three_sieves import ThreeSieves
    from modicum.streams import stream
    from modicum.svm.stream_svc import StreamSVC

_HOMES = {
    "BlockGreedy": "select.block_greedy",
    "DirichletProcessMixture": "mixture.dirichlet_process",
    "ExemplarClustering": "cluster.exemplars",
    "KMeansCoreset": "coreset.kmeans_coreset",
    "KRLS": "regress.krls",
    "Learner": "base",
    "MemoryBoundedMixture": "mixture.memory_bounded",
    "MixtureCoreset": "coreset.mixture_coreset",
    "OnlineGreedy": "select.online_greedy",
    "OnlineKMeans": "cluster.online_kmeans",
    "PrototypeRegressor": "regress.prototypes",
    "Reservoir": "reservoir",
    "SieveStreaming": "select.sieve_streaming",
    "SieveStreamingPlusPlus": "select.sieve_streaming_plus_plus",
    "SparseGPRegressor": "regress.sparse_gp",
    "StreamGaussianMixture": "coreset.stream_gaussian_mixture",
    "StreamGreedy": "select.stream_greedy",
    "StreamKMeans": "coreset.stream_kmeans",
    "StreamSVC": "svm.stream_svc",
    "ThreeSieves": "select.three_sieves",
    "Traits": "base",
    "Tram": "coreset.tram",
    "WeightedGaussianMixture": "coreset.gaussian_mixture",
    "check_learner": "checks",
    "load": "base",
    "stream": "streams",
}
LEARNERS = (
    "BlockGreedy",
    "ExemplarClustering",
    "KMeansCoreset",
    "KRLS",
    "MemoryBoundedMixture",
    "MixtureCoreset",
    "OnlineGreedy",
    "OnlineKMeans",
    "PrototypeRegressor",
    "Reservoir",
    "SieveStreaming",
    "SieveStreamingPlusPlus",
    "SparseGPRegressor",
    "StreamGaussianMixture",
    "StreamGreedy",
    "StreamKMeans",
    "StreamSVC",
    "ThreeSieves",
)

__all__ = [
    "KRLS",
    "BlockGreedy",
    "DirichletProcessMixture",
    "ExemplarClustering",
    "KMeansCoreset",
    "Learner",
    "MemoryBoundedMixture",
    "MixtureCoreset",
    "OnlineGreedy",
    "OnlineKMeans",
    "PrototypeRegressor",
    "Reservoir",
    "SieveStreaming",
    "SieveStreamingPlusPlus",
    "SparseGPRegressor",
    "StreamGaussianMixture",
    "StreamGreedy",
    "StreamKMeans",
    "StreamSVC",
    "ThreeSieves",
    "Traits",
    "Tram",
    "WeightedGaussianMixture",
    "__version__",
    "check_learner",
    "load",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'modicum' has no attribute {name!r}")
    value = getattr(import_module(f"modicum.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def load_all_learners() -> dict[str, type["Learner"]]:
    """Every public learner by its name."""
    return {name: __getattr__(name) for name in LEARNERS}
