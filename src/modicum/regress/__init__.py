"""Numbers predicted from a stream, within the memory that was given."""

from modicum.regress.krls import KRLS

__all__ = ["KRLS"]
