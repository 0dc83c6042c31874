"""State of learners: which attributes it has, whether it is valid, and how it is saved and restored."""

import copy
import os
import re
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from modicum.contract.loading import from_content, know_all_classes
from modicum.exceptions import StateError
from modicum.rules.invariants import Keyed, Scope, Violation, check_invariants, check_rule
from modicum.state.files import from_bytes, to_bytes, write_atomically

_FOREIGN = re.compile(r"_sklearn_|_skl_|_parent_|_metadata_|_lock$")  # set on estimators by others


class Saving(BaseEstimator):
    """Saving and loading. The state is every attribute that is neither a parameter nor listed in `_unsaved`."""

    _unsaved: ClassVar[tuple[str, ...]] = ("_source", "_derived", "_torn", "_reset", "_is_prepared", "_order")
    _dtype: str
    _kind: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exact state to one file, atomically. `modicum.load` reads it."""
        write_atomically(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The exact state as bytes."""
        return to_bytes(self._content())

    @classmethod
    def from_bytes(cls, blob: bytes, **given: Any) -> Self:
        """The learner that `to_bytes` described; `given` as in `modicum.load`."""
        know_all_classes()
        learner = from_content(from_bytes(blob), "the state", **given)
        if not isinstance(learner, cls):
            raise StateError(f"the state is of a {type(learner).__name__}, not a {cls.__name__}.")
        return learner

    def _content(self) -> dict[str, Any]:
        """What is saved; a `StateError` for an invalid state, so that it never replaces a valid file."""
        try:
            self._check_state()
        except Violation as violation:
            raise StateError(
                f"{type(self).__name__} can't be saved because its state is invalid: {violation}."
            ) from None
        return {"class": type(self).__name__, "params": self.get_params(deep=False), "state": self._fields()}

    def _fields(self) -> dict[str, Any]:
        skip = {*self.get_params(deep=False), *self._unsaved}
        return {name: value for name, value in vars(self).items() if name not in skip and not _FOREIGN.match(name)}

    def _restored(self) -> None:
        """Hook: called when the state has been loaded or adopted, and is valid."""

    def _check_state(self) -> None:
        """Raise a `Violation` unless the invariants hold, and a ValueError if a parameter is invalid."""
        if not self._is_fitted():
            check_rule(Keyed(), self._fields(), Scope(self, {}))
            return
        self._check_whole()
        self._check_params()
        check_invariants(self, {"n_features": self.n_features_in_, "kind": self._kind, "dtype": self._dtype})

    def _copy_of_state(self) -> dict[str, Any]:
        return copy.deepcopy(self._fields())

    def _put_back(self, before: dict[str, Any]) -> None:
        """Replace the state by a copy made before."""
        self._forget()
        self.__dict__.update(before)

    def __getstate__(self) -> dict[str, Any]:
        return self._guard().run(self._copied)

    def _copied(self) -> dict[str, Any]:
        """Copies of all attributes except the lock and the rows given to `fit`; learning must not change them later."""
        state = super().__getstate__()
        return copy.deepcopy({name: value for name, value in state.items() if name not in ("_lock", "_source")})
