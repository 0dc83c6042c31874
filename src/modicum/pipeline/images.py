"""Pictures as rows of numbers: small descriptors of colour and shape without any model, or a function of yours.

Pictures are read a few at a time: a folder of any size takes the memory of one batch.
"""

import errno
import filecmp
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.exceptions import DataError

DESCRIPTORS = "descriptors"  # the name of the features that need no function
SIDE = 64  # pixels: pictures are resized to a square of this side before they are described
CELLS = 4  # cells per side, of the colour thumbnail and of the gradients
LEVELS = {"lightness": (4, 0.0, 1.0), "green-red": (3, -0.2, 0.2), "blue-yellow": (3, -0.2, 0.2)}  # bins, from, to
DIRECTIONS = 8  # of gradients, over the full circle
MOST_OF_GRADIENTS = 0.2  # a larger entry is cut, so that one strong edge does not outweigh all others
FAINT = 1e-2  # the squared gradients of a picture below which they count as noise, not as shape
# Shares in the mean squared distance of two pictures, chosen by nearest neighbours on half of CIFAR-10's test batch and
# 5,000 digits; and the mean squared distances of each part on those photographs, which put the parts on one scale.
SHARES = {"thumbnail": 0.2, "histogram": 0.2, "gradients": 0.6}
MEAN_SQUARES = {"thumbnail": 0.93, "histogram": 0.33, "gradients": 0.72}
AT_ONCE = 16  # pictures described together: their arrays stay in the processor's cache

BATCH = 32  # pictures in memory at once
MOST_PIXELS = 1024  # on the longer side of a picture that is given to a function
FULL_CIRCLE = 2 * np.pi

# linear sRGB to the responses of cones, and their cube roots to OKLab (lightness, green-red, blue-yellow)
_CONES = np.array(
    [[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.68069955, 0.10739696], [0.08830246, 0.28171884, 0.6299787]],
    np.float32,
)
_OKLAB = np.array(
    [[0.21045426, 0.79361779, -0.00407205], [1.9779985, -2.4285922, 0.45059371], [0.02590404, 0.78277177, -0.80867577]],
    np.float32,
)


_FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {}  # features that were given in this process, by name


# ---- descriptors -------------------------------------------------------------------------------------


def describe(images: Sequence[Any]) -> np.ndarray:
    """Descriptors of pictures, a float32 row each: what colours are where, which colours there are, and edges.

    A picture is turned upright, put on white where it is transparent, resized to 64 x 64 pixels (not cropped) and
    converted to OKLab, in which distances are as large as they look. The row has 212 columns in three parts:

    - 48: the mean colour of each of 4 x 4 cells;
    - 36: a histogram of 4 x 3 x 3 colours. A pixel counts for its two nearest bins of each axis in proportion; of the
      counts, as shares, the square roots are taken;
    - 128: for each of 4 x 4 cells, how much lightness rises in each of 8 directions. A pixel counts for the nearest
      cells and directions in proportion. The part is scaled to length 1, cut at 0.2 and scaled again, so neither
      exposure nor contrast matter; a picture without edges has zeros.

    The parts are scaled so that of the mean squared distance of two photographs, which is about 1, the thumbnail and
    the histogram make 20% each and the gradients 60%.

    Parameters
    ----------
    images : sequence of Pillow images of any size and mode

    Examples
    --------
    >>> from PIL import Image
    >>> red, pink, blue = describe([Image.new("RGB", (80, 60), name) for name in ("red", "pink", "blue")])
    >>> red.shape, bool(((red - pink) ** 2).sum() < ((red - blue) ** 2).sum())
    ((212,), True)
    """
    small = [_small(image) for image in images]
    rows = [_describe(np.stack([np.asarray(image) for image in some])) for some in _batches(small, AT_ONCE)]
    return np.concatenate(rows) if rows else np.empty((0, N_COLUMNS), np.float32)


N_COLUMNS = 3 * CELLS**2 + int(np.prod([bins for bins, _, _ in LEVELS.values()])) + DIRECTIONS * CELLS**2


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _describe(pixels: np.ndarray) -> np.ndarray:
    colours = np.ascontiguousarray(oklab(pixels).transpose(0, 3, 1, 2))  # (n, 3, SIDE, SIDE)
    parts = {
        "thumbnail": _thumbnails(colours),
        "histogram": _histograms(colours),
        "gradients": _gradients(colours[:, 0]),
    }
    scaled = [part * np.float32(np.sqrt(SHARES[name] / MEAN_SQUARES[name])) for name, part in parts.items()]
    return np.concatenate(scaled, axis=1)


