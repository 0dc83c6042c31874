"""Pictures as documents of items for topic models (gomes2008topics, section 3.6): pixels, or descriptors of patches."""

from typing import Any

import numpy as np

from modicum._optional import require
from modicum.contract.learner import Traits
from modicum.exceptions import DataError
from modicum.pipeline.images import FULL_CIRCLE, LINEAR_LIGHT, MOST_PIXELS, load_picture, readable, upright
from modicum.pipeline.preparation import Preparation
from modicum.pipeline.tables import TakesTables
from modicum.rules.invariants import TEXT
from modicum.rules.params import Int, OneOf
from modicum.state.rng import RandomState, as_generator
from modicum.streams.readers.columns import position
from modicum.streams.readers.images import IS_IMAGE
from modicum.streams.readers.tables import FILE, ROW

SIDE = 64  # pixels on the longer side of pictures whose regions are to be found
PIXEL_COLUMNS = ("x", "y", "lightness", "green-red", "blue-yellow")
SPAN = 50.0  # of positions over the longer side: they then vary about as much as the colours of photographs

DIRECTIONS = 6  # of gradients in a cell of a patch, over the full circle
SMALLEST_CELL = 4  # pixels on a side; a patch has 2 x 2 cells
N_DESCRIPTORS = 4 * DIRECTIONS + 6
FAINT = 0.0025  # of the range of lightness, per pixel: a smaller mean rise in a patch counts as noise, not as shape
COLOUR_UNIT = 100.0  # of CIELAB, the range of lightness: colours are then as large as shares of gradients

# linear sRGB to X, Y, Z relative to white (D65), so that each row sums to 1
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_TO_XYZ /= _TO_XYZ.sum(axis=1, keepdims=True)
_TO_LAB = np.array([[0.0, 116.0, 0.0], [500.0, -500.0, 0.0], [0.0, 200.0, -200.0]])  # from their compressed values
_KNEE = 6 / 29  # cube roots are replaced by a line below it


