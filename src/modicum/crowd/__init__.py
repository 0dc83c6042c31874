"""Clusters from what people say: models of how workers sort items, and plans of whom to ask what."""

from modicum.crowd.answers import Answers
from modicum.crowd.clustering import CrowdClustering
from modicum.crowd.factorization import CrowdFactorization
from modicum.crowd.reading import as_answers

__all__ = ["Answers", "CrowdClustering", "CrowdFactorization", "as_answers"]
