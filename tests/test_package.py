"""The package as a whole: public names, quick import, work without extras."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import modicum


def run(code, folder=None):
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)


def test_public_names_are_sorted_and_there():
    assert modicum.__all__ == sorted(set(modicum.__all__))
    for name in modicum.__all__:
        assert getattr(modicum, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = modicum.nonsense


def test_type_checkers_know_the_same_names():
    """The imports that only type checkers read against the table that is used."""
    block = next(node for node in ast.parse(Path(modicum.__file__).read_text()).body if isinstance(node, ast.If))
    known = {name.asname: line.module for line in block.body for name in line.names}
    homes = {name: f"modicum.{home}" for name, home in modicum._HOMES.items()}
    assert known == homes | dict.fromkeys(modicum._ROOMS, "modicum")


def test_packages_load_when_they_are_named():
    done = run("import modicum; print(modicum.kernels.RBF(0.5), modicum.select.objectives.LogDet.__name__)")
    assert done.stdout.split() == ["RBF(0.5)", "LogDet"], done.stderr


def test_state_files_may_have_any_part():
    """All classes that a file may name are known before it is read, whatever was imported."""
    code = """
import importlib, pkgutil, modicum
from modicum.contract.loading import know_all_classes
from modicum.state.part import Part
know_all_classes()
known = set(Part._known)
for module in pkgutil.walk_packages(modicum.__path__, "modicum."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print("unknown:", *sorted(set(Part._known) - known))
"""
    done = run(code)
    assert done.stdout == "unknown:\n", done.stderr


def test_import_is_light():
    heavy = ("numpy", "sklearn", "numba", "pyarrow", "matplotlib")
    done = run(f"import sys, modicum; print('loaded:', *sorted(set({heavy}) & set(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "loaded:"


def test_the_core_works_without_extras(tmp_path):
    """Learn, save, load and stream with no extra importable."""
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    code = """
import sys
for extra in ("typer", "rich", "pyarrow", "matplotlib", "jinja2", "pandas", "polars"):
    sys.modules[extra] = None
import numpy as np, modicum
X = np.random.default_rng(0).normal(size=(500, 3))
model = modicum.ExemplarClustering(4, random_state=0).fit(modicum.stream(X, chunk_size=100))
assert modicum.ExemplarClustering.from_bytes(model.to_bytes()).n_seen_ == 500
try:
    modicum.stream("x.parquet")
except Exception as error:
    print(error)
"""
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install" in done.stdout
