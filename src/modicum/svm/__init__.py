"""Classifiers with a margin, from one pass."""

from modicum.svm.stream_svc import StreamSVC
from modicum.svm.suggest import Suggestion, suggest_C

__all__ = ["StreamSVC", "Suggestion", "suggest_C"]
