"""Coresets: small weighted summaries on which a solution is nearly as good as on all rows."""

from modicum.coreset.grid import tradeoff
from modicum.coreset.seeding import kmeans_plusplus
from modicum.coreset.tradeoffs import Tradeoff
from modicum.coreset.tram import Tram

__all__ = ["Tradeoff", "Tram", "kmeans_plusplus", "tradeoff"]
