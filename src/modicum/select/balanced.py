"""Balanced selection: rows of every group of a stream, each group with its quota (cochran1977, chapter 5)."""

import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from modicum.contract.learner import Learner, Traits
from modicum.contract.picks import Picks
from modicum.exceptions import BudgetError, DataError, StateError
from modicum.rows import n_rows, take
from modicum.rules.budget import as_budget
from modicum.rules.invariants import Array, Each, Is, Scope, Violation
from modicum.rules.params import RANDOM_STATE, Int, OneOf, Where
from modicum.select.quotas import are_quotas, even_quotas, quota_of
from modicum.select.reservoir import Reservoir
from modicum.state.packing import missing_functions

VALUE = Where(lambda value: isinstance(value, str | int | float), "a string, a number, True or False")


def count_param(learner: Any) -> str | None:
    """The parameter of a learner that says how many rows it picks, if it can give up some of them later."""
    return getattr(type(learner), "_count_param", None) if isinstance(learner, Learner) else None


LEARNER = Where(
    lambda value: value is None or count_param(value) is not None,
    "None or one of ExemplarClustering, OnlineGreedy, StreamGreedy and Reservoir",
)


class _MemberAsGiven(Is):
    """The rule that the learner of a group is fitted, and of the class of the given one."""

    def check(self, value: Any, scope: Scope) -> None:
        given = scope.owner._given_learner()
        if type(value) is not type(given) or not value._is_fitted():
            raise Violation(f"a fitted {type(given).__name__}")
        for name, param in value.get_params(deep=False).items():
            if missing_functions(param):  # a file can't hold functions: take them from the given learner
                setattr(value, name, getattr(given, name))
        value._check_params()
        super().check(value, scope)


