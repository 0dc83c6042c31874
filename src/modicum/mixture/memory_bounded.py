"""Dirichlet-process mixture of a stream in bounded memory: MB-VDP (gomes2008)."""

import copy
import time
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from modicum.contract.history import History
from modicum.contract.learner import Learner, Traits
from modicum.families import FAMILY, Family, as_family
from modicum.mixture.answers import MixtureAnswers
from modicum.mixture.components import Components, is_number
from modicum.mixture.compression import Compression
from modicum.mixture.memory import Memory
from modicum.mixture.room import Room, divide
from modicum.mixture.search import Search
from modicum.numeric.parallel import single_threaded_blas
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import Is, Real
from modicum.rules.params import BUDGET, NULL, POSITIVE, TRUTH, Int

ROUND = ("n_seen", "components", "free_energy", "clumps", "singlets", "seconds")
ROUNDS = 128  # that the history tells of
AHEAD = 2.0  # times the rows seen: the horizon if none is given
OTHER_BYTES = 512  # numbers beside arrays
MODEL = ("_memory", "_components", "_free_energy", "_is_current", "_rounds")


class Rounds(History):
    """What the rounds were like. How long they took is no part of the state: it is gone once that has been saved."""

    def _fields(self) -> dict[str, Any]:
        table = self.table.copy()
        table[:, self.columns.index("seconds")] = np.nan
        return vars(self) | {"table": table}


