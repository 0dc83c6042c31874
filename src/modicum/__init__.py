"""Learn from more data than you can keep.

modicum learns from streams of any length in a fixed amount of memory. Public names load on first use, so that
`import modicum` is quick. A new name needs two lines: an entry in a table, by which it is found, and an import for
editors and type checkers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from modicum._version import __version__ as __version__

if TYPE_CHECKING:
    from modicum import checks as checks
    from modicum import cluster as cluster
    from modicum import coreset as coreset
    from modicum import crowd as crowd
    from modicum import datasets as datasets
    from modicum import distribute as distribute
    from modicum import evaluate as evaluate
    from modicum import exceptions as exceptions
    from modicum import families as families
    from modicum import kernels as kernels
    from modicum import mixture as mixture
    from modicum import pipeline as pipeline
    from modicum import plot as plot
    from modicum import regress as regress
    from modicum import select as select
    from modicum import streams as streams
    from modicum import svm as svm
    from modicum import topics as topics
    from modicum import tradeoff as tradeoff
    from modicum.checks import check_learner as check_learner
    from modicum.cluster import RIM as RIM
    from modicum.cluster import ExemplarClustering as ExemplarClustering
    from modicum.cluster import KernelRIM as KernelRIM
    from modicum.cluster import OnlineKMeans as OnlineKMeans
    from modicum.contract import Learner as Learner
    from modicum.contract import Traits as Traits
    from modicum.contract import load as load
    from modicum.coreset import KMeansCoreset as KMeansCoreset
    from modicum.coreset import MixtureCoreset as MixtureCoreset
    from modicum.coreset import StreamGaussianMixture as StreamGaussianMixture
    from modicum.coreset import StreamKMeans as StreamKMeans
    from modicum.coreset import WeightedGaussianMixture as WeightedGaussianMixture
    from modicum.crowd import CrowdClustering as CrowdClustering
    from modicum.crowd import CrowdFactorization as CrowdFactorization
    from modicum.mixture import DirichletProcessMixture as DirichletProcessMixture
    from modicum.mixture import MemoryBoundedMixture as MemoryBoundedMixture
    from modicum.pipeline import OneByOne as OneByOne
    from modicum.pipeline import PrincipalComponents as PrincipalComponents
    from modicum.pipeline import RandomFeatures as RandomFeatures
    from modicum.pipeline import StreamPipeline as StreamPipeline
    from modicum.pipeline import TableEncoder as TableEncoder
    from modicum.pipeline import WordCounts as WordCounts
    from modicum.pipeline import make_pipeline as make_pipeline
    from modicum.regress import KRLS as KRLS
    from modicum.regress import PrototypeRegressor as PrototypeRegressor
    from modicum.regress import SparseGPRegressor as SparseGPRegressor
    from modicum.select import BalancedSelection as BalancedSelection
    from modicum.select import BlockGreedy as BlockGreedy
    from modicum.select import OnlineGreedy as OnlineGreedy
    from modicum.select import Reservoir as Reservoir
    from modicum.select import SieveStreaming as SieveStreaming
    from modicum.select import SieveStreamingPlusPlus as SieveStreamingPlusPlus
    from modicum.select import StreamGreedy as StreamGreedy
    from modicum.select import ThreeSieves as ThreeSieves
    from modicum.streams import stream as stream
    from modicum.svm import StreamSVC as StreamSVC
    from modicum.topics import MemoryBoundedTopicModel as MemoryBoundedTopicModel
    from modicum.tradeoff import Tram as Tram

LEARNERS = {
    "BalancedSelection": "select",
    "BlockGreedy": "select",
    "ExemplarClustering": "cluster",
    "KMeansCoreset": "coreset",
    "KRLS": "regress",
    "KernelRIM": "cluster",
    "MemoryBoundedMixture": "mixture",
    "MemoryBoundedTopicModel": "topics",
    "MixtureCoreset": "coreset",
    "OnlineGreedy": "select",
    "OnlineKMeans": "cluster",
    "PrototypeRegressor": "regress",
    "RIM": "cluster",
    "Reservoir": "select",
    "SieveStreaming": "select",
    "SieveStreamingPlusPlus": "select",
    "SparseGPRegressor": "regress",
    "StreamGaussianMixture": "coreset",
    "StreamGreedy": "select",
    "StreamKMeans": "coreset",
    "StreamSVC": "svm",
    "ThreeSieves": "select",
}
CROWD = {
    "CrowdClustering": "crowd",
    "CrowdFactorization": "crowd",
}
PREPARATIONS = {
    "PrincipalComponents": "pipeline",
    "RandomFeatures": "pipeline",
    "StreamPipeline": "pipeline",
    "TableEncoder": "pipeline",
    "WordCounts": "pipeline",
}
_HOMES = {
    **LEARNERS,
    **CROWD,
    **PREPARATIONS,
    "DirichletProcessMixture": "mixture",
    "Learner": "contract",
    "OneByOne": "pipeline",
    "Traits": "contract",
    "Tram": "tradeoff",
    "WeightedGaussianMixture": "coreset",
    "check_learner": "checks",
    "load": "contract",
    "make_pipeline": "pipeline",
    "stream": "streams",
}
_ROOMS = (
    "checks",
    "cluster",
    "coreset",
    "crowd",
    "datasets",
    "distribute",
    "evaluate",
    "exceptions",
    "families",
    "kernels",
    "mixture",
    "pipeline",
    "plot",
    "regress",
    "select",
    "streams",
    "svm",
    "topics",
    "tradeoff",
)

__all__ = sorted([*_HOMES, *_ROOMS, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"modicum.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'modicum' has no attribute {name!r}")
    value = getattr(import_module(f"modicum.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def load_all_learners() -> dict[str, type["Learner"]]:
    """Every public learner by its name, those that prepare rows for others included."""
    return {name: __getattr__(name) for name in (*LEARNERS, *CROWD, *PREPARATIONS)}
