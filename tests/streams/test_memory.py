"""Streaming takes the same memory however long the source is."""

import subprocess
import sys

import pytest

WRITE = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

path, names, rng = sys.argv[1], [f"c{j}" for j in range(16)], np.random.default_rng(0)
if path.endswith("npy"):
    np.save(path, rng.random((2_400_000, 16)))
else:
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names]), use_dictionary=False) as file:
        for n in [100_000] * 4 + [2_000_000]:  # the last row group is most of the file
            file.write_table(pa.table(list(rng.random((16, n))), names), row_group_size=n)
"""
READ = """
import sys
from pathlib import Path
from modicum.streams import stream

rows, resident = stream(sys.argv[1], chunk_size=8_192), []
for chunk in rows:
    resident.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20)
assert rows.position == 2_400_000
print(max(resident) - max(resident[:20]))  # libraries and buffers are allocated in the first chunks
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["x.parquet", "x.npy"])
def test_three_hundred_megabytes_do_not_grow_memory(tmp_path, name):
    for program in (
        WRITE,
        READ,
    ):  # two processes: memory freed by the writer must not hide what the reader needs
        command = [sys.executable, "-c", program, str(tmp_path / name)]
        grown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert float(grown) < 60
