"""Packing of state into JSON and arrays, and unpacking.

Attributes may be scalars, strings, arrays, sparse matrices, generators, lists, tuples, dicts, `Part`s and learners.
Classes are looked up by name among the registered ones, so loading never imports or runs anything named by a file.
"""

from typing import Any

import numpy as np

from modicum.exceptions import StateError
from modicum.rules.invariants import check_compressed, check_names
from modicum.state.part import Missing, Part
from modicum.state.rng import generator_state, restore_generator

Arrays = dict[str, np.ndarray]
LEARNERS: dict[str, Any] = {}  # classes of learners by name; `Learner` registers its subclasses


def pack(value: Any, arrays: Arrays, path: str = "") -> Any:
    """`value` as JSON; arrays are put into `arrays` under a path, to which the JSON refers."""
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays, path)
    if isinstance(value, str):
        return str(value)  # numpy strings too
    if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
        return {"$": "scalar", "dtype": value.dtype.name, "value": value.item()}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.random.Generator):
        return {"$": "generator", "state": generator_state(value)}
    if isinstance(value, Part):
        return {"$": "part", "class": type(value).__name__, "fields": pack_dict(value._fields(), arrays, path)}
    if hasattr(value, "_content"):  # a learner within a learner
        return {"$": "learner", "content": pack_dict(value._content(), arrays, path)}
    if isinstance(value, bytes):
        return {"$": "bytes", "hex": value.hex()}
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return {"$": "pairs", "items": pack([list(pair) for pair in value.items()], arrays, path)}
    if isinstance(value, dict):
        return {"$": "dict", "items": pack_dict(value, arrays, path)}
    if isinstance(value, list | tuple):
        items = [pack(item, arrays, f"{path}/{i}") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$": "tuple", "items": items}
    if hasattr(value, "__array__"):
        return _pack_array(np.asarray(value), arrays, path)  # a data frame, for example
    if hasattr(value, "tocsr"):
        csr = value.tocsr()
        own = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        return {"$": "csr", "shape": list(csr.shape), "arrays": pack_dict(own, arrays, path)}
    if callable(value):
        return {"$": "callable", "name": getattr(value, "__name__", type(value).__name__)}
    raise StateError(
        f"{path or 'the value'} is a {type(value).__name__}, which a state file can't hold. "
        "Use strings, numbers, arrays, and lists, tuples or dicts of them."
    )


def _pack_array(value: np.ndarray, arrays: Arrays, path: str) -> Any:
    if value.dtype.kind in "OUS":
        return {"$": "list", "kind": value.dtype.kind, "items": pack(value.tolist(), arrays, path)}
    arrays[path] = np.ascontiguousarray(value)
    return {"$": "array", "path": path}


def pack_dict(value: dict[str, Any], arrays: Arrays, path: str) -> dict[str, Any]:
    bad = [key for key in value if not isinstance(key, str)]
    if bad:
        raise StateError(
            f"{path or 'the value'} is a dict with the key {bad[0]!r}; keys in a state file must be strings."
        )
    return {key: pack(item, arrays, f"{path}/{key}") for key, item in value.items()}


def unpack(value: Any, arrays: Arrays) -> Any:
    """The value that `pack` was given."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    return _UNPACK[value["$"]](value, arrays)


def _unpack_part(value: dict[str, Any], arrays: Arrays) -> Part:
    cls = Part._known.get(value["class"])
    if cls is None:
        raise StateError(
            f"the file has a part of class {value['class']!r}, which this version of modicum does not know."
        )
    check_names(cls, value["fields"])
    part, fields = object.__new__(cls), {key: unpack(item, arrays) for key, item in value["fields"].items()}
    vars(part).update(fields)
    for name, item in part._fields().items():  # only a corner of an array may be saved: it must be complete
        if isinstance(item, np.ndarray) and item.shape != np.shape(fields[name]):
            raise StateError(f"the file has a {value['class']} whose {name} does not have the declared shape.")
    return part


def _unpack_learner(value: dict[str, Any], arrays: Arrays) -> Any:
    return restore({key: unpack(item, arrays) for key, item in value["content"].items()})


def _unpack_csr(value: dict[str, Any], arrays: Arrays) -> Any:
    from scipy import sparse

    own = {key: unpack(item, arrays) for key, item in value["arrays"].items()}
    matrix = sparse.csr_matrix((own["data"], own["indices"], own["indptr"]), shape=tuple(value["shape"]))
    check_compressed(matrix)
    return matrix


def _unpack_list(value: dict[str, Any], arrays: Arrays) -> np.ndarray:
    items = unpack(value["items"], arrays)
    if value["kind"] in "US":
        return np.array(items, dtype=value["kind"])
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


_SCALARS = {t.__name__.rstrip("_"): t for t in (np.bool_, np.float16, np.float32, np.float64)}
_SCALARS |= {np.dtype(code).name: np.dtype(code).type for code in "bBhHiIlL"}
_UNPACK: dict[str, Any] = {
    "array": lambda value, arrays: arrays[value["path"]],
    "scalar": lambda value, arrays: _SCALARS[value["dtype"]](value["value"]),
    "list": _unpack_list,
    "generator": lambda value, arrays: restore_generator(value["state"]),
    "part": _unpack_part,
    "learner": _unpack_learner,
    "dict": lambda value, arrays: {key: unpack(item, arrays) for key, item in value["items"].items()},
    "bytes": lambda value, arrays: bytes.fromhex(value["hex"]),
    "pairs": lambda value, arrays: dict(unpack(value["items"], arrays)),
    "tuple": lambda value, arrays: tuple(unpack(item, arrays) for item in value["items"]),
    "csr": _unpack_csr,
    "callable": lambda value, arrays: Missing(value["name"]),
}


def held_bytes(value: Any) -> int:
    """Bytes of all arrays and numbers in `value`, however deep."""
    if isinstance(value, int | float | np.generic):
        return 8
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Part):
        own = getattr(value, "nbytes", None)
        return held_bytes(vars(value)) if own is None else own
    if hasattr(value, "_content"):
        return held_bytes(value._fields())
    if isinstance(value, dict):
        return sum(held_bytes(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(held_bytes(item) for item in value)
    if hasattr(value, "indptr"):  # a sparse matrix
        return value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
    return 0


def restore(content: dict[str, Any], source: str = "the file") -> Any:
    """A learner from the content of a file, not checked yet; functions among its parameters may be missing."""
    cls = LEARNERS.get(content["class"])
    if cls is None:
        raise StateError(
            f"{source} has a learner of class {content['class']!r}, which this version of modicum does not know."
        )
    check_names(cls, content["state"])
    learner = cls(**content["params"])
    learner.__dict__.update(content["state"])
    return learner


def missing_functions(value: Any) -> list[Missing]:
    """Functions in a parameter, or in the parts and learners in it, of which the file has only the names."""
    if isinstance(value, Missing):
        return [value]
    inner = value._fields() if isinstance(value, Part) else {}
    inner = value.get_params(deep=False) if is_learner(value) else inner
    return [missing for item in inner.values() for missing in missing_functions(item)]


def is_learner(value: Any) -> bool:
    """Whether a value is a learner: an instance of a registered class."""
    return LEARNERS.get(type(value).__name__) is type(value)
