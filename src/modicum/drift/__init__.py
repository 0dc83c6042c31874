"""Where a stream changes, and how what is over loses weight."""

from modicum.drift.adwin import Adwin, Change
from modicum.drift.changes import Changes
from modicum.drift.clock import Clock
from modicum.drift.error_watch import ErrorWatch
from modicum.drift.words import changes_in_words, half_life_in_words

__all__ = ["Adwin", "Change", "Changes", "Clock", "ErrorWatch", "changes_in_words", "half_life_in_words"]
