"""The interface between objectives and the algorithms that maximise them."""

from typing import Any, Protocol

import numpy as np


class Block(Protocol):
    """A block of candidates, ready to be scored."""

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
