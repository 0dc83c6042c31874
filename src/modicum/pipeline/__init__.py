"""Pipelines: preparation and learning of rows as people have them, as one learner."""

from modicum.pipeline.images import use_features
from modicum.pipeline.one_by_one import OneByOne
from modicum.pipeline.pixels import Pixels
from modicum.pipeline.preparation import Preparation
from modicum.pipeline.principal_components import PrincipalComponents
from modicum.pipeline.random_features import RandomFeatures
from modicum.pipeline.stream_pipeline import StreamPipeline, final_learner, make_pipeline
from modicum.pipeline.table_encoder import TableEncoder
from modicum.pipeline.word_counts import WordCounts

__all__ = [
    "OneByOne",
    "Pixels",
    "Preparation",
    "PrincipalComponents",
    "RandomFeatures",
    "StreamPipeline",
    "TableEncoder",
    "WordCounts",
    "final_learner",
    "make_pipeline",
    "use_features",
]