def oklab(pixels: np.ndarray) -> np.ndarray:
    """Colours of sRGB bytes in OKLab: lightness from 0 to 1, green-red and blue-yellow from about -0.3 to 0.3."""
    return np.cbrt(LINEAR_LIGHT[pixels] @ _CONES.T) @ _OKLAB.T


def _linear_light() -> np.ndarray:
    """The light that a byte of sRGB stands for."""
    value = np.arange(256) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


LINEAR_LIGHT = _linear_light()


def _thumbnails(colours: np.ndarray) -> np.ndarray:
    return (_CELL_MEANS @ colours @ _CELL_MEANS.T).transpose(0, 2, 3, 1).reshape(len(colours), -1)


def _histograms(colours: np.ndarray) -> np.ndarray:
    n = len(colours)
    pixels = colours.reshape(n, 3, -1)
    light, red, yellow = (_memberships(pixels[:, i], *LEVELS[name]) for i, name in enumerate(LEVELS))
    hues = (red[:, :, None] * yellow[:, None]).reshape(n, -1, pixels.shape[2])
    return np.sqrt((light @ hues.transpose(0, 2, 1)).reshape(n, -1) / pixels.shape[2])


def _memberships(values: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    """How far each value belongs to each of evenly spaced bins, in axis -2: two bins share it, and the sum is 1."""
    position = np.clip((values - low) * np.float32((bins - 1) / (high - low)), 0, bins - 1)
    return np.maximum(1 - np.abs(position[..., None, :] - np.arange(bins, dtype=np.float32)[:, None]), 0)


def _gradients(lightness: np.ndarray) -> np.ndarray:
    n = len(lightness)
    across, down = np.zeros_like(lightness), np.zeros_like(lightness)
    across[:, :, 1:-1] = lightness[:, :, 2:] - lightness[:, :, :-2]
    down[:, 1:-1] = lightness[:, 2:] - lightness[:, :-2]
    size = np.hypot(across, down)
    turn = np.arctan2(down, across) * np.float32(DIRECTIONS / FULL_CIRCLE) % DIRECTIONS
    out = np.empty((n, DIRECTIONS, CELLS, CELLS), np.float32)
    for direction in range(DIRECTIONS):
        apart = np.abs(turn - direction)
        share = np.maximum(1 - np.minimum(apart, DIRECTIONS - apart), 0)
        out[:, direction] = _CELL_SHARES @ (share * size) @ _CELL_SHARES.T
    flat = out.reshape(n, -1)
    flat = np.minimum(flat / np.sqrt(_square_sums(flat) + FAINT), MOST_OF_GRADIENTS)
    return flat / np.sqrt(np.maximum(_square_sums(flat), FAINT))


def _square_sums(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)[:, None]


# how far each row (or column) of pixels belongs to each row (or column) of cells, and means of cells; (CELLS, SIDE)
_CELL_SHARES = _memberships((np.arange(SIDE, dtype=np.float32) + 0.5) * CELLS / SIDE - 0.5, CELLS, 0, CELLS - 1)
_CELL_MEANS = np.repeat(np.eye(CELLS, dtype=np.float32), SIDE // CELLS, axis=1) * np.float32(CELLS / SIDE)


# ---- reading pictures --------------------------------------------------------------------------------


def image_features(
    paths: Sequence[str], function: Callable[[list[Any]], Any] | None = None, *, n_threads: int = 2
) -> np.ndarray:
    """Features of picture files, a float32 row each; a `DataError` names the file that can't be read.

    Parameters
    ----------
    paths : files that Pillow can read, in any mode and with any orientation
    function : takes a list of at most 32 upright RGB images of at most 1,024 pixels on the longer side, and returns a
        2-D array with a row for each. Default: `describe`
    n_threads : threads that read files
    """
    batches: list[np.ndarray] = []
    load = _load_small if function is None else _load
    with _without_warnings(), _threads(n_threads) as pool:
        for some in _batches(paths, BATCH):
            images = list(pool.map(load, some))
            batches.append(describe(images) if function is None else _call(function, images, some, batches))
    width = N_COLUMNS if function is None else 0
    return np.concatenate(batches) if batches else np.empty((0, width), np.float32)


def readable(paths: Sequence[str], *, n_threads: int = 2) -> np.ndarray:
    """Whether each file is there and can be read as a picture to its end: a mask to leave out those that can't."""
    with _without_warnings(), _threads(n_threads) as pool:
        return np.fromiter(pool.map(_is_readable, paths), bool)


def load_picture(path: str, most: int) -> Any:
    """An upright RGB image of at most `most` pixels on the longer side; a `DataError` if the file is no picture."""
    with _without_warnings():
        return _load(path, most)


def upright(image: Any, most: int) -> Any:
    """A Pillow image in RGB, on white and turned as its tags say, of at most `most` pixels on the longer side."""
    plain = _plain(image)
    plain.thumbnail((most, most), reducing_gap=2.0)
    return _finished(plain, image)


def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="modicum-pictures")


@contextmanager
def _without_warnings() -> Iterator[None]:
    """No warnings of odd files that can be read all the same, or of large ones: `_open` refuses the too large."""
    image = require("PIL.Image", "reading pictures")
    with warnings.catch_warnings():  # not in `_open`: the filters are those of all threads
        warnings.simplefilter("ignore", image.DecompressionBombWarning)
        warnings.filterwarnings("ignore", module="PIL")
        yield


def _is_readable(path: Any) -> bool:
    try:
        _load_small(path)
    except DataError:
        return False
    return True


def _load_small(path: Any) -> Any:
    with _open(path, 2 * SIDE) as image:
        return _small(image)


def _load(path: Any, most: int = MOST_PIXELS) -> Any:
    with _open(path, most) as image:
        return upright(image, most)


@contextmanager
def _open(path: Any, least: int) -> Iterator[Any]:
    """An opened picture, reduced while it is decoded if its format can, to no less than `least` pixels per side."""
    from PIL import Image, UnidentifiedImageError

    name = repr(path)
    try:
        name = os.fsdecode(path)
        with Image.open(path) as image:
            image.draft(None, (least, least))
            limit = Image.MAX_IMAGE_PIXELS  # users may raise it, or set it to None
            if limit is not None and image.width * image.height > limit:
                raise DataError(f"{name} has {image.width:,} x {image.height:,} pixels; the limit is {limit:,} in all.")
            yield image
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such picture.") from None
    except UnidentifiedImageError:
        what = "is empty" if os.path.getsize(path) == 0 else "is no picture that Pillow can read"
        raise DataError(f"{name} {what}.") from None
    except Exception as error:  # decoders of damaged files raise errors of many kinds
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise DataError(f"{name} can't be read as a picture: {reason}.") from None


def _small(image: Any) -> Any:
    """The square in RGB that is described."""
    from PIL import Image

    plain = _plain(image)
    if plain.size != (SIDE, SIDE):
        plain = plain.resize((SIDE, SIDE), Image.Resampling.BILINEAR, reducing_gap=2.0)
    return _finished(plain, image)


def _plain(image: Any) -> Any:
    """The picture in a mode that can be resized: grey, RGB, or RGBA if some of it is transparent."""
    from PIL import Image

    image.load()
    if "transparency" in image.info or image.mode in ("RGBA", "RGBa", "LA", "La", "PA"):
        return image.convert("RGBA")
    if image.mode[0] in "IF":  # 16 or 32 bits
        return Image.fromarray(_stretched(np.asarray(image)))
    return image.copy() if image.mode in ("RGB", "L") else image.convert("RGB")


def _stretched(grey: np.ndarray) -> np.ndarray:
    """Deep greys as bytes, from 0 (or the least, if that is lower) to the largest."""
    values = np.nan_to_num(grey.astype(np.float32), posinf=0, neginf=0)
    low = min(float(values.min()), 0.0)
    return np.round((values - low) * (255 / ((float(values.max()) - low) or 1))).astype(np.uint8)


def _finished(plain: Any, image: Any) -> Any:
    """A resized picture on white and upright, as the tags of the file say."""
    from PIL import Image, ImageOps

    if plain.mode == "RGBA":
        white = Image.new("RGBA", plain.size, "white")
        plain = Image.alpha_composite(white, plain)
    plain = plain.convert("RGB")
    orientation = image.getexif().get(0x0112, 1)
    if orientation == 1:
        return plain
    plain.getexif()[0x0112] = orientation
    return ImageOps.exif_transpose(plain)


# ---- a function of the user's ------------------------------------------------------------------------


def use_features(function: Callable[[list[Any]], Any]) -> str:
    """Let pictures be described by a function, from a list of pictures to an array; returns its name for an encoder.

    State files hold the name alone, and nothing that a file names is ever imported: before a state is used that was
    made with such features, the function has to be given again.

    >>> use_features(describe)
    'modicum.pipeline.images:describe'
    """
    name = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__name__)}"
    _FUNCTIONS[name] = function
    return name


