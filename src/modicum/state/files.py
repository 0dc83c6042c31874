"""State files: one learner in one safetensors file, written atomically.

The header holds JSON (class, package version, parameters, attributes, random state) and a digest of the whole file; the
arrays follow.
"""

import errno
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from modicum._version import __version__
from modicum.exceptions import StateError
from modicum.state.packing import Arrays, pack_dict, unpack

FORMAT = 1  # to be raised when older versions can't read new files
_KEY = "modicum"
_OPENING = b'{"__metadata__":{"%s":"' % _KEY.encode()  # the start of the header, after its length
DIGITS = 32  # hexadecimal digits of the digest, which follows
_DIGEST = slice(8 + len(_OPENING), 8 + len(_OPENING) + DIGITS)
# errors that a file with a valid digest and malformed content can cause
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, MemoryError, OverflowError)


def to_bytes(content: dict[str, Any]) -> bytes:
    """A dict of packable values as one safetensors blob with a digest."""
    arrays: Arrays = {}
    header = {"format": FORMAT, "version": __version__, "content": pack_dict(content, arrays, "")}
    return sealed(json.dumps(header), arrays)


def sealed(text: str, arrays: Arrays) -> bytes:
    """A safetensors blob with `text` as its only metadata entry, after a digest of all other bytes."""
    from safetensors import SafetensorError
    from safetensors.numpy import save

    # one entry, because the order of several is not fixed and equal states should give equal bytes
    try:
        blob = save(arrays, metadata={_KEY: f"{'0' * DIGITS} {text}"})
    except SafetensorError as error:
        raise StateError(f"a state file can't hold one of the arrays: {error}") from None
    assert blob[8 : _DIGEST.start] == _OPENING, "safetensors has changed the layout of its header"
    return b"".join([blob[: _DIGEST.start], _digest(blob), memoryview(blob)[_DIGEST.stop :]])


def from_bytes(blob: bytes, source: str = "the state") -> dict[str, Any]:
    """The dict that `to_bytes` was given; a `StateError` if the blob is not valid."""
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
    except MALFORMED as error:
        raise StateError(f"{source} is damaged: {type(error).__name__} {error}.") from None


def unsealed(blob: bytes, source: str = "the state") -> tuple[str, Arrays]:
    """The text and the arrays that `sealed` was given."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if blob[8 : _DIGEST.start] != _OPENING:
        raise StateError(f"{source} is not a modicum state file, or it is truncated.")
    if blob[_DIGEST] != _digest(blob):
        raise StateError(f"{source} is damaged: its contents do not match its digest. Restore it from a copy.")
    try:
        header = json.loads(blob[8 : 8 + int.from_bytes(blob[:8], "little")])
        return header["__metadata__"][_KEY].partition(" ")[2], load(blob)
    except (SafetensorError, *MALFORMED) as error:
        raise StateError(f"{source} is damaged: {type(error).__name__} {error}.") from None


def _digest(blob: bytes) -> bytes:
    """The digest of a blob with zeros in place of its digest: it covers every other byte, dtypes and shapes too."""
    digest = hashlib.blake2b(blob[: _DIGEST.start], digest_size=DIGITS // 2)
    digest.update(b"0" * DIGITS)
    digest.update(memoryview(blob)[_DIGEST.stop :])
    return digest.hexdigest().encode()


def write_atomically(path: str | os.PathLike[str], blob: bytes) -> None:
    """Write a temporary file, flush it to disk and rename it: readers see the old file or the new one, complete."""
    given, path = path, Path(os.path.realpath(path))  # write through a symbolic link
    temporary = path.with_name(temporary_name(path, f"{os.getpid()}-{threading.get_ident()}"))
    with naming_output(given):
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


@contextmanager
def naming_output(path: str | os.PathLike[str]) -> Iterator[None]:
    """While a file is written, errors of the system name it: a full disk names none, others name a temporary file."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise OSError(error.errno or errno.EIO, f"can't write the file, {problem}", os.fspath(path)) from error


def temporary_name(path: Path, writer: str) -> str:
    return f".{path.name}.{writer}.tmp"


def _sync_folder(folder: Path) -> None:
    """Flush the rename to disk, where the system allows folders to be opened."""
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
