"""Fitting on a cluster: shards are learned side by side, and their states are merged in a tree."""

import itertools
import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from modicum._optional import require
from modicum.contract.learner import Learner
from modicum.distribute import tasks
from modicum.distribute.collections import Partition, is_collection, partitions_of
from modicum.distribute.folder import Folder
from modicum.distribute.progress import JobProgress, Show, Watch, shown
from modicum.distribute.shards import Files, Piece, as_descriptions, as_files, deal, find_pieces, together
from modicum.exceptions import DataError
from modicum.pipeline import StreamPipeline
from modicum.state.files import to_bytes
from modicum.state.rng import as_generator
from modicum.streams import stream

FIRST_ROWS = 50  # of each of several partitions, that decide how rows are prepared
FEW = 20  # partitions that are looked at for that
OF_ONE_STREAM = {"passes": 1, "start": 0, "first_row": 0, "follow": False, "files": None}  # what makes no sense here
L = TypeVar("L", bound=Learner)


def fit(
    learner: L,
    source: Any,
    client: Any = None,
    n_shards: int | None = None,
    fan_in: int = 8,
    progress: bool | Show = True,
    *,
    folder: Any = None,
    **reading: Any,
) -> L:
    """A learner like the given one that has learned all of a source, shard by shard on a Dask cluster.

    Rows are read by the workers. Files are cut at row groups (Parquet), batches (Arrow) or files (CSV and others); the
    pieces, or the partitions of a dask collection, are dealt to the shards in turn. Every shard begins with a clone
    that has a random state of its own. States travel in the save format, never as pickles, and are merged `fan_in` at
    a time, as tasks of the scheduler. What a worker was doing when it died is done again by another one, with the same
    result.

    A pipeline decides its preparations once, by rows from all over the source, and all shards use them.

    Cost: each worker holds the learner of its shard and the chunks it reads, and `fan_in` learners while it merges.

    Parameters
    ----------
    learner : Learner
        Not changed. It must be able to merge.
    source : path, glob, folder, URL or list
        Files that all workers can read; a dask array, data frame or bag; or a list with a path, or a dict of arguments
        of `modicum.stream`, for each shard.
    client : distributed.Client or address, default=None
        None: a local cluster of one process per core for this call.
    n_shards : int, default=None
        How many learners; by default one for each thread of the cluster. A list has as many as descriptions.
    fan_in : int, default=8
        States that are merged at a time.
    progress : bool or callable, default=True
        A bar on stderr, if that is a terminal; a function is called with a `JobProgress`.
    folder : path, default=None
        Shards that are done are kept there, and skipped when the same job is started again.
    **reading
        Options of `modicum.stream`: target, weight, columns and others. With dask collections, target and weight are
        names of columns, or collections with the same partitions.

    Returns
    -------
    Learner

    Examples
    --------
    >>> import dask.array as da, modicum                                       # doctest: +SKIP
    >>> X = da.random.normal(size=(1_000_000, 8), chunks=(50_000, 8))          # doctest: +SKIP
    >>> model = modicum.distribute.fit(modicum.StreamKMeans(10), X)            # doctest: +SKIP
    """
    check(learner, n_shards, fan_in, reading)
    with connected(client) as cluster, cluster.as_current(), shown(progress) as show:
        return Job(cluster, learner, source, n_shards, fan_in, folder, reading).run(show)


def check(learner: Learner, n_shards: int | None, fan_in: int, reading: dict[str, Any]) -> None:
    if not isinstance(learner, Learner):
        raise ValueError(f"distribute.fit: a learner is needed; got a {type(learner).__name__}.")
    learner._check_params()
    if learner.traits.merge == "none":
        raise ValueError(f"distribute.fit: a {type(learner).__name__} can't be merged, so shards are of no use.")
    for name, value, least in (("n_shards", n_shards, 1), ("fan_in", fan_in, 2)):
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (is_whole and value >= least):
            raise ValueError(f"distribute.fit: {name} must be an int of at least {least}; got {value!r}.")
    for name, usual in OF_ONE_STREAM.items():
        if reading.get(name, usual) != usual:
            raise ValueError(
                f"distribute.fit: {name}={reading[name]!r} is for one stream, not for shards. Leave it out."
            )


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """A client: the given one, one for an address, or one of a local cluster that ends with this call."""
    distributed = require("distributed", "learning on a cluster")
    if isinstance(client, distributed.Client):
        yield client
        return
    with ExitStack() as stack:
        if client is None:
            client = stack.enter_context(
                distributed.LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)
            )
        yield stack.enter_context(distributed.Client(client, set_as_default=False))


