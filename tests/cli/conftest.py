import io
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from modicum.cli import main


@pytest.fixture
def modicum_command(tmp_path, monkeypatch, capsys):
    """Run `modicum` in a folder of its own, in this process: importing everything takes seconds."""

    def run(*args, stdin="", expect=0):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["modicum", *map(str, args)])
        monkeypatch.setattr(
            "sys.stdin", io.TextIOWrapper(io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode()))
        )
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # they are printed, not raised
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        done = SimpleNamespace(returncode=ended.value.code or 0, stdout=out.replace("\r\n", "\n"), stderr=err)
        assert done.returncode == expect, done.stderr
        return done

    return run


@pytest.fixture
def modicum_process(tmp_path):
    """Run `modicum` as a user would, in a folder and a process of its own."""

    def run(*args, stdin=None, expect=0):
        done = subprocess.run(
            [sys.executable, "-m", "modicum", *map(str, args)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
        )
        assert done.returncode == expect, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def clusters():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(6000, 4)) + 8 * rng.integers(-2, 3, size=(6000, 1))).astype(np.float32)


@pytest.fixture
def mail(tmp_path):
    """A CSV file with two numbers and a label per row."""
    X = np.random.default_rng(0).normal(size=(500, 2)).round(4)
    labels = np.where(X.sum(axis=1) > 0, "spam", "ham")
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X, labels, strict=True)]
    (tmp_path / "mail.csv").write_text("\n".join(["length,links,label", *lines]))
    return X, labels


@pytest.fixture
def table(tmp_path, clusters):
    """A Parquet file with four numbers and a name per row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"f{i}": clusters[:, i] for i in range(4)} | {"name": [f"row {i}" for i in range(len(clusters))]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=1000)
    return columns
