"""Learn from more data than you can keep.

modicum learns from streams of any length in a fixed amount of memory. Public names load on first use, so that
`import modicum` is quick. A new name needs two lines: one in a table, by which it is found, and an import, by which
editors and type checkers know it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from modicum._version import __version__ as __version__

if TYPE_CHECKING:
    from modicum.base import Learner as Learner
    from modicum.base import Traits as Traits
    from modicum.base import load as load
    from modicum.checks import check_learner as check_learner
    from modicum.cluster.exemplars import ExemplarClustering as ExemplarClustering
    from modicum.cluster.online_kmeans import OnlineKMeans as OnlineKMeans
    from modicum.coreset.gaussian_mixture import WeightedGaussianMixture as WeightedGaussianMixture
    from modicum.coreset.kmeans_coreset import KMeansCoreset as KMeansCoreset
    from modicum.coreset.mixture_coreset import MixtureCoreset as MixtureCoreset
    from modicum.coreset.stream_gaussian_mixture import StreamGaussianMixture as StreamGaussianMixture
    from modicum.coreset.stream_kmeans import StreamKMeans as StreamKMeans
    from modicum.coreset.tram import Tram as Tram
    from modicum.mixture.dirichlet_process import DirichletProcessMixture as DirichletProcessMixture
    from modicum.mixture.memory_bounded import MemoryBoundedMixture as MemoryBoundedMixture
    from modicum.regress.krls import KRLS as KRLS
    from modicum.regress.prototypes import PrototypeRegressor as PrototypeRegressor
    from modicum.regress.sparse_gp import SparseGPRegressor as SparseGPRegressor
    from modicum.reservoir import Reservoir as Reservoir
    from modicum.select.block_greedy import BlockGreedy as BlockGreedy
    from modicum.select.online_greedy import OnlineGreedy as OnlineGreedy
    from modicum.select.sieve_streaming import SieveStreaming as SieveStreaming
    from modicum.select.sieve_streaming_plus_plus import SieveStreamingPlusPlus as SieveStreamingPlusPlus
    from modicum.select.stream_greedy import StreamGreedy as StreamGreedy
    from modicum.select.three_sieves import ThreeSieves as ThreeSieves
    from modicum.streams import stream as stream
    from modicum.svm.stream_svc import StreamSVC as StreamSVC

LEARNERS = {
    "BlockGreedy": "select.block_greedy",
    "ExemplarClustering": "cluster.exemplars",
    "KMeansCoreset": "coreset.kmeans_coreset",
    "KRLS": "regress.krls",
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
}
_HOMES = LEARNERS | {
    "DirichletProcessMixture": "mixture.dirichlet_process",
    "Learner": "base",
    "Traits": "base",
    "Tram": "coreset.tram",
    "WeightedGaussianMixture": "coreset.gaussian_mixture",
    "check_learner": "checks",
    "load": "base",
    "stream": "streams",
}

__all__ = sorted([*_HOMES, "__version__"])


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
