"""Clumps: groups of rows of which only count and sums of statistics are kept, and how memory is divided into them."""

from modicum.clumps.allocation import Allocation, Cost, allocate
from modicum.clumps.compression import Compression
from modicum.clumps.items import Expectation, Items
from modicum.clumps.memory import Memory
from modicum.clumps.splits import Split, split_firmly, split_softly

__all__ = [
    "Allocation",
    "Compression",
    "Cost",
    "Expectation",
    "Items",
    "Memory",
    "Split",
    "allocate",
    "split_firmly",
    "split_softly",
]
