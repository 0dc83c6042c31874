"""Choose the rows worth keeping: objectives, and the algorithms that raise them on a stream."""

from modicum.reservoir import Reservoir

__all__ = ["Reservoir"]