def known_features(name: str) -> Callable[[list[Any]], Any] | None:
    """The function of a name that was given in this process; None for "descriptors"."""
    if name != DESCRIPTORS and name not in _FUNCTIONS:
        raise ValueError(
            f"the features {name!r} are not known here, as a file can't hold functions. Give them again: "
            f"--features {name}, or modicum.pipeline.use_features(function)"
        )
    return _FUNCTIONS.get(name)


def import_features(name: str) -> str:
    """Import "module:function" for pictures to be described by; returns the name for an encoder.

    A module may be a file in the current folder, as with `python -m`.
    """
    if name != DESCRIPTORS:
        _FUNCTIONS[name] = feature_function(name)
    return name


def feature_function(name: str) -> Callable[[list[Any]], Any]:
    """The function that "module:function" names."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise ValueError(f'features must be "{DESCRIPTORS}" or "module:function"; got {name!r}.')
    module = _import(module_name)
    if not hasattr(module, attribute):
        raise ValueError(f"features: the module {module_name} has no function {attribute!r}.")
    function = getattr(module, attribute)
    if not callable(function):
        raise ValueError(f"features: {name} is a {type(function).__name__}, not a function.")
    return function


def _import(name: str) -> Any:
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(name)
    except Exception as error:  # the module is the user's and may raise anything
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            hint = " Give its name without .py." if name.endswith(".py") else ""
            raise ValueError(f"features: there is no module {name!r} here or installed.{hint}") from None
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"features: the module {name} can't be imported ({reason}).") from error


def _call(function: Callable[[list[Any]], Any], images: list[Any], paths: Any, earlier: list[np.ndarray]) -> np.ndarray:
    """What the function returns for a batch, as a valid array."""
    name = getattr(function, "__name__", type(function).__name__)
    batch = f"{len(images)} pictures from {os.fsdecode(paths[0])} on"
    try:
        rows = np.asarray(function(images), np.float32)
    except Exception as error:
        raise DataError(f"the feature function {name} failed on {batch}: {type(error).__name__}: {error}") from error
    if rows.ndim != 2 or len(rows) != len(images):
        raise DataError(
            f"the feature function {name} must return a 2-D array of {len(images)} rows for {batch}; "
            f"it returned the shape {rows.shape}."
        )
    if earlier and rows.shape[1] != earlier[0].shape[1]:
        widths = f"{rows.shape[1]} columns, and {earlier[0].shape[1]} before"
        raise DataError(f"the feature function {name} returned {widths}, for {batch}.")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise DataError(f"the feature function {name} returned NaN or infinity for {os.fsdecode(paths[bad[0]])}.")
    return rows


# ---- copies ------------------------------------------------------------------------------------------


def copy_pictures(paths: Sequence[str], folder: str | os.PathLike[str]) -> list[str]:
    """Copy files into a folder under names with their order and origin, `001_holiday_IMG_2034.jpg`; returns these.

    Nothing is overwritten: a folder that holds other files is refused, and equal copies in it are kept. All files are
    copied beside the folder first and then moved into it, so an error leaves the folder as it was.
    """
    sources, folder = [Path(os.fsdecode(path)) for path in paths], Path(folder)
    names = _copy_names(sources)
    _check_sources(sources)
    there = _check_folder(folder, dict(zip(names, sources, strict=True)))
    todo = [(source, name) for source, name in zip(sources, names, strict=True) if name not in there]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as staging:
            for source, name in todo:
                shutil.copy2(source, Path(staging, name))
            _move(Path(staging), folder, [name for _, name in todo])
    except OSError as error:
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None))
        needed = sum(source.stat().st_size for source, _ in todo)
        reason = f"the disk is full, they take {needed:,} bytes" if full else error.strerror or str(error)
        raise DataError(f"the pictures can't be copied to {folder}: {reason}. None was copied.") from None
    return names


def _move(staging: Path, folder: Path, names: list[str]) -> None:
    """Move files of one disk into a folder, all or none."""
    folder.mkdir(exist_ok=True)
    for i, name in enumerate(names):
        try:
            os.rename(staging / name, folder / name)
        except OSError:
            for moved in names[:i]:
                (folder / moved).unlink()
            raise


def _copy_names(sources: list[Path]) -> list[str]:
    digits = max(3, len(str(len(sources))))
    names = []
    for i, source in enumerate(sources, start=1):
        folder = source.parent.name
        origin = f"{folder}_{source.name}" if folder not in ("", "..") else source.name
        while len(origin.encode(errors="surrogateescape")) > 200:  # file systems allow 255 bytes
            origin = origin[1:]
        names.append(f"{i:0{digits}}_{origin}")
    return names


def _check_sources(sources: list[Path]) -> None:
    missing = next((source for source in sources if not source.is_file()), None)
    if missing is not None:
        raise DataError(f"{missing}: there is no such picture to copy.")


def _check_folder(folder: Path, planned: dict[str, Path]) -> set[str]:
    """Names in the folder, all of them equal copies; a `DataError` about any other."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file. Name a folder to copy pictures to.")
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    for name in sorted(there):
        if name not in planned or not filecmp.cmp(planned[name], folder / name, shallow=False):
            raise DataError(f"{folder} holds other files, such as {name}. Name a new or empty folder.")
    return there