@dataclass(frozen=True)
class Shard:
    """What one learner learns: pieces of files, or partitions of a collection."""

    number: int
    files: Sequence[tuple[Files, Sequence[Piece]]] = ()
    partitions: Sequence[Partition] = ()


class Job:
    """One call of `fit`."""

    def __init__(
        self,
        client: Any,
        learner: Learner,
        source: Any,
        n_shards: int | None,
        fan_in: int,
        folder: Any,
        reading: dict[str, Any],
    ):
        self._client, self._learner, self._fan_in = client, learner, fan_in
        self._reading = {"raw": True, **reading} if learner.traits.tables else reading
        self._topic = f"modicum-{uuid.uuid4().hex}"
        self._n_rows: int | None = None
        self._start = tasks.Start.of(clone(learner))
        wanted = n_shards or max(1, sum(client.nthreads().values()))
        self._shards = self._cut(source, wanted)
        self._seed = int(as_generator(getattr(learner, "random_state", None)).integers(2**63))
        self._folder = None
        if folder is not None:
            self._folder = Folder(folder, self._identity(source), self._seed)
            self._seed = self._folder.seed

    def run(self, show: Show) -> Any:
        with self._watched(show) as watch:
            merged = self._merge(self._learn(watch), watch)
            root = merged if isinstance(merged, bytes) else merged.result()
        return self._made(clone(self._learner), root)

    def _made(self, learner: Any, state: bytes) -> Any:
        """The learner in a state, with its own parameters: those of the shards differ in their seeds."""
        learner.merge(self._start.learner(state))
        if not learner._is_fitted():
            learner._finish()  # says that there are no rows
        return learner

    @contextmanager
    def _watched(self, show: Show) -> Iterator[Watch]:
        n_merges = sum(len(level) for level in _levels(len(self._shards), self._fan_in))
        watch = Watch(JobProgress(len(self._shards), n_merges, self._n_rows), show)
        self._client.subscribe_topic(self._topic, watch.told)
        try:
            yield watch
        finally:
            self._client.unsubscribe_topic(self._topic)

    # ---- what is learned where -------------------------------------------------------------------

    def _cut(self, source: Any, n_shards: int) -> list[Shard]:
        if is_collection(source):
            return self._cut_collection(source, n_shards)
        if isinstance(source, list | tuple) and any(map(is_collection, source)):
            raise DataError("distribute: give one dask collection, not several.")
        described = as_descriptions(source, self._reading, self._topic)
        if described is not None:
            self._decide(together(described))
            return [Shard(number, [(files, [Piece(apart=number)])]) for number, files in enumerate(described)]
        files = as_files(source, self._reading, self._topic)
        if files is None:
            raise DataError(
                f"distribute: can't read rows from {type(source).__name__}. Give a path, a glob, a list of paths, or a "
                "dask array, data frame or bag."
            )
        found = self._ask(find_pieces, files, n_shards)
        if not found.pieces:
            raise DataError(f"{found.name}: there are no rows.")
        self._n_rows = found.n_rows
        self._decide(files)
        return [Shard(number, [(files, own)]) for number, own in enumerate(deal(found.pieces, n_shards))]

    def _cut_collection(self, source: Any, n_shards: int) -> list[Shard]:
        keys = {name: self._reading.get(name) for name in ("target", "weight")}
        partitions = partitions_of(source, keys["target"], keys["weight"])
        self._reading = {name: value for name, value in self._reading.items() if not is_collection(value)}
        if isinstance(self._learner, StreamPipeline):
            rows = stream(first_rows(self._client, partitions), **self._reading)
            pipeline: Any = self._start.learner()
            self._start = tasks.Start.of(pipeline.decided_by(rows))
        return [Shard(number, partitions=own) for number, own in enumerate(deal(partitions, n_shards))]

    def _decide(self, files: Files) -> None:
        """Let a worker decide how rows are prepared, if they are."""
        if isinstance(self._learner, StreamPipeline):
            self._start = tasks.Start(self._ask(tasks.decide, self._start, files), self._start.functions)

    def _ask(self, task: Any, *args: Any) -> Any:
        return self._client.submit(task, *args, pure=False).result()

    def _identity(self, source: Any) -> bytes:
        """What must be the same for shards to be of the same job; the seed is kept with them."""
        what = [repr(shard.files) for shard in self._shards]
        name = getattr(source, "name", "") if is_collection(source) else ""
        start = self._start.learner()
        if "random_state" in start.get_params(deep=False):
            start.set_params(random_state=None)
        return to_bytes({"learner": start, "source": what, "collection": str(name), "n_shards": len(self._shards)})

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, watch: Watch) -> list[Any]:
        """States of the shards, as futures or bytes; those that are kept in a folder are not learned again."""
        distributed = require("distributed", "learning on a cluster")
        states: list[Any] = [None if self._folder is None else self._folder.state(n) for n in range(len(self._shards))]
        for number, state in enumerate(states):
            if state is not None:
                watch.shard_done(number, self._start.learner(state).n_seen_)
        todo = [shard for shard, state in zip(self._shards, states, strict=True) if state is None]
        futures = {self._submit(shard): shard.number for shard in todo}
        failed: Exception | None = None
        for future in distributed.as_completed(futures):
            number = futures[future]
            try:
                if self._folder is not None:
                    self._folder.keep(number, future.result())
                elif future.status == "error":
                    future.result()
            except Exception as error:
                failed = failed or error
                if self._folder is None:
                    self._client.cancel(list(futures))
                    raise
                continue
            states[number] = future
            watch.shard_done(number)
        if failed is not None:  # the others are kept, and need not be learned again
            raise failed
        return states

    def _submit(self, shard: Shard) -> Any:
        """The future of the state of a shard."""
        submit, own = self._client.submit, (shard.number, self._seed + shard.number)
        if not shard.partitions:
            return submit(tasks.learn_files, self._start, own, shard.files, self._topic, pure=False)
        state = None
        for at, partition in enumerate(shard.partitions, 1):
            rows = self._client.compute(list(partition.delayed))  # None stays None
            facts = partition.first_row, self._reading, self._topic, at == len(shard.partitions)
            state = submit(tasks.learn_partition, self._start, state, own, *facts, *rows, pure=False)
        return state

    def _merge(self, states: list[Any], watch: Watch) -> Any:
        """The state of all, merged in a tree: a future, or bytes if there is but one, which was kept in a folder."""
        distributed = require("distributed", "learning on a cluster")
        futures = []
        for level in _levels(len(states), self._fan_in):
            merged = []
            for group in level:
                own = [states[at] for at in group]
                merged.append(self._client.submit(tasks.merge, self._start, *own, pure=False))
            futures += merged
            states = merged
        for _ in distributed.as_completed(futures):
            watch.merge_done()
        return states[0]


