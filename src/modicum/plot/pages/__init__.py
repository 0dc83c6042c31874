"""What a report says about each kind of learner.

`PAGES` maps the name of a learner's class to a function that returns one sentence and the sections below it. A new
family adds its function there; subclasses, and learners without a page of their own, take that of their nearest base.
"""

from collections.abc import Callable
from typing import Any

from modicum.contract.learner import Learner
from modicum.plot.page import Context
from modicum.plot.pages.blocks import Content
from modicum.plot.pages.classifiers import stream_svc
from modicum.plot.pages.coresets import kmeans_coreset, mixture_coreset, stream_gaussian_mixture, stream_kmeans
from modicum.plot.pages.exemplars import exemplar_clustering
from modicum.plot.pages.mixtures import memory_bounded_mixture
from modicum.plot.pages.others import any_learner, online_kmeans, reservoir
from modicum.plot.pages.regressors import krls, prototype_regressor, sparse_gp
from modicum.plot.pages.selectors import selector

PAGES: dict[str, Callable[[Any, Context], Content]] = {
    "ExemplarClustering": exemplar_clustering,
    "KMeansCoreset": kmeans_coreset,
    "KRLS": krls,
    "Learner": any_learner,
    "MemoryBoundedMixture": memory_bounded_mixture,
    "MixtureCoreset": mixture_coreset,
    "OnlineKMeans": online_kmeans,
    "PrototypeRegressor": prototype_regressor,
    "Reservoir": reservoir,
    "Selector": selector,
    "SparseGPRegressor": sparse_gp,
    "StreamGaussianMixture": stream_gaussian_mixture,
    "StreamKMeans": stream_kmeans,
    "StreamSVC": stream_svc,
}


def content_of(learner: Learner, context: Context) -> Content:
    """The sentence and sections of a learner's own page, or of its nearest base that has one."""
    make = next(PAGES[base.__name__] for base in type(learner).__mro__ if base.__name__ in PAGES)
    return make(learner, context)
