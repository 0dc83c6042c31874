"""The package as a whole: public names, quick import, budgets, parameters, random states."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import modicum
from modicum.budget import Budget, as_budget, format_bytes, hoeffding_error, hoeffding_size
from modicum.exceptions import BudgetError
from modicum.params import Int, Number, OneOf
from modicum.rng import as_generator, generator_state, restore_generator


def test_public_names_are_sorted_and_there():
    assert sorted(modicum.__all__) == sorted(set(modicum.__all__))
    for name in modicum.__all__:
        assert getattr(modicum, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = modicum.nonsense


def test_type_checkers_know_the_same_names():
    """The imports that only type checkers read against the table that is used."""
    block = next(node for node in ast.parse(Path(modicum.__file__).read_text()).body if isinstance(node, ast.If))
    known = {name.asname: line.module for line in block.body for name in line.names}
    assert known == {name: f"modicum.{home}" for name, home in modicum._HOMES.items()}


def test_import_is_light():
    code = "import sys, modicum; print(*{'numpy', 'sklearn', 'numba', 'pyarrow', 'matplotlib'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""


def test_the_core_works_without_extras():
    """Learn, save, load and stream with no extra importable."""
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "nbytes"), [("64 MiB", 64 * 2**20), ("1.5GB", 1_500_000_000), ("900 B", 900), (" 2 kib ", 2048)]
)
def test_sizes(text, nbytes):
    assert as_budget(text) == Budget(nbytes=nbytes)


@pytest.mark.parametrize("bad", ["64", "MiB", "0 B", "-3 MiB", "", 0, -5, 2.5, True])
def test_bad_budgets_say_what_is_wanted(bad):
    with pytest.raises(BudgetError, match="64 MiB"):
        as_budget(bad)


def test_sizes_for_people():
    assert [format_bytes(n) for n in (0, 1023, 1024, 5 * 2**20, 3 * 2**30)] == [
        "0 B",
        "1023 B",
        "1 KiB",
        "5 MiB",
        "3 GiB",
    ]


@pytest.mark.parametrize("population", [np.inf, 50_000])
def test_hoeffding_and_its_inverse(population):
    log_term = np.log(2 / 0.05)
    n = hoeffding_size(0.02, 1.0, log_term, population)
    assert hoeffding_error(n, 1.0, log_term, population) <= 0.02 < hoeffding_error(n - 1, 1.0, log_term, population)


def test_corollary_1_as_printed():
    """c = B^2 log(2/delta) / (2 V eps^2), |W| = c / (1 + c) V, but for the term that it leaves out."""
    B, delta, V, eps = 3.0, 0.1, 10_000, 0.2
    c = B**2 * np.log(2 / delta) / (2 * V * eps**2)
    assert 0 <= hoeffding_size(eps, B, np.log(2 / delta), V) - int(np.ceil(c / (1 + c) * V)) <= 1


def test_hoeffding_holds_for_one_of_two_rows():
    """The mean of one of the values 0 and 1 is always off by a half: no bound below that can hold, ever."""
    assert hoeffding_error(1, 1.0, np.log(2 / 0.99), population=2) >= 0.5


def test_constraints():
    assert Int(1).accepts(np.int64(3))
    assert not Int(1).accepts(True)
    assert not Int(1).accepts(0)
    assert Number(0, 1, open_ends=True).accepts(0.5)
    assert not Number(0, 1, open_ends=True).accepts(1.0)
    assert not Number(0).accepts(np.nan)
    assert str(OneOf("a", "b")) == '"a" or "b"'


def test_a_callers_generator_is_not_advanced():
    rng = np.random.default_rng(0)
    as_generator(rng).normal(size=100)
    assert rng.normal() == np.random.default_rng(0).normal()


@pytest.mark.parametrize("bits", ["PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_generators_come_back_in_mid_stream(bits):
    rng = np.random.Generator(getattr(np.random, bits)(7))
    rng.integers(10, size=3, dtype=np.int32)
    again = restore_generator(generator_state(rng))
    np.testing.assert_array_equal(again.normal(size=20), rng.normal(size=20))
