"""How much data, memory and time a given risk takes: a search for it, and the grid of all choices."""

from modicum.tradeoff.grid import tradeoff
from modicum.tradeoff.table import Tradeoff
from modicum.tradeoff.tram import Tram

__all__ = ["Tradeoff", "Tram", "tradeoff"]