class Pixels(TakesTables, Preparation):
    """The pixels of pictures as documents for a topic model: an array of items for each file, as `pixels` makes it.

    Rows are a table with a column of paths, such as `modicum.stream(folder, raw=True)` yields. Nothing is learned, and
    pictures are read one after another. A chunk of n pictures takes up to 20 * n * size**2 bytes.

    Parameters
    ----------
    size : int, default=64
        Most pixels on the longer side; larger pictures are reduced.
    missing : {"error", "drop"}, default="error"
        Whether files that can't be read are an error, or left out by a pipeline.

    Attributes
    ----------
    column_ : str
        The column of paths.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from PIL import Image
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "red.png"
    >>> Image.new("RGB", (3, 2), "red").save(path)
    >>> [items.shape for items in Pixels().fit_transform([{"path": str(path)}])]
    [(6, 5)]

    References
    ----------
    gomes2008topics, section 3.6.
    """

    traits = Traits(chunk_exact=True, merge="exact", tables=True)
    n_first = 1  # the names of columns are all that is decided
    _constraints = {"size": [Int(1)], "missing": [OneOf("error", "drop")]}
    _invariants = {"column_": TEXT}
    column_: str

    def __init__(self, size: int = SIDE, *, missing: str = "error"):
        self.size = size
        self.missing = missing

    @property
    def summary_(self) -> str:
        return f"learned from the pixels of pictures, at most {self.size} x {self.size} of each"

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of items."""
        self._check_fitted()
        return np.array(PIXEL_COLUMNS, object)

    def complete(self, X: Any) -> np.ndarray:
        """Whether each file can be read."""
        return readable(self.paths(self._check_rows(X, reset=False)))

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._check_rows(X, reset=reset)
        if self._kind != "table":
            raise DataError(f"{type(self).__name__}: rows must be a table with a column of paths of pictures.")
        if reset:
            marked = [field.name for field in rows.schema if field.metadata == IS_IMAGE]
            self.column_ = (marked or ["path"])[0]
        names = [name for name in rows.column_names if name not in (FILE, ROW)]
        position(self.column_, type(self).__name__, len(names), names)
        return rows

    def _decide(self, X: Any) -> None:
        """Nothing is decided by the pictures."""

    def _decided(self) -> Any:
        return {"size": self.size}

    def _encode(self, X: Any) -> list[np.ndarray]:
        try:
            return [pixels(path, size=self.size) for path in self.paths(X)]
        except DataError as error:
            raise DataError(f"{type(self).__name__}: {error} --missing drop leaves such files out.") from None

    def paths(self, X: Any) -> list[str]:
        return ["" if path is None else str(path) for path in X.column(self.column_).to_pylist()]


def cielab(rgb: np.ndarray) -> np.ndarray:
    """Colours of sRGB bytes in CIELAB (D65): lightness from 0 to 100, green-red and blue-yellow of about +-100.

    >>> cielab(np.array([[255, 255, 255], [255, 0, 0]], np.uint8)).round() + 0.0
    array([[100.,   0.,   0.],
           [ 53.,  80.,  67.]], dtype=float32)
    """
    xyz = LINEAR_LIGHT[rgb] @ _TO_XYZ.T.astype(np.float32)
    root = np.where(xyz > _KNEE**3, np.cbrt(xyz), xyz / np.float32(3 * _KNEE**2) + np.float32(4 / 29))
    return root @ _TO_LAB.T.astype(np.float32) - np.array([16.0, 0.0, 0.0], np.float32)


def srgb(lab: np.ndarray) -> np.ndarray:
    """Colours of CIELAB as the nearest sRGB bytes: the inverse of `cielab`.

    >>> srgb(np.array([[100.0, 0.0, 0.0], [53.2, 80.1, 67.2]])).tolist()
    [[255, 255, 255], [255, 0, 0]]
    """
    root = (lab + np.array([16.0, 0.0, 0.0])) @ np.linalg.inv(_TO_LAB).T
    xyz = np.where(root > _KNEE, root**3, (root - 4 / 29) * 3 * _KNEE**2)
    return np.abs(LINEAR_LIGHT - (xyz @ np.linalg.inv(_TO_XYZ).T)[..., None]).argmin(axis=-1).astype(np.uint8)


def pixels(picture: Any, *, size: int | None = None, span: float = SPAN) -> np.ndarray:
    """The pixels of a picture, row by row: x and y relative to its centre, and their colour in CIELAB.

    Returns a float32 array of 5 columns, a document of items for a topic model: topics of the pixels of many pictures
    are regions that the pictures share.

    Parameters
    ----------
    picture : uint8 array of shape (height, width) or (height, width, 3), Pillow image, or path of a file
    size : int, default=None
        Most pixels on the longer side; a larger picture is reduced. By default arrays keep their size, and other
        pictures are reduced to 1,024.
    span : float, default=50
        Length of the longer side in units of x and y. The default makes positions vary about as much as colours: on
        CIFAR-10, x and y have standard deviations of 14, and L, a and b of 25, 10 and 16.

    Examples
    --------
    >>> pixels(np.array([[0, 255]], np.uint8)).round() + 0.0
    array([[-12.,   0.,   0.,   0.,   0.],
           [ 12.,   0., 100.,   0.,   0.]], dtype=float32)
    """
    rgb = as_bytes(picture, size)
    height, width = rgb.shape[:2]
    unit = span / max(height, width)
    y, x = np.indices((height, width), np.float32)
    places = [(x - (width - 1) / 2) * unit, (y - (height - 1) / 2) * unit]
    return np.concatenate([np.stack(places, axis=-1), cielab(rgb)], axis=-1, dtype=np.float32).reshape(-1, 5)


def local_descriptors(
    picture: Any, n: int = 100, *, size: int | None = None, random_state: RandomState = 0
) -> np.ndarray:
    """Descriptors of square patches at random places of a picture, of random size: float32 rows of 30 columns.

    Sides of patches are log-uniform between 8 pixels and half of the shorter side of the picture. A row has

    - 24: for each of 2 x 2 cells, how much lightness rises in each of 6 directions; a pixel counts for the two nearest
      directions in proportion. The square roots of the shares are taken, so that contrast does not matter, as in
      RootSIFT; a patch without edges has zeros.
    - 6: mean and standard deviation of the CIELAB colours of the patch, divided by 100.

    Parameters
    ----------
    picture, size : as for `pixels`; at least 8 pixels on a side
    n : int, default=100
        Number of patches.
    random_state : int, Generator or None, default=0

    Examples
    --------
    >>> grey = local_descriptors(np.full((32, 32), 119, np.uint8), 3)
    >>> grey.shape, [float(column) for column in grey[0, -6:].round(2) + 0.0]
    ((3, 30), [0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    rgb = as_bytes(picture, size)
    top, left, cell = _patches(rgb.shape[:2], n, as_generator(random_state))
    area = 4 * cell**2
    lab = cielab(rgb) / COLOUR_UNIT
    rises = np.maximum(_sums_of_cells(_rises(lab[..., 0]), top, left, cell).reshape(n, -1), 0)  # but for rounding
    shares = np.sqrt(rises / np.maximum(rises.sum(axis=1), FAINT * area)[:, None])
    moments = _sums_of_cells(np.concatenate([lab, lab**2], axis=-1), top, left, cell).sum(axis=1)
    mean, square = np.split(moments / area[:, None], 2, axis=1)
    return np.hstack([shares, mean, np.sqrt(np.maximum(square - mean**2, 0))]).astype(np.float32)


def as_bytes(picture: Any, size: int | None = None) -> np.ndarray:
    """A picture as an array of bytes of shape (height, width, 3), of at most `size` pixels on the longer side."""
    if size is not None and size < 1:
        raise ValueError(f"size must be None or a number of pixels, at least 1; got {size!r}.")
    if isinstance(picture, np.ndarray):
        rgb = _checked(picture)
        if size is None or max(rgb.shape[:2]) <= size:
            return rgb
        picture = require("PIL.Image", "reducing pictures").fromarray(np.ascontiguousarray(rgb))
    most = MOST_PIXELS if size is None else size
    return np.asarray(upright(picture, most) if hasattr(picture, "getexif") else load_picture(picture, most))


def _checked(picture: np.ndarray) -> np.ndarray:
    is_grey = picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] == 1)
    if picture.dtype != np.uint8 or not (is_grey or (picture.ndim == 3 and picture.shape[2] == 3)) or not picture.size:
        raise DataError(
            "a picture must be an array of uint8, of shape (height, width) or (height, width, 3); "
            f"got {picture.dtype} of shape {picture.shape}."
        )
    return np.broadcast_to(picture.reshape(*picture.shape[:2], -1), (*picture.shape[:2], 3))


