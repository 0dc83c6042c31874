"""The part of the contract about state: what it is, whether it is valid, and how it is saved and put back."""

import copy
import os
import re
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from modicum.contract.loading import from_content, know_all_classes
from modicum.exceptions import StateError
from modicum.rules.invariants import Keyed, Scope, Violation, check_invariants, check_rule
from modicum.state.files import from_bytes, to_bytes, write_atomically

_FOREIGN = re.compile(r"_sklearn_|_skl_|_parent_|_metadata_|_lock$")  # what hangs on an estimator is not its state


class Saving(BaseEstimator):
    """State is every attribute that is neither a parameter nor listed in `_unsaved`."""

    _unsaved: ClassVar[tuple[str, ...]] = ("_source", "_derived", "_torn", "_reset")
    _dtype: str
    _kind: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exact state to one file, whole or not at all. `modicum.load` reads it."""
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
        """What is saved. A state that could not be loaded again is not: a good file stays as it is."""
        try:
            self._check_state()
        except Violation as violation:
            raise StateError(f"{type(self).__name__} can't be saved, as its state is invalid: {violation}.") from None
        return {"class": type(self).__name__, "params": self.get_params(deep=False), "state": self._fields()}

    def _fields(self) -> dict[str, Any]:
        skip = {*self.get_params(deep=False), *self._unsaved}
        return {name: value for name, value in vars(self).items() if name not in skip and not _FOREIGN.match(name)}

    def _restored(self) -> None:
        """Called once the state has been read from a file, and found valid."""

    def _check_state(self) -> None:
        """A `Violation` unless the invariants hold; a ValueError if parameters have become wrong since."""
        if not self._is_fitted():
            check_rule(Keyed(), self._fields(), Scope(self, {}))
            return
        self._check_whole()
        self._check_params()
        check_invariants(self, {"n_features": self.n_features_in_, "kind": self._kind, "dtype": self._dtype})

    def _copy_of_state(self) -> dict[str, Any]:
        return copy.deepcopy(self._fields())

    def _put_back(self, before: dict[str, Any]) -> None:
        """Be as a copy of the state says."""
        self._forget()
        self.__dict__.update(before)

    def __getstate__(self) -> dict[str, Any]:
        return self._guard().run(self._copied)

    def _copied(self) -> dict[str, Any]:
        """Copies of all attributes but the lock and the rows given to `fit`: what is pickled later must not change."""
        state = super().__getstate__()
        return copy.deepcopy({name: value for name, value in state.items() if name not in ("_lock", "_source")})
