"""Parts: pieces of state with attributes and methods of their own. Files refer to their classes by name."""

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar

from modicum.rules.params import Where


class Missing:
    """A placeholder for a function of which a file has only the name; `load` must be given the function."""

    def __init__(self, name: str):
        self.name = name


def register(cls: type, known: dict[str, Any]) -> None:
    """Register a class under its name, by which files refer to it; a second class of that name is a TypeError.

    A class that is redefined with the same module and qualified name, as in a notebook or by a reload, replaces the
    old one.
    """
    other = known.setdefault(cls.__name__, cls)
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(
            f"{cls.__module__} defines {cls.__name__}, but {other.__module__} already has a class of that name, and "
            "state files refer to classes by name. Choose another name."
        )
    known[cls.__name__] = cls


class Part(ABC):  # noqa: B024
    """Base of pieces of state. Subclasses are registered by name for `load`."""

    _known: ClassVar[dict[str, type["Part"]]] = {}
    _invariants: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        register(cls, Part._known)

    def _fields(self) -> dict[str, Any]:
        """The attributes that are saved; all by default."""
        return vars(self)


FUNCTION = Where(
    lambda value: isinstance(value, Missing) or (callable(value) and not isinstance(value, Part)), "a function"
)
