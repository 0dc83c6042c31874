"""Where a stream changes."""

from modicum.drift.adwin import Adwin, Change
from modicum.drift.changes import Changes
from modicum.drift.error_watch import ErrorWatch

__all__ = ["Adwin", "Change", "Changes", "ErrorWatch"]
