"""Learners from the files that hold them."""

import os
from typing import Any

from modicum.exceptions import StateError
from modicum.rules.invariants import Violation, check_invariants
from modicum.state.files import NONSENSE, read
from modicum.state.packing import is_learner, missing_functions, restore
from modicum.state.part import Part


def load(path: str | os.PathLike[str], **given: Any) -> Any:
    """The learner saved in `path`, exactly as it was.

    A file can't hold functions: for a learner made with one (a `dissimilarity` of your own, say) give it
    again by the parameter's name, `load(path, dissimilarity=edit_distance)`.
    """
    return from_content(read_content(path), str(path), **given)


def read_content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a state file holds."""
    know_all_classes()
    return read(path)


def know_all_classes() -> None:
    """A file names the classes of learners and parts, so that all of them must have been imported."""
    import modicum

    modicum.load_all_learners()


def from_content(content: dict[str, Any], source: str, **given: Any) -> Any:
    """A learner from the content of a state file."""
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
    except NONSENSE as error:
        raise StateError(f"{source} is damaged: {type(error).__name__} {error}.") from None
    return learner
