"""What exemplars, or other rows that are pictures, look like."""

import base64
import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.style import WIDTH, new_figure
from modicum.rows import is_sparse, n_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONTRAST = (0.5, 99.5)  # percentiles of all pixels that become black and white
THUMBNAIL = 96  # pixels on the longer side, at most


def exemplar_images(learner: Any, shape: tuple[int, ...]) -> "Figure":
    """A contact sheet of the exemplars, the one with the largest cluster first.

    `shape` is (height, width) for grey pictures or (height, width, 3) for colour; rows are such pictures, flattened.
    """
    order = np.argsort(-learner.cluster_sizes_, kind="stable")
    return picture_sheet(as_pictures(learner.exemplars_, shape)[order])


def picture_sheet(pictures: np.ndarray) -> "Figure":
    """Pictures in a few lines that fill a rectangle."""
    columns = math.ceil(math.sqrt(len(pictures) * 1.3))
    sheet = contact_sheet(pictures, columns)
    figure, axes = new_figure(WIDTH * sheet.shape[0] / sheet.shape[1])
    axes.imshow(sheet, interpolation="nearest")
    axes.set_axis_off()
    return figure


def as_pictures(rows: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Flat rows as (n, height, width[, 3]) pictures of bytes, with one contrast for all."""
    check_shape(rows, shape)
    pixels = np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)
    low, high = np.percentile(pixels, CONTRAST) if n_rows(pixels) else (0.0, 1.0)
    if high <= low:
        low, high = pixels.min(), pixels.max()
    bright = np.clip((pixels - low) / ((high - low) or 1.0), 0, 1)
    return np.round(255 * bright).astype(np.uint8).reshape(-1, *(shape[:2] if shape[-1] == 1 else shape))


def check_shape(rows: Any, shape: tuple[int, ...]) -> None:
    """Whether rows can be pictures of this shape."""
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
        raise ValueError(f"pictures have a shape (height, width) or (height, width, 3); got {tuple(shape)}.")
    if isinstance(rows, list) or rows.shape[1] != math.prod(shape):
        width = "are objects" if isinstance(rows, list) else f"have {rows.shape[1]} columns"
        raise ValueError(f"pictures of shape {tuple(shape)} need {math.prod(shape)} columns, but rows {width}.")


def contact_sheet(pictures: np.ndarray, columns: int) -> np.ndarray:
    """Pictures side by side in one RGBA picture, with clear gaps."""
    n, height, width = pictures.shape[:3]
    gap = max(1, width // 14)
    rows = math.ceil(n / columns)
    sheet = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap, 4), np.uint8)
    for i, picture in enumerate(pictures):
        top, left = i // columns * (height + gap), i % columns * (width + gap)
        place = sheet[top : top + height, left : left + width]
        place[..., :3] = picture if picture.ndim == 3 else picture[..., None]
        place[..., 3] = 255
    return sheet


def data_uri(picture: np.ndarray) -> str:
    """A small PNG of a picture, as the address of an `<img>`."""
    from PIL import Image  # a dependency of matplotlib

    image = Image.fromarray(picture)
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
