"""Where a stream changes."""

from modicum.drift.adwin import Adwin, Change

__all__ = ["Adwin", "Change"]
