"""Classifiers with a margin, from one pass."""

from modicum.svm.stream_svc import StreamSVC, suggest_C

__all__ = ["StreamSVC", "suggest_C"]
