"""Dirichlet-process mixture of a stream in bounded memory: MB-VDP (gomes2008)."""

import time
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from modicum.clumps.allocation import Allocation, allocate
from modicum.clumps.factored_memory import FactoredMemory
from modicum.clumps.items import Items
from modicum.clumps.memory import Memory
from modicum.clumps.rounds import MAX_ROUNDS, Rounds
from modicum.contract.learner import Traits
from modicum.contract.watchful import Watchful
from modicum.families import FAMILY, Family, FullGaussian, as_family
from modicum.mixture.answers import MixtureAnswers
from modicum.mixture.components import Components, is_number
from modicum.mixture.compression import MixtureCompression
from modicum.mixture.search import Search
from modicum.numeric.parallel import single_threaded_blas
from modicum.rows import n_rows, take
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import Is, Real
from modicum.rules.params import BUDGET, NULL, POSITIVE, TRUTH, Int, OneOf

COLUMNS = ("n_seen", "components", "free_energy", "clumps", "singlets", "seconds")  # of the history
ROUNDS_BYTES = 8 * len(COLUMNS) * MAX_ROUNDS
DEFAULT_HORIZON = 2.0  # times the rows seen
OTHER_BYTES = 512  # of numbers beside arrays
FADED = 2.0**-10  # weight of a row or clump that is dropped: that of a row ten half-lives ago


