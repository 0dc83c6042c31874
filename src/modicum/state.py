"""One learner, one file: exact state in a safetensors container, written so that a crash never leaves half of it.

The file's text header holds JSON (class, package version, parameters, attributes, random state) and a digest
of everything; the arrays follow. Attributes may be scalars, strings, arrays, sparse matrices, generators,
lists, tuples, dicts and `Part`s (pieces of state that several learners share). Classes are looked up among those the
package itself defines, so loading never imports or runs what a file asks for.
"""

import hashlib
import json
import os
import threading
import time
from abc import ABC
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from modicum._version import __version__
from modicum.exceptions import StateError
from modicum.invariants import Keyed, Scope, Violation, Whole, check_names, check_rule
from modicum.params import TRUTH, Where
from modicum.rng import generator_state, restore_generator

FORMAT = 1  # raised when a file written today can't be read by yesterday's code
_KEY = "modicum"
_OPENING = b'{"__metadata__":{"%s":"' % _KEY.encode()  # how the header of a file begins, after its length
DIGITS = 32  # of the digest, which follows
_DIGEST = slice(8 + len(_OPENING), 8 + len(_OPENING) + DIGITS)
# what reading a well-formed file of nonsense can end in
NONSENSE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, MemoryError, OverflowError)

Arrays = dict[str, np.ndarray]


class Missing:
    """Stands for a function the file can only name; `load` must be given the real one."""

    def __init__(self, name: str):
        self.name = name


class Part(ABC):  # noqa: B024
    """A piece of learner state. Every subclass is known by its name to `load`, which makes no abstract ones."""

    _known: ClassVar[dict[str, type["Part"]]] = {}
    _invariants: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        Part._known[cls.__name__] = cls

    def _fields(self) -> dict[str, Any]:
        """What is saved; by default every attribute."""
        return vars(self)


FUNCTION = Where(
    lambda value: isinstance(value, Missing) or (callable(value) and not isinstance(value, Part)), "a function"
)


# ---- values to JSON and arrays, and back ---------------------------------------------------------