def _levels(n: int, fan_in: int) -> list[list[list[int]]]:
    """The merges of a tree, level by level: which states of the level below each of them merges.

    >>> _levels(5, 2)
    [[[0, 1], [2, 3], [4]], [[0, 1], [2]], [[0, 1]]]
    """
    levels = []
    while n > 1:
        levels.append([list(range(at, min(at + fan_in, n))) for at in range(0, n, fan_in)])
        n = len(levels[-1])
    return levels


def few(things: Sequence[Any]) -> list[Any]:
    """Some of many things, from the first to the last."""
    return [things[at] for at in np.unique(np.linspace(0, len(things) - 1, min(FEW, len(things))).astype(int))]


def first_rows(client: Any, partitions: Sequence[Partition]) -> Any:
    """The first rows of several partitions, from the first to the last."""
    asked = [client.compute(partition.delayed[0]) for partition in few(partitions)]
    heads = client.gather([client.submit(_head, rows, FIRST_ROWS, pure=False) for rows in asked])
    if isinstance(heads[0], list):
        return [row for head in heads for row in head]
    if isinstance(heads[0], np.ndarray):
        return np.concatenate(heads)
    import pandas as pd

    return pd.concat(heads, ignore_index=True)


def _head(rows: Any, count: int) -> Any:
    return rows[:count] if hasattr(rows, "shape") or isinstance(rows, list) else list(itertools.islice(rows, count))
