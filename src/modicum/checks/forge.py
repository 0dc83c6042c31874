"""Forged states: files with a valid digest and invalid contents.

`forgeries` changes one thing at a time: a number, a name, a class, an attribute, or the dtype, shape or values of an
array. Each must be refused with a `StateError`, or be harmless.
"""

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from modicum.checks.common import outputs
from modicum.contract.learner import Learner
from modicum.exceptions import StateError
from modicum.state.files import sealed, unsealed
from modicum.state.packing import LEARNERS
from modicum.state.part import Part

HOSTILE: dict[type, list[Any]] = {
    bool: [7, None, "x"],
    int: [-1, 0, 1, 7, 10**6, 2**31, 2**40, 2**62, 2**63 - 1, 2**70, 1.5, "x", None],
    float: [float("nan"), float("inf"), -1.0, 0.0, 1e-320, 1e300, 10**400, "x", None],
    str: ["", "x", "float32", "int64", "sparse", "objects", 3, None],
    type(None): [0, 1.5, "x", [], [1, 2], {"$": "dict", "items": {}}],
    list: [[], [0], ["x", None], {"$": "dict", "items": {}}, 5],
}
MODEST = [-1, 0, 1, 7, 2**70, 1.5, "x", None]  # for parameters: large ones are valid, and cause much work
NUMBERS = (np.nan, np.inf, -1, 0, 1, 2**31 - 1, 2**40, -(2**63))
Forgery = tuple[str, bytes]


def forgeries(blob: bytes, rng: np.random.Generator) -> Iterator[Forgery]:
    """An endless sequence of (description, forged state), in random order."""
    text, arrays = unsealed(blob)
    header = json.loads(text)
    paths = [path for path, _ in _values(header["content"], "content")]
    kinds: list[Callable[[], tuple[str, Any, dict[str, np.ndarray]]]] = [
        lambda: (*_change_value(header, paths[rng.integers(len(paths))], rng), arrays),
        lambda: _change_array(header, arrays, rng),
    ]
    while True:
        what, changed, held = kinds[rng.integers(2) if arrays else 0]()
        yield what, sealed(json.dumps(changed), held)


def _values(value: Any, *path: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """(path, value) of everything within a JSON value."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _values(item, *path, key)


def _change_value(header: Any, path: tuple[Any, ...], rng: np.random.Generator) -> tuple[str, Any]:
    """The header with the value at a path replaced, left out, or given an undeclared key."""
    header = copy.deepcopy(header)
    owner = header
    for key in path[:-1]:
        owner = owner[key]
    value, name = owner[path[-1]], "/".join(map(str, path))
    change = rng.integers(8)
    if change == 0 and len(path) > 1:
        del owner[path[-1]]
        return f"{name} left out", header
    if change == 1 and isinstance(value, dict):
        value[str(rng.choice(["predict", "partial_fit", "_learn", "n_seen_", "values", "kernel", "_rng"]))] = 2
        return f"{name} with an undeclared key", header
    if path[-1] == "class":
        owner["class"] = str(rng.choice(sorted([*Part._known, *LEARNERS])))
    else:
        hostile = MODEST if type(value) is int and "params" in path else HOSTILE.get(type(value), HOSTILE[list])
        owner[path[-1]] = hostile[rng.integers(len(hostile))]
    return f"{name}: {owner[path[-1]]!r}", header


def _change_array(
    header: Any, arrays: dict[str, np.ndarray], rng: np.random.Generator
) -> tuple[str, Any, dict[str, np.ndarray]]:
    """The arrays with one of them changed in dtype, shape or values, or left out."""
    path = sorted(arrays)[rng.integers(len(arrays))]
    array, others = arrays[path], {name: array for name, array in arrays.items() if name != path}
    change = int(rng.integers(9))
    if change == 0:
        return f"{path} left out", header, others
    if change == 1:
        other = arrays[sorted(arrays)[rng.integers(len(arrays))]]
        return f"{path} is another array", header, others | {path: other}
    with np.errstate(all="ignore"):
        changed, what = _changed(array, change, rng)
    return f"{path} {what}", header, others | {path: np.ascontiguousarray(changed)}


def _changed(array: np.ndarray, change: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    if change == 2:
        dtype = rng.choice(["float32", "float64", "int32", "int64", "bool", "uint8"])
        return array.astype(dtype), f"as {dtype}"
    if change == 3:
        return array[:-1], "without its last row"
    if change == 4:
        return np.concatenate([array, array]), "twice"
    if change == 5:
        return array.reshape(-1) if array.ndim > 1 else array[:, None], "in another shape"
    if change == 6:
        return array.T[:-1].T, "without its last column"
    number = NUMBERS[rng.integers(len(NUMBERS))]
    changed = array.copy()
    if change == 7:
        changed[...] = np.array(number).astype(array.dtype)
        return changed, f"all {number}"
    if changed.size:
        changed.reshape(-1)[rng.integers(changed.size)] = np.array(number).astype(array.dtype)
    return changed, f"with a {number}"


def harm_of_state(forged: bytes, X: np.ndarray, y: np.ndarray | None, **functions: Any) -> str | None:
    """What goes wrong with a forged state, apart from a clear error; None if nothing does."""
    try:
        model = Learner.from_bytes(forged, **functions)
    except StateError:
        return None
    except Exception as error:
        return f"loading raises {error!r}, not a StateError"
    with warnings.catch_warnings(action="ignore"):
        return _harm_in_use(model, forged, X, y, **functions)


def _harm_in_use(model: Learner, forged: bytes, X: np.ndarray, y: np.ndarray | None, **functions: Any) -> str | None:
    for name, use in (
        ("asking", lambda: outputs(model, X)),
        ("learning", lambda: model.partial_fit(X, y)),
        ("merging", lambda: model.merge(Learner.from_bytes(forged, **functions))),
        ("asking after learning", lambda: outputs(model, X)),
        ("saving", model.to_bytes),
    ):
        try:
            use()
        except ValueError:  # a clear error, of modicum or numpy
            return None
        except Exception as error:
            return f"{name} raises {error!r}"
    return None
