"""State of learners as plain data: parts, packing, state files and random generators."""

from modicum.state.files import from_bytes, read, to_bytes, write_atomically
from modicum.state.packing import held_bytes, pack, unpack
from modicum.state.part import Part

__all__ = ["Part", "from_bytes", "held_bytes", "pack", "read", "to_bytes", "unpack", "write_atomically"]