class MemoryBoundedMixture(MixtureAnswers, Watchful):
    """Mixture whose number of components is learned and may grow, from a stream in bounded memory.

    Rows are buffered until an epoch is full. Then the mixture is learned from them and from the memory of earlier rows,
    initialized with the last mixture: components are split and merged as long as the free energy rises. Before the next
    epoch everything is compressed into clumps: groups of rows that would belong together however the stream continues,
    of which only count, mean and covariance are kept. Between rounds, answers come from the last components, updated
    with the buffered rows.

    A clump of full Gaussians takes d (d + 3) / 2 + 1 numbers, as many as about d / 2 rows; of diagonal ones 2 d + 1. In
    a budget of bytes, full covariances are held as Cholesky factors of single precision, which take half the bytes.
    There are at most as many components as clumps, so the budget limits the number of components.

    Cost: a round takes about ten steps of O(m K p), for m items, K components and p parameters of a component. During
    a round, m p numbers are held for the statistics of its items.

    Parameters
    ----------
    family : {"gaussian", "diagonal", "multinomial"} or Family, default="gaussian"
        Distribution of a component: a Gaussian with full or with diagonal covariance, or a multinomial for counts,
        which may be sparse. A `modicum.families` object sets the prior.
    budget : int or str, default=4000
        Rows that may be held, `n_retained_ <= budget`, where a clump counts as the rows that take as many numbers; or a
        size such as "64 MiB", which includes components. A sparse row counts like a dense one, but to a size by its
        entries.
    concentration : float, default=1.0
        Concentration of the Dirichlet process: with a larger one, more small components are expected.
    horizon : int or None, default=None
        Expected number of rows of the stream. Rows are kept apart if their difference would matter by then. By default
        twice the rows seen.
    epoch : int or None, default=None
        Rows to buffer between rounds of learning; by default half of the budget. Long sparse rows may make it fewer.
    tol : float, default=3e-3
        Iterations stop, and splits and merges are rejected, when the free energy per row improves by less than this.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of a row has halved: components that get no more rows lose their evidence, and
        merge with others. "auto": forget where the novelty of rows rises. None: never.

    Attributes
    ----------
    n_components_ : int
    weights_ : ndarray of shape (k,)
        Shares of the components, in the order in which they were found.
    means_ : ndarray of shape (k, d)
    covariances_ : ndarray of shape (k, d, d) or (k, d)
    component_names_ : list of str
    free_energy_ : float
        Lower bound of the log-evidence of all rows, under the constraint that clumps are not divided.
    clumps_ : dict of arrays
        Clumps, then single and buffered rows: `counts` (with `half_life`, those of now), mean rows (`means`, sparse if
        rows are), components (`labels`), `is_clump`.
    changes_ : list of Change
        Where the stream changed, for `half_life="auto"`.
    history_ : dict of arrays
        For each round: `n_seen`, `components`, `free_energy`, `clumps`, `singlets` and `seconds`.

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
    gomes2008; kurihara2007 for the search. Departures, of the compression (section 2.5.2): it starts from a search as
    if there were up to twice the rows instead of from the components, splits that take half of the memory left are made
    at once, halves of a few rows are split off last and stay single rows, and in the end items move to their likeliest
    groups.
    """

    _constraints = {
        "family": FAMILY,
        "budget": [BUDGET],
        "concentration": [POSITIVE],
        "horizon": [Int(1), NULL],
        "epoch": [Int(1), NULL],
        "tol": [POSITIVE],
        "half_life": [NULL, Int(1), OneOf("auto")],
    }
    _surprise_is_bounded = True

    _invariants = {
        "_memory": Is(Memory, n_statistics=lambda its: as_family(its["family"]).n_statistics_of(its["n_features"])),
        "_components": [NULL, Is(Components)],
        "_free_energy": Real(),
        "_is_current": TRUTH,
        "_rounds": Is(Rounds, width=len(COLUMNS), limit=MAX_ROUNDS),
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
        half_life: int | str | None = None,
    ):
        self.family = family
        self.budget = budget
        self.concentration = concentration
        self.horizon = horizon
        self.epoch = epoch
        self.tol = tol
        self.half_life = half_life

    # ---- learning --------------------------------------------------------------------------------

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        sparse = self._takes_sparse()
        return Traits(chunk_exact=True, merge="approximate", weights=True, sparse=sparse, forgets=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._takes_sparse()  # counts
        return tags

    def _check_numbers(self, X: Any, *, reset: bool) -> Any:
        as_family(self.family).check_kind(X, type(self).__name__)
        return super()._check_numbers(X, reset=reset)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        as_family(self.family).check(X, type(self).__name__)

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_memory"):
            max_rows = self._own_allocation().max_rows  # refuses a budget that is too small for the columns
            as_family(self.family).bind(X, np.ones(n_rows(X)))  # refuses an invalid prior before anything is learned
            kind, n_statistics = self._kind_of_memory(X.shape[1]), as_family(self.family).n_statistics_of(X.shape[1])
            self._memory = kind(X, n_statistics, max_rows)
            self._components: Components | None = None
            self._free_energy = 0.0
            self._is_current = False  # whether the components were learned from all rows
            self._rounds = Rounds(*COLUMNS, limit=MAX_ROUNDS)
        self._add_rows(X, np.ones(n_rows(X)) if weight is None else weight)

    def _add_rows(self, X: Any, weight: np.ndarray, *, are_new: bool = True) -> None:
        """Fill one epoch after another. The memory is compressed only when the next epoch begins."""
        allocation, memory, done = self._own_allocation(), self._memory, 0
        while done < n_rows(X):
            buffered = take(memory.rows.values, slice(memory.n_singlets, None))
            count = allocation.n_fitting(take(X, slice(done, None)), buffered)
            if count:
                memory.add(take(X, slice(done, done + count)), weight[done : done + count])
                self._is_current = False
                done += count
            else:
                unit = self._unit(done if are_new else 0)
                if not self._is_current:  # of sparse rows, the next one shows that an epoch is full
                    self._build(unit)
                self._compress(unit)
            if memory.n_buffered == allocation.epoch:
                self._build(self._unit(done if are_new else 0))

    def _fade(self, factor: float) -> None:
        self._memory.fade(factor)
        if self._is_watched() and self._components is not None:  # otherwise their counts are of now already
            self._components = self._components.scaled(factor)
            self._is_current = False

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Probabilities of a component not seen yet, by the last components."""
        return np.zeros(n_rows(X)) if self._components is None else self._components.novelty(X)

    def _items(self, family: Family, unit: float) -> Items:
        """Everything in memory, with its counts of now, when the next row has the weight `unit`."""
        items = self._memory.items(family)
        return items if unit == 1 else items.scaled(1 / unit)

    def _end_of_stream(self) -> None:
        if not self._is_current:
            self._build(self._unit())

    def _build(self, unit: float) -> None:
        """A round: learn the mixture of everything in memory, initialized with the last one."""
        started = time.perf_counter()
        search = self._search(unit)
        fit = search.from_scratch(self.concentration) if self._components is None else search.run(self._components)
        self._components, self._free_energy, self._is_current = fit.components, fit.free_energy, True
        memory, seconds = self._memory, time.perf_counter() - started
        sizes = len(memory.clump_counts), memory.n_singlets
        self._rounds.record(memory.n_seen, len(fit.components), fit.free_energy, *sizes, seconds)
        if self._own_allocation().is_exceeded_by(memory.rows.values, sizes[0], len(fit.components)):
            self._compress(unit)  # new components take the memory of clumps

    def _search(self, unit: float) -> Search:
        """A search for components of everything in memory."""
        if self._components is None:
            family = as_family(self.family).bind(self._memory.rows.values, self._memory.weights)
        else:
            family = self._components.family
        return Search(self._items(family, unit), self.tol, self._own_allocation().max_components)

    def _compress(self, unit: float) -> None:
        """Compress the memory, to make room for the next epoch."""
        assert self._components is not None
        if self.half_life is not None:
            self._memory.drop_lighter_than(FADED * unit)
        items = self._items(self._components.family, unit)
        total = items.counts.sum()
        horizon = DEFAULT_HORIZON * total if self.horizon is None else self.horizon
        allocation = self._own_allocation()
        growth = max(1.0, horizon / total)
        compression = MixtureCompression(items, growth, allocation.cost, self._components, self.tol)
        groups = compression.run(allocation.beside(len(self._components)))
        self._memory.keep(items if unit == 1 else items.scaled(unit), groups, compression.is_loose)
        self._is_current = False

    def _merge(self, other: "MemoryBoundedMixture") -> None:
        if self._components is None or other._components is None:
            self._merge_rows(other)
            return
        self._memory.merge(other._memory, self._components.family, other._components.family)
        self._components = self._components.joined(other._components)
        self._build(self._unit())
        self._compress(self._unit())

    def _merge_rows(self, other: "MemoryBoundedMixture") -> None:
        """One side has only the rows of its first epoch: the other one learns them."""
        first_epoch = other._memory
        if self._components is None:
            first_epoch = self._memory
            self._adopt(other)
        rows = first_epoch.rows.values.astype(self._dtype, copy=False)
        self._add_rows(rows, first_epoch.weights, are_new=False)

    # ---- answers ---------------------------------------------------------------------------------

    def _mixture(self) -> Components:
        return self._present_fit()[0]

    @property
    def free_energy_(self) -> float:
        return self._present_fit()[1]

    def _present_fit(self) -> tuple[Components, float]:
        """Components and free energy. Between rounds, these are the last components updated with the buffered rows."""
        self._check_fitted()
        if self._components is not None and self._is_current:
            return self._components, self._free_energy
        return self._derive("fit", self._fit_between_rounds)

    def _fit_between_rounds(self) -> tuple[Components, float]:
        search = self._search(self._unit())
        with single_threaded_blas():
            known = self._components
            fit = search.from_scratch(self.concentration) if known is None else search.update(known)
        return fit.components, fit.free_energy

    @property
    def clumps_(self) -> dict[str, Any]:
        """The memory: `counts`, mean rows (`means`), components (`labels`), and whether it is a clump (`is_clump`)."""
        known = self._mixture()
        items = self._items(known.family, self._unit())
        return {
            "counts": items.counts,
            "means": known.family.centers(items.averages(slice(0, len(items)))),
            "labels": items.expect(known.scores).labels,
            "is_clump": np.arange(len(items)) < items.n_clumps,
        }

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """History of the rounds of learning."""
        return self._rounds.columns_as_arrays()

    @property
    def component_names_(self) -> list[str]:
        """Names given by `name_component`; by default "c7" for the eighth component ever found."""
        return list(self._mixture().names)

    def name_component(self, k: int, name: str) -> Self:
        """Give component k a name. If the component is split, the larger half keeps it."""
        names = self._mixture().names
        if not (isinstance(k, int | np.integer) and 0 <= k < len(names)):
            raise ValueError(f"k must be the index of a component, 0 to {len(names) - 1}; got {k!r}.")
        if not isinstance(name, str) or not name or is_number(name):
            raise ValueError(f'name must be a non-empty string, and not a number such as "c7"; got {name!r}.')
        if name in names[:k] + names[k + 1 :]:
            raise ValueError(f"another component is named {name!r} already.")
        if self._components is None:
            self._build(self._unit())
        assert self._components is not None
        self._components.names[self._components.names.index(names[k])] = name
        self._derived = {}
        return self

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The component of each row as its prediction, its name, the log-density and the novelty."""
        joint = self._log_joint(X)
        found, density = joint[:, :-1].argmax(axis=1), logsumexp(joint, axis=1)
        names = np.array(self._mixture().names)[found]
        return {
            "prediction": found,
            "name": names,
            "log_density": density,
            "novelty": np.exp(joint[:, -1] - density),
        }

    # ---- memory ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What is held at most for rows of `n_features` columns, with as many components as possible."""
        dtype = np.dtype(dtype)
        allocation = self._allocation(n_features, dtype)
        n_components = allocation.max_components
        n_statistics = as_family(self.family).n_statistics_of(n_features)
        unit = 1 if allocation.per_component else 8  # bytes
        return Plan.of(
            allocation.max_rows,
            epoch=allocation.epoch * (n_features * dtype.itemsize + 8),
            clumps_and_single_rows=int(unit * allocation.beside(n_components)),
            components=n_components * 8 * (n_statistics + 2),
            other=self._fixed_bytes(n_features),
        )

    def _own_allocation(self) -> Allocation:
        return self._allocation(self.n_features_in_, np.dtype(self._dtype), sparse=self._kind == "sparse")

    def _allocation(self, n_features: int, dtype: np.dtype, *, sparse: bool = False) -> Allocation:
        n_statistics = as_family(self.family).n_statistics_of(n_features)
        clump_bytes = self._kind_of_memory(n_features).clump_bytes(n_features, n_statistics)
        sizes = n_features, n_statistics, clump_bytes, dtype.itemsize
        budget, fixed = as_budget(self.budget), self._fixed_bytes(n_features)
        return allocate(budget, self.epoch, *sizes, fixed, type(self).__name__, sparse=sparse)

    def _kind_of_memory(self, n_features: int) -> type[Memory]:
        """In a budget of bytes, the one that takes the fewest; a budget of rows counts numbers, whatever they take."""
        counts_bytes = as_budget(self.budget).nbytes is not None
        is_full = isinstance(as_family(self.family), FullGaussian) and n_features > 1
        return FactoredMemory if counts_bytes and is_full else Memory

    def _restored(self) -> None:
        super()._restored()
        is_old = self._is_fitted() and type(self._memory) is Memory  # or of another family, or in a budget of rows
        if is_old and self._kind_of_memory(self.n_features_in_) is FactoredMemory:
            self._memory = FactoredMemory.of(self._memory)

    def _fixed_bytes(self, n_features: int) -> int:
        """Bytes of the prior, the history and single numbers."""
        return 8 * as_family(self.family).n_prior_of(n_features) + self._watch_bytes() + ROUNDS_BYTES + OTHER_BYTES

    def _n_retained(self) -> int:
        return len(self._memory)
