"""Make docs/images from the figures of the package; examples/forecast.py makes forecast.png.

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
from sklearn.decomposition import PCA

import modicum
from modicum.datasets import Generated, changing, sea
from modicum.evaluate import prequential
from modicum.plot import component_map, exemplar_images, exemplar_map, scores_over_stream
from modicum.plot.images import as_pictures, contact_sheet
from modicum.plot.style import LIGHT

HERE = Path(__file__).resolve().parent
IMAGES = HERE / "images"
FORECAST = HERE.parent / "examples" / "forecast.py"
K = 40


def pixels(figure: Figure) -> np.ndarray:
    """A figure as an array, without its margins."""
    file = io.BytesIO()
    figure.savefig(file, dpi=200)
    file.seek(0)
    picture = imread(file)
    rows, columns = (np.flatnonzero((picture[..., :3] < 0.98).any(axis=(axis, 2))) for axis in (1, 0))
    return picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def side_by_side(pictures: list[tuple[np.ndarray, str]]) -> Figure:
    """Pictures of the same height with a caption above each."""
    figure = Figure(figsize=(12, 5.4), dpi=120, facecolor=LIGHT["paper"], layout="constrained")
    figure.get_layout_engine().set(wspace=0.1, w_pad=0.15, h_pad=0.15)  # type: ignore[union-attr]
    widths = [picture.shape[1] / picture.shape[0] for picture, _ in pictures]
    for axes, (picture, caption) in zip(figure.subplots(1, len(pictures), width_ratios=widths), pictures, strict=True):
        axes.imshow(picture, interpolation="antialiased")
        axes.set_axis_off()
        axes.set_title(caption, fontsize=15, color=LIGHT["ink"], loc="left", pad=12)
    return figure


def digits() -> Figure:
    """Exemplars among the rows, and as a contact sheet."""
    X = load_digits().data.astype(np.float32)
    model = modicum.ExemplarClustering(K, random_state=0).fit(modicum.stream(X))
    among_rows = exemplar_map(model, image=(8, 8))
    among_rows.axes[0].set(xlabel="", ylabel="")
    return side_by_side(
        [
            (pixels(among_rows), f"{len(X):,} digits, read once"),
            (pixels(exemplar_images(model, (8, 8))), f"{K} exemplars that represent them"),
        ]
    )


def new_digits() -> Figure:
    """Means of components before and after new digits appear, learned from 16 principal components."""
    X, names = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, early = X[order], names[order] < 6
    pca = PCA(16, random_state=0).fit(X[early])
    model = modicum.MemoryBoundedMixture(budget=800)
    sheets, captions = [], []
    for rows, which in ((X[early], "zeros to fives"), (X[~early], "sixes to nines as well")):
        model.learn(pca.transform(rows))
        means = pca.inverse_transform(model.means_[np.argsort(-model.weights_)])
        sheets.append(contact_sheet(as_pictures(means, (8, 8)), columns=12))
        captions.append(f"{model.n_seen_:,} digits, {which}: {model.n_components_} components")
    heights, width = [len(sheet) for sheet in sheets], sheets[0].shape[1]
    size = 10, 10 * sum(heights) / width + 0.9  # with room for the captions
    figure = Figure(figsize=size, dpi=100, facecolor=LIGHT["paper"], layout="constrained")
    for axes, sheet, caption in zip(figure.subplots(2, height_ratios=heights), sheets, captions, strict=True):
        axes.imshow(sheet, interpolation="nearest")
        axes.set_axis_off()
        axes.set_title(caption, fontsize=14, color=LIGHT["ink"], loc="left", pad=10)
    return figure


def uncertain_digits() -> Figure:
    """Digits in the middle of clusters by RIM, a row for each cluster, and those between clusters."""
    X = load_digits().data
    model = modicum.RIM(n_clusters=10, features="diffusion", random_state=0).fit(X)
    typical = np.concatenate([picks.rows for picks in model.typical(12)])
    sheets = [contact_sheet(as_pictures(rows, (8, 8)), columns=12) for rows in (typical, model.uncertain(120).rows)]
    return side_by_side(list(zip(sheets, ["typical digits of ten clusters", "the most uncertain digits"], strict=True)))


def clumps() -> Figure:
    """Clumps and components of a mixture in two columns."""
    rng = np.random.default_rng(5)
    shapes = np.eye(2) + 0.6 * rng.normal(size=(7, 2, 2))
    which = rng.choice(7, 20_000, p=rng.dirichlet(np.full(7, 3.0)))
    X = rng.uniform(-9, 9, (7, 2))[which] + np.einsum("nij,nj->ni", shapes[which], rng.normal(size=(len(which), 2)))
    figure = component_map(modicum.MemoryBoundedMixture(budget=600).fit(X))
    figure.set_size_inches(6, 4.5)
    figure.axes[0].set_axis_off()
    return figure


def drift_scores() -> Figure:
    """Accuracy along a stream whose concept changes twice."""
    world = changing([sea(0), sea(3), sea(2)], [8000, 16_000])
    return scores_over_stream(prequential(modicum.StreamSVC(random_state=0), Generated(world, 24_000), chunk_size=100))


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    digits().savefig(IMAGES / "digits.png")
    new_digits().savefig(IMAGES / "new_digits.png")
    uncertain_digits().savefig(IMAGES / "uncertain_digits.png", dpi=100)
    clumps().savefig(IMAGES / "clumps.png", dpi=120)
    drift_scores().savefig(IMAGES / "drift_scores.png")
    with contextlib.chdir(IMAGES):  # where the example writes its picture
        runpy.run_path(str(FORECAST))
    for picture in sorted(IMAGES.iterdir()):
        print(f"{picture.name}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