class BalancedSelection(Learner):
    """A selection with a quota for each group: as many rows of every class, source or day.

    The groups are the values of y, which need not be known in advance. Each has a learner of its own, which chooses
    among the rows of the group alone. With equal quotas, a group of fewer rows than its quota is chosen whole, and
    its remaining places go to the others, evenly again; the rest of an uneven division goes to the groups seen first.

    Every group holds as many rows as it could still be given. That number never rises, since it depends on the
    numbers of rows per group alone and these only grow: when it falls, the learner of the group gives up the rows that
    it needs least. So the quotas are exact at any moment, for any order of the stream.

    Guarantee: quotas are exact; within a group, that of the learner. Equal rows are chosen once by most learners.
    Cost: that of the learner. Memory: all groups share the learner's `budget`, each with the same part of it; they hold
    at most as many rows to choose as are asked for, and one more per group.

    Parameters
    ----------
    learner : learner or None, default=None
        How rows are chosen within a group, and how many in all groups together: `ExemplarClustering(100)`,
        `OnlineGreedy(100)`, `StreamGreedy(100)` or `Reservoir(100)`. None: `Reservoir(100)`, a stratified sample.
    quotas : {"equal"} or dict, default="equal"
        "equal", or the most rows of each value, such as {"cat": 50, "dog": 30}. Then other values are left out, the
        number of rows is the sum, and places that a value can't fill stay empty.
    max_groups : int, default=100
        More groups than these are an error: each takes memory.
    random_state : int, Generator or None, default=None
        Seeds the learners of the groups, unless the given one has a `random_state` of its own.

    Attributes
    ----------
    groups_ : list
        Values of y, in the order in which they were seen.
    group_counts_, quotas_ : ndarray of shape (n_groups,)
        Rows seen, and rows that are chosen, of each group.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import BalancedSelection, Reservoir
    >>> X = np.arange(1000.0)[:, None]
    >>> y = np.where(X[:, 0] < 990, "common", "rare")
    >>> model = BalancedSelection(Reservoir(30), random_state=0).fit(X, y)
    >>> dict(zip(model.groups_, model.quotas_.tolist()))
    {'common': 20, 'rare': 10}

    References
    ----------
    cochran1977, chapter 5 (stratified samples). gomes2010, schlegel2017 (the learners within groups).
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {
        "learner": [LEARNER],
        "quotas": [OneOf("equal"), Where(are_quotas, "a dict of positive ints by value")],
        "max_groups": [Int(1)],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "_values": Each(VALUE, "n_groups"),
        "_counts": Array("int64", "n_groups", low=1),
        "_members": Each(_MemberAsGiven(Learner), "n_groups"),
    }

    _values: list[Any]
    _counts: np.ndarray
    _members: list[Any]

    def __init__(self, learner: Any = None, *, quotas: Any = "equal", max_groups: int = 100, random_state: Any = None):
        self.learner = learner
        self.quotas = quotas
        self.max_groups = max_groups
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _given_learner(self) -> Any:
        return Reservoir(100) if self.learner is None else self.learner

    def _check_params(self) -> None:
        super()._check_params()
        given = self._given_learner()
        given._check_params()
        if not isinstance(self._total(), int | np.integer):
            name = count_param(given)
            raise ValueError(
                f"{type(self).__name__}: the {name} of the learner must be a number of rows; got {self._total()!r}."
            )
        for name in ("locked", "initial"):
            if given.get_params(deep=False).get(name) is not None:
                raise ValueError(f"{type(self).__name__}: a learner with {name} rows can't be balanced.")
        if getattr(given, "_given_objective", None) and given._given_objective().needs_targets:
            raise ValueError(
                f"{type(self).__name__}: the objective of the learner needs targets, but y has the groups. "
                'Choose another objective, such as "variance".'
            )

    def _total(self) -> Any:
        """How many rows are chosen in all groups together."""
        given = self._given_learner()
        return getattr(given, str(count_param(given)))

    def _check_target(self, y: Any, count: int) -> np.ndarray:
        self._require_target(y)
        found = super()._check_target(y, count)
        assert found is not None
        return found.astype(np.str_) if found.dtype.kind == "S" else found

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        known = set(self._values) if self._is_fitted() else set()
        new = {value: None for value in self._groups_of(y) if value not in known and self._has_quota(value)}
        self._check_number(len(known) + len(new), DataError)

    def _check_number(self, count: int, kind: type[ValueError]) -> None:
        if count > self.max_groups:
            raise kind(
                f"{type(self).__name__}: y has {count} values so far, and max_groups is {self.max_groups}. Raise it, "
                "or balance by something with fewer values."
            )

    def _groups_of(self, y: Any) -> dict[Any, np.ndarray]:
        """The rows of each value, in the order in which values are seen."""
        values, own = _numbered(y)
        for number, value in enumerate(values):
            if not VALUE.accepts(value) or value != value:
                row = int(np.argmax(own == number))
                raise DataError(
                    f"{type(self).__name__}: the group of row {row} of this chunk is {value!r}; it must be a string or "
                    "a number. Fill in or drop such rows first."
                )
        order = np.argsort(own, kind="stable")
        return dict(zip(values, np.split(order, np.cumsum(np.bincount(own))[:-1]), strict=True))

    def _has_quota(self, value: Any) -> bool:
        return isinstance(self.quotas, str) or quota_of(value, self.quotas) > 0

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_values"):
            self._values, self._counts, self._members = [], np.empty(0, np.int64), []
        groups = {value: rows for value, rows in self._groups_of(y).items() if self._has_quota(value)}
        for value, rows in groups.items():
            if value not in self._values:
                self._values.append(value)
                self._counts = np.append(self._counts, 0)
                self._members.append(self._new_member())
            self._counts[self._values.index(value)] += len(rows)
        try:
            self._make_room(self._members)
            for value, rows in groups.items():
                own = None if weight is None else weight[rows]
                self._members[self._values.index(value)].partial_fit(take(X, rows), None, own, row_ids[rows])
        except BudgetError as error:
            raise BudgetError(
                f"{type(self).__name__}: {len(self._values)} groups share the learner's budget of "
                f"{as_budget(self._given_learner().budget)}, and the part of one is too small: {error}"
            ) from None

    def _new_member(self) -> Any:
        seed = int(self._rng.integers(2**31))
        member = clone(self._given_learner())
        if member.get_params(deep=False).get("random_state", seed) is None:
            member.set_params(random_state=seed)
        return member

    def _make_room(self, members: list[Any]) -> None:
        """Let the learners of groups give up rows that can't be chosen any more, and memory that others need."""
        budget = self._budget_of_group()
        for member, room in zip(members, self._rooms(), strict=True):
            if (getattr(member, str(count_param(member))), member.budget) != (room, budget) or not member._is_fitted():
                member._resize(room, budget)

    def _rooms(self) -> list[int]:
        """How many rows each group may still be given."""
        if isinstance(self.quotas, str):
            return [max(1, even_quotas(self._counts, self._total())[1])] * len(self._values)
        return [quota_of(value, self.quotas) for value in self._values]

    def _budget_of_group(self) -> int | str | None:
        """The part of the learner's budget that each group has: it is halved whenever their number has doubled."""
        given = self._given_learner()
        budget, parts = as_budget(given.budget), 2 ** (len(self._values) - 1).bit_length()
        if count_param(given) == "budget" or budget == as_budget(None):
            return None
        return f"{max(1, budget.nbytes // parts)} B" if budget.rows is None else max(1, budget.rows // parts)

    def _end_of_stream(self) -> None:
        for member in self._members:
            member._end_of_stream()

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def groups_(self) -> list[Any]:
        return list(self._values)

    @property
    def group_counts_(self) -> np.ndarray:
        return self._counts

    @property
    def quotas_(self) -> np.ndarray:
        if isinstance(self.quotas, str):
            return even_quotas(self._counts, self._total())[0]
        return np.minimum(self._counts, self._rooms())

    def learner_of(self, value: Any) -> Any:
        """The learner of a group. It may hold one row more than the quota of the group."""
        self._check_fitted()
        if value not in self._values:
            raise ValueError(f"{type(self).__name__}: no rows of the group {value!r} were learned.")
        return self._members[self._values.index(value)]

    def picks(self) -> Picks:
        """The chosen rows of all groups, with their groups as targets."""
        return self._derive("picks", self._all_picks)

    def _all_picks(self) -> Picks:
        chosen = [(value, self._picks_of(i)) for i, value in enumerate(self._values) if self.quotas_[i]]
        if not chosen:
            return Picks("pick", self._no_rows(), np.empty(0, np.int64), targets=np.empty(0, np.str_))
        each = [picks for _, picks in chosen]
        weights = [picks.weights for picks in each if picks.weights is not None]
        targets = np.repeat(_as_array([value for value, _ in chosen]), [len(picks) for picks in each])
        return Picks(
            each[0].kind,
            _joined([picks.rows for picks in each]),
            np.concatenate([picks.ids for picks in each]),
            np.concatenate(weights) if weights else None,
            targets,
        )

    def _picks_of(self, group: int) -> Picks:
        """The picks of a group, without one that its quota does not include."""
        member, quota = self._members[group], int(self.quotas_[group])
        if len(picks := member.picks()) > quota:
            fewer = copy.deepcopy(member)
            fewer._resize(quota, member.budget)
            picks = fewer.picks()
        return picks

    def _no_rows(self) -> Any:
        if self._kind == "objects":
            return []
        none = np.empty((0, self.n_features_in_), self._dtype)
        return sparse.csr_matrix(none) if self._kind == "sparse" else none

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """What the learner of the nearest group says of each row, and its group."""
        X = self._check_input(X)
        tables = [member.table(X) for member in self._members]
        if not tables:
            raise ValueError(f"{type(self).__name__}: no row was chosen, so there is nothing to compare with.")
        near = [-table["dissimilarity"] if "dissimilarity" in table else table["similarity"] for table in tables]
        best, rows = np.argmax(near, axis=0), np.arange(n_rows(X))
        columns = {name: np.stack([table[name] for table in tables])[best, rows] for name in tables[0]}
        return {"group": _as_array(self._values)[best], **columns}

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "BalancedSelection") -> None:
        theirs = dict(zip(other._values, copy.deepcopy(other._members), strict=True))
        new = [value for value in theirs if value not in self._values]
        self._check_number(len(self._values) + len(new), StateError)
        mine = dict(zip(self._values, self._members, strict=True))
        counts = dict(zip(self._values, self._counts, strict=True))
        for value, count in zip(other._values, other._counts, strict=True):
            counts[value] = counts.get(value, 0) + count
        self._values, self._counts = list(counts), np.array(list(counts.values()), np.int64)
        self._members = [mine.get(value, theirs.get(value)) for value in counts]
        self._make_room(self._members)
        common = [value for value in theirs if value in mine]
        rooms = dict(zip(counts, self._rooms(), strict=True))
        for value in common:
            theirs[value]._resize(rooms[value], self._budget_of_group())
            mine[value].merge(theirs[value])

    def _takes_objects(self, X: Any) -> bool:
        return self._given_learner()._takes_objects(X)

    def _may_fail_midway(self) -> bool:
        return any(member._may_fail_midway() for member in self._members)

    def _restored(self) -> None:
        if not self._is_fitted():
            return
        for member in self._members:
            member._restored()

    def _n_retained(self) -> int:
        return sum(member.n_retained_ for member in self._members)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _numbered(y: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Values in the order in which they are seen, and the number of each row's value."""
    if y.dtype.kind == "O":  # may not have an order
        numbers: dict[Any, int] = {}
        try:
            own = np.array([numbers.setdefault(value, len(numbers)) for value in y.tolist()])
        except TypeError:  # a list, for example: it is refused as no value of a group
            return y.tolist(), np.arange(len(y))
        return list(numbers), own
    values, first, own = np.unique(y, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return values[order].tolist(), np.argsort(order)[own]


def _as_array(values: list[Any]) -> np.ndarray:
    """Values of groups as one array; of any objects if they are of different kinds."""
    if len({isinstance(value, str) for value in values}) == 1:
        return np.array(values)
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _joined(rows: list[Any]) -> Any:
    """Rows of any kind, one part after the other."""
    if isinstance(rows[0], list):
        return [row for part in rows for row in part]
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