class MemoryBoundedMixture(MixtureAnswers, Learner):
    """Mixture whose number of components is found, and grows, while a stream passes through a fixed amount of memory.

    Rows are collected until an epoch is full. Then the mixture is built anew from them and from what is kept of earlier
    rows, beginning with the last one: components are split and merged as long as the free energy gains. Before the next
    epoch everything is compressed into clumps, rows that belong together however the stream goes on, of which only
    count, mean and covariance are kept. Between rounds, answers come from the last components, updated by the rows
    since.

    A clump of full Gaussians takes d (d + 3) / 2 + 1 numbers, as many as about d / 2 rows; of diagonal ones 2 d + 1.
    There are at most as many components as clumps, so the budget bounds what can be told apart.

    Cost: a round takes some ten steps of O(m K p), for m items kept, K components and p numbers that tell one;
    statistics of the rows of a round, m p numbers, are held while it lasts.

    Parameters
    ----------
    family : {"gaussian", "diagonal", "multinomial"} or Family, default="gaussian"
        What components are: Gaussians with full or with diagonal covariances, or frequencies of counts. A
        `modicum.families` object has a prior of your own.
    budget : int or str, default=4000
        What clumps and the rows of an epoch may take: as much as this many rows, or a size such as "64 MiB", which
        covers components, too.
    concentration : float, default=1.0
        Of the Dirichlet process: the larger, the more small components are expected.
    horizon : int or None, default=None
        How many rows the stream will have. Rows stay apart if a difference between them would matter by then. By
        default twice the rows seen.
    epoch : int or None, default=None
        Rows to collect before the mixture is built anew; by default half of the budget.
    tol : float, default=3e-3
        Gain of free energy per row below which nothing is worth a step.

    Attributes
    ----------
    n_components_ : int
    weights_ : ndarray of shape (k,)
        Components are in the order in which they were found.
    means_ : ndarray of shape (k, d)
    covariances_ : ndarray of shape (k, d, d) or (k, d)
    component_names_ : list of str
    free_energy_ : float
        Of all rows, under the constraint that clumps stay together: a lower bound of their log-evidence.
    clumps_ : dict of arrays
        What is kept, clumps first: `counts`, mean rows (`means`), components (`labels`), `is_clump`.
    history_ : dict of arrays
        Of the rounds: `n_seen`, `components`, `free_energy`, `clumps`, `singlets` and `seconds`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import MemoryBoundedMixture
    >>> rng = np.random.default_rng(0)
    >>> model = MemoryBoundedMixture(budget=200)
    >>> for _ in range(100):
    ...     model = model.partial_fit(rng.choice([0.0, 10.0], (50, 1)) + rng.normal(size=(50, 1)))
    >>> model.n_components_, model.weights_.round(1), float(model.novelty([[50.0]])[0].round(2))
    (2, array([0.5, 0.5]), 1.0)

    References
    ----------
    gomes2008; kurihara2007 for the search.
    """

    traits = Traits(chunk_exact=True, merge="approximate", weights=True)
    _constraints = {
        "family": FAMILY,
        "budget": [BUDGET],
        "concentration": [POSITIVE],
        "horizon": [Int(1), NULL],
        "epoch": [Int(1), NULL],
        "tol": [POSITIVE],
    }

    _invariants = {
        "_memory": Is(Memory, n_statistics=lambda its: as_family(its["family"]).n_statistics_of(its["n_features"])),
        "_components": [NULL, Is(Components)],
        "_free_energy": Real(),
        "_is_current": TRUTH,
        "_rounds": Is(Rounds, width=len(ROUND), limit=ROUNDS),
    }

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        budget: int | str = 4000,
        concentration: float = 1.0,
        horizon: int | None = None,
        epoch: int | None = None,
        tol: float = 3e-3,
    ):
        self.family = family
        self.budget = budget
        self.concentration = concentration
        self.horizon = horizon
        self.epoch = epoch
        self.tol = tol

    # ---- learning --------------------------------------------------------------------------------

    def _check_chunk(self, X: np.ndarray, y: np.ndarray | None) -> None:
        as_family(self.family).check(X, type(self).__name__)

    def _learn(self, X: np.ndarray, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_memory"):
            as_family(self.family).bind(X, np.ones(len(X)))  # a prior that does not fit is best refused at once
            most_rows = self._room(X.shape[1], X.dtype).most_rows
            self._memory = Memory(X, as_family(self.family).n_statistics_of(X.shape[1]), most_rows)
            self._components: Components | None = None
            self._free_energy = 0.0
            self._is_current = False  # whether the components know all rows
            self._rounds = Rounds(*ROUND, limit=ROUNDS)
        self._take(X, np.ones(len(X)) if weight is None else weight)

    def _take(self, X: np.ndarray, weight: np.ndarray) -> None:
        """Rows fill one epoch after the other. What is kept is compressed only when the next one begins."""
        epoch = self._own_room().epoch
        start = 0
        while start < len(X):
            if self._memory.n_waiting >= epoch:
                self._compress()
            stop = min(start + epoch - self._memory.n_waiting, len(X))
            self._memory.take(X[start:stop], weight[start:stop])
            self._is_current = False
            start = stop
            if self._memory.n_waiting == epoch:
                self._build()

    def _end_of_stream(self) -> None:
        if not self._is_current:
            self._build()

    def _build(self) -> None:
        """A round: the best mixture that is found for all that is kept, beginning with the last one."""
        started = time.perf_counter()
        search = self._search()
        fit = search.first(self.concentration) if self._components is None else search.run(self._components)
        self._components, self._free_energy, self._is_current = fit.components, fit.free_energy, True
        kept, seconds = self._memory, time.perf_counter() - started
        sizes = len(kept.clump_counts), kept.n_singlets
        self._rounds.record(kept.n_taken, len(fit.components), fit.free_energy, *sizes, seconds)

    def _search(self) -> Search:
        """A search for components of all that is kept."""
        if self._components is None:
            family = as_family(self.family).bind(self._memory.rows.values, self._memory.weights)
        else:
            family = self._components.family
        return Search(self._memory.items(family), self.tol, self._own_room().max_components)

    def _compress(self) -> None:
        """Make room for the next epoch."""
        assert self._components is not None
        items = self._memory.items(self._components.family)
        total = items.counts.sum()
        horizon = AHEAD * total if self.horizon is None else self.horizon
        room = self._own_room()
        compression = Compression(items, max(1.0, horizon / total), self.concentration, room.cost)
        groups = compression.run(self._components, self.tol, room.beside(len(self._components)))
        self._memory.keep(items, groups, compression.is_loose)
        self._is_current = False

    def _merge(self, other: "MemoryBoundedMixture") -> None:
        if self._components is None or other._components is None:
            self._merge_rows(other)
            return
        self._memory.join(other._memory, self._components.family, other._components.family)
        self._components = self._components.joined(other._components)
        self._build()
        self._compress()

    def _merge_rows(self, other: "MemoryBoundedMixture") -> None:
        """One side has nothing but the rows of its first epoch: the other one learns them."""
        rows = other._memory
        if self._components is None:
            rows = self._memory
            self.__dict__.update({name: copy.deepcopy(getattr(other, name)) for name in MODEL})
        self._take(rows.rows.values.astype(self._dtype, copy=False), rows.weights)

    # ---- asking ----------------------------------------------------------------------------------

    def _mixture(self) -> Components:
        return self._present_fit()[0]

    @property
    def free_energy_(self) -> float:
        return self._present_fit()[1]

    def _present_fit(self) -> tuple[Components, float]:
        """Components and free energy. Between rounds, the last components are updated by the rows since, for now."""
        self._check_fitted()
        if self._components is not None and self._is_current:
            return self._components, self._free_energy
        return self._derive("fit", self._fit_between_rounds)

    def _fit_between_rounds(self) -> tuple[Components, float]:
        search = self._search()
        with single_threaded_blas():
            fit = search.first(self.concentration) if self._components is None else search.climb(self._components)
        return fit.components, fit.free_energy

    @property
    def clumps_(self) -> dict[str, np.ndarray]:
        """What is kept: `counts`, mean rows (`means`), components (`labels`), and which are more than a row."""
        known = self._mixture()
        items = self._memory.items(known.family)
        return {
            "counts": items.counts,
            "means": known.family.centers(items.averages(slice(0, len(items)))),
            "labels": items.expect(known).labels,
            "is_clump": np.arange(len(items)) < items.n_clumps,
        }

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """Of the rounds of model building."""
        self._check_fitted()
        return self._rounds.columns_as_arrays()

    @property
    def component_names_(self) -> list[str]:
        """Names given by `name_component`; "c7" for the eighth component ever found, if it has none."""
        return list(self._mixture().names)

    def name_component(self, k: int, name: str) -> Self:
        """Give component k a name. It keeps it for good: if the component is split, the larger part does."""
        names = self._mixture().names
        if not (isinstance(k, int | np.integer) and 0 <= k < len(names)):
            raise ValueError(f"there are components 0 to {len(names) - 1}; {k!r} is none of them.")
        if not isinstance(name, str) or not name or is_number(name):
            raise ValueError(f'a name is a word of your own, not one such as "c7"; got {name!r}.')
        if name in names[:k] + names[k + 1 :]:
            raise ValueError(f"another component is named {name!r} already.")
        if self._components is None:
            self._build()
        assert self._components is not None
        self._components.names[self._components.names.index(names[k])] = name
        self._derived = {}
        return self

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """Component, its name, log-density and novelty of each row."""
        joint = self._log_joint(X)
        found, density = joint[:, :-1].argmax(axis=1), logsumexp(joint, axis=1)
        names = np.array(self._mixture().names)[found]
        return {
            "component": found,
            "name": names,
            "log_density": density,
            "novelty": np.exp(joint[:, -1] - density),
        }

    # ---- what is held ----------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held at most for rows of `n_features` columns, with all the components there may be."""
        dtype = np.dtype(dtype)
        room = self._room(n_features, dtype)
        most = room.max_components
        numbers = as_family(self.family).n_statistics_of(n_features)
        unit = 1 if room.per_component else 8  # bytes
        return Plan.of(
            room.most_rows,
            epoch=room.epoch * (n_features * dtype.itemsize + 8),
            clumps_and_single_rows=int(unit * room.beside(most)),
            components=most * 8 * (numbers + 2),
            other=self._fixed_bytes(n_features),
        )

    def _own_room(self) -> Room:
        return self._room(self.n_features_in_, np.dtype(self._dtype))

    def _room(self, n_features: int, dtype: np.dtype) -> Room:
        sizes = n_features, as_family(self.family).n_statistics_of(n_features), dtype.itemsize
        budget, fixed = as_budget(self.budget), self._fixed_bytes(n_features)
        return divide(budget, self.epoch, *sizes, fixed, type(self).__name__)

    def _fixed_bytes(self, n_features: int) -> int:
        """Of the prior, the history and what else there is."""
        return 8 * as_family(self.family).n_prior_of(n_features) + 8 * len(ROUND) * ROUNDS + OTHER_BYTES

    def _n_retained(self) -> int:
        return len(self._memory)
