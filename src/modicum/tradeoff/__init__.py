"""How much data, memory and time a wanted risk takes: the search for it, and the grid of all choices."""

from modicum.tradeoff.grid import tradeoff
from modicum.tradeoff.tradeoffs import Tradeoff
from modicum.tradeoff.tram import Tram

__all__ = ["Tradeoff", "Tram", "tradeoff"]
