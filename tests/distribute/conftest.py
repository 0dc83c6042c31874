"""A cluster of two processes, and the same rows as files and as dask collections."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason='distributed is not installed: pip install "modicum[dask]"')

import pyarrow as pa
import pyarrow.parquet as pq

N_ROWS, GROUP = 6_000, 500


@pytest.fixture(scope="session")
def client():
    import distributed

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture(scope="session")
def rows():
    """Three clusters, sorted by cluster: X and y."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], N_ROWS // 3)
    return rng.normal(size=(N_ROWS, 4)) + 6 * np.eye(4)[y], y


@pytest.fixture
def folder(rows, tmp_path):
    """The rows as three Parquet files of four row groups each, with a target and a weight."""
    X, y = rows
    for number, part in enumerate(np.split(np.arange(N_ROWS), 3)):
        columns = {f"x{j}": X[part, j] for j in range(4)}
        table = pa.table({**columns, "label": y[part], "weight": 1.0 + part % 2})
        (tmp_path / "rows").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / "rows" / f"{number}.parquet", row_group_size=GROUP)
    return tmp_path / "rows"
