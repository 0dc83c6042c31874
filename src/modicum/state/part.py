"""Parts: pieces of state that several learners share, known by their class's name to the files that hold them."""

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar

from modicum.rules.params import Where


class Missing:
    """Stands for a function the file can only name; `load` must be given the real one."""

    def __init__(self, name: str):
        self.name = name


def register(cls: type, known: dict[str, Any]) -> None:
    """Make a class known by its name, under which files refer to it; a second class of that name is refused.

    A class that is defined again at the same place, as in a notebook or by a reload, takes the place of the old one.
    """
    other = known.setdefault(cls.__name__, cls)
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(
            f"{cls.__module__} defines {cls.__name__}, but {other.__module__} has a class of that name already, and "
            "saved state refers to classes by name. Choose another name."
        )
    known[cls.__name__] = cls


class Part(ABC):  # noqa: B024
    """A piece of learner state. Every subclass is known by its name to `load`, which makes no abstract ones."""

    _known: ClassVar[dict[str, type["Part"]]] = {}
    _invariants: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        register(cls, Part._known)

    def _fields(self) -> dict[str, Any]:
        """What is saved; by default every attribute."""
        return vars(self)


FUNCTION = Where(
    lambda value: isinstance(value, Missing) or (callable(value) and not isinstance(value, Part)), "a function"
)