def _patches(shape: tuple[int, ...], n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First rows, first columns, and sides of the cells of random patches."""
    height, width = shape
    if min(height, width) < 2 * SMALLEST_CELL:
        raise DataError(f"a picture needs at least 8 x 8 pixels to have patches; got {height} x {width}.")
    largest = max(min(height, width) // 4, SMALLEST_CELL)
    scale, down, across = rng.random((3, n))
    cell = np.floor(SMALLEST_CELL * ((largest + 1) / SMALLEST_CELL) ** scale).astype(np.intp)
    top, left = (np.floor(u * (side - 2 * cell + 1)).astype(np.intp) for u, side in ((down, height), (across, width)))
    return top, left, cell


def _rises(lightness: np.ndarray) -> np.ndarray:
    """How much lightness rises at each pixel in each direction, in the last axis."""
    down, across = np.gradient(lightness)
    turn = np.arctan2(down, across) * (DIRECTIONS / FULL_CIRCLE)
    apart = np.abs((turn[..., None] - np.arange(DIRECTIONS) + DIRECTIONS / 2) % DIRECTIONS - DIRECTIONS / 2)
    return np.maximum(1 - apart, 0) * np.hypot(down, across)[..., None]


def _sums_of_cells(values: np.ndarray, top: np.ndarray, left: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Sums of values over the 2 x 2 cells of each patch, (n, 4, channels), as differences of cumulative sums."""
    table = np.zeros((values.shape[0] + 1, values.shape[1] + 1, values.shape[2]))
    table[1:, 1:] = values.cumsum(axis=0, dtype=np.float64).cumsum(axis=1)
    steps = np.arange(3) * cell[:, None]
    corners = table[(top[:, None] + steps)[:, :, None], (left[:, None] + steps)[:, None]]  # (n, 3, 3, channels)
    return np.diff(np.diff(corners, axis=1), axis=2).reshape(len(cell), 4, -1)
