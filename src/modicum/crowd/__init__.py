"""Clusters from what people say: models of how workers sort items, and plans of whom to ask what."""

from modicum.crowd.adaptive import coarse_to_fine, task_worth, uncertain
from modicum.crowd.answers import Answers
from modicum.crowd.clustering import CrowdClustering
from modicum.crowd.factorization import CrowdFactorization
from modicum.crowd.reading import as_answers
from modicum.crowd.tasks import Plan, assign, random_plan

__all__ = [
    "Answers",
    "CrowdClustering",
    "CrowdFactorization",
    "Plan",
    "as_answers",
    "assign",
    "coarse_to_fine",
    "random_plan",
    "task_worth",
    "uncertain",
]
