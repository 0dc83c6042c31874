"""Pictures, of rows that are flattened ones or of files: contact sheets and thumbnails."""

import base64
import html
import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.exceptions import DataError
from modicum.pipeline.images import load_picture
from modicum.plot.style import WIDTH, new_figure
from modicum.rows import is_sparse, n_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONTRAST = (0.5, 99.5)  # percentiles of all pixels, drawn as black and white
THUMBNAIL = 96  # pixels on the longer side, at most
PHOTOGRAPH = 160  # the same, of a picture file


def exemplar_images(learner: Any, image: tuple[int, ...]) -> "Figure":
    """A contact sheet of the exemplars, largest cluster first.

    `image` is the shape of the pictures that rows are: (height, width) if grey, (height, width, 3) if coloured.
    """
    picks = learner.picks()
    order = np.argsort(-picks.weights, kind="stable")
    return picture_sheet(as_pictures(picks.rows, image)[order])


def picture_sheet(pictures: np.ndarray) -> "Figure":
    """A contact sheet as a figure."""
    columns = math.ceil(math.sqrt(len(pictures) * 1.3))
    sheet = contact_sheet(pictures, columns)
    figure, axes = new_figure(WIDTH * sheet.shape[0] / sheet.shape[1])
    axes.imshow(sheet, interpolation="nearest")
    axes.set_axis_off()
    return figure


def as_pictures(rows: Any, image: tuple[int, ...]) -> np.ndarray:
    """Rows as (n, height, width[, 3]) pictures of bytes, with the same contrast for all."""
    check_image(rows, image)
    pixels = np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)
    low, high = np.percentile(pixels, CONTRAST) if n_rows(pixels) else (0.0, 1.0)
    if high <= low:
        low, high = pixels.min(), pixels.max()
    bright = np.clip((pixels - low) / ((high - low) or 1.0), 0, 1)
    return np.round(255 * bright).astype(np.uint8).reshape(-1, *(image[:2] if image[-1] == 1 else image))


def check_image(rows: Any, image: tuple[int, ...]) -> None:
    """Raise a ValueError unless rows can be pictures of this shape."""
    if len(image) not in (2, 3) or (len(image) == 3 and image[2] not in (1, 3)):
        raise ValueError(f"image must be (height, width) or (height, width, 3); got {tuple(image)}.")
    if isinstance(rows, list) or rows.shape[1] != math.prod(image):
        width = "are objects" if isinstance(rows, list) else f"have {rows.shape[1]} columns"
        raise ValueError(f"pictures of shape {tuple(image)} need {math.prod(image)} columns, but rows {width}.")


def contact_sheet(pictures: np.ndarray, columns: int) -> np.ndarray:
    """Pictures side by side in one RGBA picture, with transparent gaps."""
    n, height, width = pictures.shape[:3]
    gap = max(1, width // 14)
    rows = math.ceil(n / columns)
    sheet = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap, 4), np.uint8)
    for i, picture in enumerate(pictures):
        top, left = i // columns * (height + gap), i % columns * (width + gap)
        tile = sheet[top : top + height, left : left + width]
        tile[..., :3] = picture if picture.ndim == 3 else picture[..., None]
        tile[..., 3] = 255
    return sheet


def data_uri(picture: np.ndarray) -> str:
    """A thumbnail as a data URI for an `<img>`."""
    from PIL import Image  # a dependency of matplotlib

    image = Image.fromarray(picture)
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def file_uri(path: str, name: str) -> str:
    """A thumbnail of a picture file as a data URI; a grey box with the name if the file can't be read."""
    try:
        image = load_picture(path, PHOTOGRAPH)
    except DataError:
        return _grey_box(name)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=80, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


def _grey_box(name: str) -> str:
    words = html.escape(name if len(name) <= 20 else f"…{name[-19:]}")
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{PHOTOGRAPH}" height="{PHOTOGRAPH}"><rect width="100%" '
        f'height="100%" fill="#ccc"/><text x="50%" y="50%" font-family="sans-serif" font-size="13" fill="#444" '
        f'text-anchor="middle">{words}</text></svg>'
    )
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.encode(errors="replace")).decode()
