"""The contents of a report for each kind of learner.

`PAGES` maps the name of a class to a function that returns the first sentences and the sections of its page. A learner
without an entry has the page of its nearest base class. A new family adds its function here.
"""

from collections.abc import Callable
from typing import Any

from modicum.contract.learner import Learner
from modicum.plot.page import Context
from modicum.plot.pages.any_learner import any_learner
from modicum.plot.pages.classifiers import stream_svc
from modicum.plot.pages.coresets import kmeans_coreset, mixture_coreset, stream_gaussian_mixture, stream_kmeans
from modicum.plot.pages.crowd import crowd_learner
from modicum.plot.pages.exemplars import exemplar_clustering
from modicum.plot.pages.information import information_clusterer
from modicum.plot.pages.mixtures import memory_bounded_mixture
from modicum.plot.pages.online_kmeans import online_kmeans
from modicum.plot.pages.regressors import krls, prototype_regressor, sparse_gp
from modicum.plot.pages.reservoir import reservoir
from modicum.plot.pages.selectors import selector
from modicum.plot.pages.shared import Content
from modicum.plot.pages.topics import memory_bounded_topic_model

PAGES: dict[str, Callable[[Any, Context], Content]] = {
    "CrowdLearner": crowd_learner,
    "ExemplarClustering": exemplar_clustering,
    "InformationClusterer": information_clusterer,
    "KMeansCoreset": kmeans_coreset,
    "KRLS": krls,
    "Learner": any_learner,
    "MemoryBoundedMixture": memory_bounded_mixture,
    "MemoryBoundedTopicModel": memory_bounded_topic_model,
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
    """The first sentences and the sections of a learner's page, or of that of its nearest base class."""
    make = next(PAGES[base.__name__] for base in type(learner).__mro__ if base.__name__ in PAGES)
    return make(learner, context)