def pack(value: Any, arrays: Arrays, path: str = "") -> Any:
    """`value` as JSON; arrays go into `arrays` under a path, the JSON says which."""
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays, path)
    if isinstance(value, str):
        return str(value)  # numpy's strings too
    if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
        return {"$": "scalar", "dtype": value.dtype.name, "value": value.item()}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.random.Generator):
        return {"$": "generator", "state": generator_state(value)}
    if isinstance(value, Part):
        return {"$": "part", "class": type(value).__name__, "fields": _pack_dict(value._fields(), arrays, path)}
    if hasattr(value, "_content"):  # a learner within a learner
        return {"$": "learner", "content": _pack_dict(value._content(), arrays, path)}
    if isinstance(value, bytes):
        return {"$": "bytes", "hex": value.hex()}
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return {"$": "pairs", "items": pack([list(pair) for pair in value.items()], arrays, path)}
    if isinstance(value, dict):
        return {"$": "dict", "items": _pack_dict(value, arrays, path)}
    if isinstance(value, list | tuple):
        items = [pack(item, arrays, f"{path}/{i}") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$": "tuple", "items": items}
    if hasattr(value, "__array__"):
        return _pack_array(np.asarray(value), arrays, path)  # a data frame, say
    if hasattr(value, "tocsr"):
        csr = value.tocsr()
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        return {"$": "csr", "shape": list(csr.shape), "parts": _pack_dict(parts, arrays, path)}
    if callable(value):
        return {"$": "callable", "name": getattr(value, "__name__", type(value).__name__)}
    raise StateError(
        f"{path or 'the value'} holds a {type(value).__name__}, which a state file can't carry. "
        "Keep strings, numbers, arrays, lists, tuples or dicts of them."
    )


def _pack_array(value: np.ndarray, arrays: Arrays, path: str) -> Any:
    if value.dtype.kind in "OUS":
        return {"$": "list", "kind": value.dtype.kind, "items": pack(value.tolist(), arrays, path)}
    arrays[path] = np.ascontiguousarray(value)
    return {"$": "array", "path": path}


def _pack_dict(value: dict[str, Any], arrays: Arrays, path: str) -> dict[str, Any]:
    bad = [key for key in value if not isinstance(key, str)]
    if bad:
        raise StateError(f"{path or 'the value'} holds a dict with the key {bad[0]!r}; a state file takes string keys.")
    return {key: pack(item, arrays, f"{path}/{key}") for key, item in value.items()}


def unpack(value: Any, arrays: Arrays) -> Any:
    """What `pack` was given."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    return _UNPACK[value["$"]](value, arrays)


def _unpack_part(value: dict[str, Any], arrays: Arrays) -> Part:
    import modicum

    modicum.load_all_learners()  # and with them the parts they are made of
    cls = Part._known.get(value["class"])
    if cls is None:
        raise StateError(f"the file holds a {value['class']!r}, which this version of modicum does not know.")
    check_names(cls, value["fields"])
    part, fields = object.__new__(cls), {key: unpack(item, arrays) for key, item in value["fields"].items()}
    vars(part).update(fields)
    for name, item in part._fields().items():  # what is saved may be a corner of an array: that must be all of it
        if isinstance(item, np.ndarray) and item.shape != np.shape(fields[name]):
            raise StateError(f"the file holds a {value['class']} whose {name} has another shape than it says.")
    return part


def _unpack_learner(value: dict[str, Any], arrays: Arrays) -> Any:
    from modicum.base import restore

    return restore({key: unpack(item, arrays) for key, item in value["content"].items()})


def _unpack_csr(value: dict[str, Any], arrays: Arrays) -> Any:
    from scipy import sparse

    parts = {key: unpack(item, arrays) for key, item in value["parts"].items()}
    matrix = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(value["shape"]))
    matrix.check_format(full_check=True)
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
    """Bytes of all arrays and objects below `value`: what a learner holds between calls."""
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
    return 8 if isinstance(value, int | float | np.generic) else 0


# ---- bytes and files -----------------------------------------------------------------------------


def to_bytes(content: dict[str, Any]) -> bytes:
    """A plain dict of packable values as one safetensors blob with a digest."""
    arrays: Arrays = {}
    header = {"format": FORMAT, "version": __version__, "content": _pack_dict(content, arrays, "")}
    return sealed(json.dumps(header), arrays)


def sealed(text: str, arrays: Arrays) -> bytes:
    """A safetensors blob with our entry, whose digest is that of all other bytes."""
    from safetensors import SafetensorError
    from safetensors.numpy import save

    # one entry: the order of several is not fixed, and equal states should be equal bytes
    try:
        blob = save(arrays, metadata={_KEY: f"{'0' * DIGITS} {text}"})
    except SafetensorError as error:
        raise StateError(f"a state file can't carry one of the arrays: {error}") from None
    assert blob[8 : _DIGEST.start] == _OPENING, "safetensors writes its header in another way"
    return b"".join([blob[: _DIGEST.start], _digest(blob), memoryview(blob)[_DIGEST.stop :]])


def from_bytes(blob: bytes, source: str = "the state") -> dict[str, Any]:
    """What `to_bytes` was given; a `StateError` for anything else."""
    text, arrays = unsealed(blob, source)
    try:
        header = json.loads(text)
        if not isinstance(header["format"], int) or header["format"] > FORMAT:
            raise StateError(
                f"{source} was written by modicum {header['version']} in a newer format ({header['format']}; "
                f"this is modicum {__version__}, which reads up to {FORMAT}). Upgrade with: pip install -U modicum"
            )
        return {key: unpack(value, arrays) for key, value in header["content"].items()}
    except StateError:
        raise
    except NONSENSE as error:
        raise StateError(f"{source} is damaged: {type(error).__name__} {error}.") from None


def unsealed(blob: bytes, source: str = "the state") -> tuple[str, Arrays]:
    """The text of our entry, and the arrays."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if blob[8 : _DIGEST.start] != _OPENING:
        raise StateError(f"{source} is not a modicum state file, or it is truncated.")
    if blob[_DIGEST] != _digest(blob):
        raise StateError(f"{source} is damaged: its contents do not match its digest. Restore it from a copy.")
    try:
        header = json.loads(blob[8 : 8 + int.from_bytes(blob[:8], "little")])
        return header["__metadata__"][_KEY].partition(" ")[2], load(blob)
    except (SafetensorError, *NONSENSE) as error:
        raise StateError(f"{source} is damaged: {type(error).__name__} {error}.") from None


def _digest(blob: bytes) -> bytes:
    """The digest of a blob, as if its own digits were zeros: it covers every byte, dtypes and shapes included."""
    digest = hashlib.blake2b(blob[: _DIGEST.start], digest_size=DIGITS // 2)
    digest.update(b"0" * DIGITS)
    digest.update(memoryview(blob)[_DIGEST.stop :])
    return digest.hexdigest().encode()


def write_atomically(path: str | os.PathLike[str], blob: bytes) -> None:
    """Write beside `path`, flush to disk, rename over it: readers see the old file or the new one, whole."""
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary = path.with_name(_temporary_name(path, f"{os.getpid()}-{threading.get_ident()}"))
    try:
        with open(temporary, "wb") as file:
            file.write(blob)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _temporary_name(path: Path, writer: str) -> str:
    return f".{path.name}.{writer}.tmp"


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last through a power cut, where the system lets folders be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a state file."""
    path = Path(path)
    try:
        blob = path.read_bytes()
    except FileNotFoundError:
        raise StateError(f"{path} does not exist.") from None
    except IsADirectoryError:
        raise StateError(f"{path} is a folder, not a state file.") from None
    return from_bytes(blob, str(path))


# ---- checkpoints ---------------------------------------------------------------------------------

_PLACE = Keyed(position=Whole(), finished=TRUTH, run=Where(lambda value: isinstance(value, dict), "a dict"))


class Checkpoint:
    """A learner and its place in the stream, in one file, rewritten every so many seconds.

    `run` is plain data that tells which run the file belongs to; resuming another one is refused.
    The file is an ordinary state file too: `modicum.load` reads the learner in it.

    Examples
    --------
    >>> import modicum, numpy as np, tempfile
    >>> place = Checkpoint(tempfile.mkdtemp() + "/state.mcm", every=30, run={"source": "rows.npy"})
    >>> place.resume() is None  # nothing there yet
    True
    >>> place.write(modicum.Reservoir(10).partial_fit(np.ones((5, 2))), position=5)
    >>> learner, position, finished = place.resume()
    >>> learner.n_seen_, position, finished
    (5, 5, False)
    """

    def __init__(self, path: str | os.PathLike[str], *, every: float, run: dict[str, Any]):
        self.path = Path(path)
        self.every = every
        self.run = run
        self._written = time.monotonic()

    def resume(self, **given: Any) -> tuple[Any, int, bool] | None:
        """(learner, position, finished) of an earlier start of this run; None when there was none."""
        from modicum.base import from_content

        if not self.path.exists():
            return None
        content = read(self.path)
        place = content.get("checkpoint")
        if place is None:
            raise StateError(f"{self.path} is a saved learner, not a checkpoint. Choose another --checkpoint file.")
        try:
            check_rule(_PLACE, place, Scope(None, {}))
        except Violation as violation:
            raise StateError(f"{self.path} is damaged: its checkpoint is invalid, {violation}.") from None
        for key, value in self.run.items():
            if place["run"].get(key) != value:
                raise StateError(
                    f"{self.path} belongs to another run ({key} was {place['run'].get(key)!r}, now {value!r}). "
                    "Delete it to start anew, or choose another file."
                )
        return from_content(content, str(self.path), **given), place["position"], place["finished"]

    def write_if_due(self, learner: Any, position: int) -> None:
        if time.monotonic() - self._written >= self.every:
            self.write(learner, position)

    def write(self, learner: Any, position: int, *, finished: bool = False) -> None:
        for leftover in self.path.parent.glob(_temporary_name(self.path, "*")):
            leftover.unlink(missing_ok=True)  # of a run killed in mid-write
        place = {"position": position, "finished": finished, "run": self.run}
        content = learner._guard().run(learner._content)
        write_atomically(self.path, to_bytes(content | {"checkpoint": place}))
        self._written = time.monotonic()


def parse_seconds(text: str) -> float:
    """Seconds in "30s", "0.5s", "5m", "1h" or "45".

    >>> parse_seconds("5m"), parse_seconds("0.5s")
    (300.0, 0.5)
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "m", "h") else (text, "s")
    try:
        seconds = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a time is a number and a unit, such as 30s, 0.5s or 5m; got {text!r}.")
    return seconds
