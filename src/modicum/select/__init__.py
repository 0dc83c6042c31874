"""Selectors: objectives of sets of rows, and algorithms that maximise them on a stream."""

from modicum.select.balanced import BalancedSelection
from modicum.select.block_greedy import BlockGreedy
from modicum.select.online_greedy import OnlineGreedy
from modicum.select.outliers import Outliers, find_outliers
from modicum.select.reservoir import Reservoir
from modicum.select.sieve_streaming import SieveStreaming
from modicum.select.sieve_streaming_plus_plus import SieveStreamingPlusPlus
from modicum.select.stream_greedy import StreamGreedy
from modicum.select.three_sieves import ThreeSieves

__all__ = [
    "BalancedSelection",
    "BlockGreedy",
    "OnlineGreedy",
    "Outliers",
    "Reservoir",
    "SieveStreaming",
    "SieveStreamingPlusPlus",
    "StreamGreedy",
    "ThreeSieves",
    "find_outliers",
]
