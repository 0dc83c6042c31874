"""Make docs/images/digits.png from the package's own figures, and docs/images/forecast.png by its example.

python docs/make_pictures.py
"""

import contextlib
import io
import runpy
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.datasets import load_digits

import modicum
from modicum.plot import exemplar_images, sample_map
from modicum.plot.style import LIGHT

HERE = Path(__file__).resolve().parent
IMAGES = HERE / "images"
FORECAST = HERE.parent / "examples" / "forecast.py"
K = 40


def pixels(figure: Figure) -> np.ndarray:
    """A figure as an array, without the empty rim."""
    file = io.BytesIO()
    figure.savefig(file, dpi=200)
    file.seek(0)
    picture = imread(file)
    rows, columns = (np.flatnonzero((picture[..., :3] < 0.98).any(axis=(axis, 2))) for axis in (1, 0))
    return picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def side_by_side(parts: list[tuple[np.ndarray, str]]) -> Figure:
    """Pictures of one height with a caption above each."""
    figure = Figure(figsize=(12, 5.4), dpi=120, facecolor=LIGHT["paper"], layout="constrained")
    figure.get_layout_engine().set(wspace=0.1, w_pad=0.15, h_pad=0.15)  # type: ignore[union-attr]
    widths = [picture.shape[1] / picture.shape[0] for picture, _ in parts]
    for axes, (picture, caption) in zip(figure.subplots(1, len(parts), width_ratios=widths), parts, strict=True):
        axes.imshow(picture, interpolation="antialiased")
        axes.set_axis_off()
        axes.set_title(caption, fontsize=15, color=LIGHT["ink"], loc="left", pad=12)
    return figure


def digits() -> Figure:
    X = load_digits().data.astype(np.float32)
    model = modicum.ExemplarClustering(K, random_state=0).fit(modicum.stream(X))
    cloud = sample_map(model, image=(8, 8))
    cloud.axes[0].set(xlabel="", ylabel="")
    return side_by_side(
        [
            (pixels(cloud), f"{len(X):,} digits come by once…"),
            (pixels(exemplar_images(model, (8, 8))), f"…and {K} of them stand for all"),
        ]
    )


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    digits().savefig(IMAGES / "digits.png")
    with contextlib.chdir(IMAGES):  # where the example writes its picture
        runpy.run_path(str(FORECAST))
    for picture in sorted(IMAGES.iterdir()):
        print(f"{picture.name}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
