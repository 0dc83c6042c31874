"""What makes a set of rows good.

An objective holds the chosen rows and what it needs to score others. It looks at a block of candidates once
(`look`), which pays for everything the block shares (dissimilarities, kernel values), and the block then
answers as often as asked:

    block.gains()            what each candidate would add
    block.gain(i)            the same for one, after changes
    block.swap_gains()       (gain, slot) of the best swap of each candidate
    block.swap_gain(i)       the same for one, after changes
    block.add(i)             candidate i joins; returns its slot
    block.swap(i, slot)      candidate i takes the place of a chosen row

`modicum.select.stream_greedy` needs no more than this. What a user passes to a selector is an objective without
a set: `fitted(rows)` fills in what depends on the data, `started(like, limit, n_validation)` gives it an empty set.
"""

from typing import Any, Protocol

import numpy as np


class Block(Protocol):
    """A block of candidates that an objective has looked at."""

    def gains(self) -> np.ndarray: ...

    def gain(self, i: int) -> float: ...

    def swap_gains(self) -> tuple[np.ndarray, np.ndarray]: ...

    def swap_gain(self, i: int) -> tuple[float, int]: ...

    def add(self, i: int) -> int: ...

    def swap(self, i: int, slot: int) -> None: ...


class Objective(Protocol):
    """A set function with chosen rows inside."""

    @property
    def value(self) -> float: ...

    @property
    def n_chosen(self) -> int: ...

    def look(self, candidates: Any) -> Block: ...
