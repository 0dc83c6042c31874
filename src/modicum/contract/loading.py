"""Learners from state files."""

import os
from typing import Any

from modicum.exceptions import StateError
from modicum.rules.invariants import Violation, check_invariants
from modicum.state.files import MALFORMED, read
from modicum.state.packing import is_learner, missing_functions, restore
from modicum.state.part import Part


def load(path: str | os.PathLike[str], **given: Any) -> Any:
    """The learner saved in `path`, exactly as it was.

    A file can't hold functions. If a parameter of the learner is one (a `dissimilarity`, for example), give it again
    under the name of the parameter: `load(path, dissimilarity=edit_distance)`.
    """
    return from_content(read_content(path), str(path), **given)


def read_content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a state file."""
    know_all_classes()
    return read(path)


def know_all_classes() -> None:
    """Import all learners, as a file refers to the classes of learners and parts by name."""
    import modicum

    modicum.load_all_learners()


def from_content(content: dict[str, Any], source: str, **given: Any) -> Any:
    """A learner from the content of a state file, with its state checked."""
    try:
        params = content["params"] | given
        for name, value in params.items():
            for missing in missing_functions(value):
                raise StateError(
                    f"{source} was made with the function {missing.name!r} as {name}, which a file can't hold. "
                    f"Give it again: load(path, {name}={missing.name})"
                )
        learner = restore({**content, "params": params}, source)
        for value in params.values():
            if is_learner(value):
                value._check_state()
            elif isinstance(value, Part):
                check_invariants(value, {})
        learner._check_state()
        learner._restored()
    except StateError:
        raise
    except Violation as violation:
        raise StateError(f"{source} holds an invalid {content['class']}: {violation}.") from None
    except MALFORMED as error:
        raise StateError(f"{source} is damaged: {type(error).__name__} {error}.") from None
    return learner
