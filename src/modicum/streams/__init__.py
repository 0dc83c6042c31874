"""Streams: rows from almost anything, a bounded number at a time."""

from modicum.streams.chunks import Chunk
from modicum.streams.readers.paths import Paths
from modicum.streams.stream import Stream, stream

__all__ = ["Chunk", "Paths", "Stream", "stream"]
