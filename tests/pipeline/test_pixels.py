"""Pixels and descriptors of patches against published colours and slow twins, and hostile pictures."""

import math

import numpy as np
import pytest

import modicum
from modicum.exceptions import DataError
from modicum.pipeline import make_pipeline
from modicum.pipeline import pixels as module
from modicum.pipeline.pixels import Pixels, as_bytes, cielab, local_descriptors, pixels, srgb

# sRGB and CIELAB (D65, 2 degrees) of the primaries, as they are published
PRIMARIES = {
    (255, 0, 0): (53.24, 80.09, 67.20),
    (0, 255, 0): (87.73, -86.18, 83.18),
    (0, 0, 255): (32.30, 79.19, -107.86),
    (0, 255, 255): (91.11, -48.09, -14.13),
    (255, 0, 255): (60.32, 98.23, -60.82),
    (255, 255, 0): (97.14, -21.55, 94.48),
    (255, 255, 255): (100.0, 0.0, 0.0),
    (119, 119, 119): (50.03, 0.0, 0.0),
    (0, 0, 0): (0.0, 0.0, 0.0),
}


def scene(shape=(40, 52), seed=0):
    """Bytes with smooth colours and noise."""
    rng = np.random.default_rng(seed)
    waves = np.sin(np.add.outer(np.arange(shape[0]) / 5, np.arange(shape[1]) / 7)[..., None] + np.arange(3))
    return np.clip(128 + 90 * waves + rng.normal(0, 8, (*shape, 3)), 0, 255).astype(np.uint8)


# ---- colours -----------------------------------------------------------------------------------------


def test_published_colours():
    found = cielab(np.array(list(PRIMARIES), np.uint8))
    np.testing.assert_allclose(found, list(PRIMARIES.values()), atol=0.03)


def test_colours_come_back():
    colours = np.random.default_rng(0).integers(0, 256, (500, 3), dtype=np.uint8)
    np.testing.assert_array_equal(srgb(cielab(colours)), colours)


def lab_twin(rgb):
    """CIELAB of one colour from the formulas of CIE 15 and IEC 61966-2-1."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (float(byte) / 255 for byte in rgb)]
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    relative = xyz / (0.9505, 1.0, 1.089)
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t * (29 / 6) ** 2 / 3 + 4 / 29 for t in relative)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_colours_are_those_of_the_formulas():
    colours = np.random.default_rng(0).integers(0, 256, (200, 3), dtype=np.uint8)
    colours[:50] //= 12  # dark: where the cube root is a line
    np.testing.assert_allclose(cielab(colours), [lab_twin(colour) for colour in colours], atol=0.05)


# ---- pixels ------------------------------------------------------------------------------------------


def test_a_row_for_each_pixel_in_order():
    picture = scene((6, 9))
    found = pixels(picture, span=9.0)
    expected = [(x - 4, y - 2.5, *cielab(picture[y, x])) for y in range(6) for x in range(9)]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_grey_pictures_have_no_hue():
    grey = scene()[..., 0]
    found = pixels(grey)
    np.testing.assert_allclose(found[:, 3:], 0, atol=1e-3)
    assert np.array_equal(found, pixels(grey[..., None]))
    assert np.array_equal(found, pixels(np.repeat(grey[..., None], 3, axis=2)))


def test_positions_do_not_depend_on_the_size():
    small, large = (pixels(np.zeros(shape, np.uint8))[:, :2] for shape in ((8, 16), (40, 80)))
    np.testing.assert_allclose(small.mean(axis=0), large.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(small.std(axis=0), large.std(axis=0), rtol=0.01)
    assert large.max() < module.SPAN / 2


def test_files_images_and_arrays_are_the_same(tmp_path):
    image = pytest.importorskip("PIL.Image").fromarray(scene())
    image.save(tmp_path / "a.png")
    for picture in (image, tmp_path / "a.png", str(tmp_path / "a.png")):
        assert np.array_equal(pixels(picture), pixels(scene()))
        assert np.array_equal(pixels(picture, size=20), pixels(scene(), size=20))


def test_large_pictures_are_reduced_and_small_ones_kept():
    pytest.importorskip("PIL")
    assert as_bytes(scene((40, 60)), 30).shape == (20, 30, 3)
    assert as_bytes(scene((40, 60)), 60).shape == (40, 60, 3)
    assert abs(pixels(scene(), size=20)[:, 2:].mean(axis=0) - pixels(scene())[:, 2:].mean(axis=0)).max() < 1


# ---- patches -----------------------------------------------------------------------------------------


def descriptor_twin(picture, top, left, cell):
    """The descriptor of one patch, pixel by pixel."""
    lab = cielab(picture).astype(float) / 100
    down, across = np.gradient(lab[..., 0])
    rises = np.zeros((2, 2, 6))
    for y in range(2 * cell):
        for x in range(2 * cell):
            dy, dx = down[top + y, left + x], across[top + y, left + x]
            turn = math.atan2(dy, dx) % (2 * math.pi) / (2 * math.pi) * 6
            first = int(turn) % 6
            rises[y // cell, x // cell, first] += (1 - turn % 1) * math.hypot(dx, dy)
            rises[y // cell, x // cell, (first + 1) % 6] += turn % 1 * math.hypot(dx, dy)
    inside = lab[top : top + 2 * cell, left : left + 2 * cell].reshape(-1, 3)
    return [*np.sqrt(rises.ravel() / max(rises.sum(), 0.01 * cell**2)), *inside.mean(axis=0), *inside.std(axis=0)]


@pytest.mark.parametrize("shape", [(40, 52), (8, 30), (33, 100)])
def test_descriptors_are_those_of_the_twin(shape):
    picture = scene(shape)
    places = module._patches(shape, 12, np.random.default_rng(5))
    expected = [descriptor_twin(picture, *place) for place in zip(*places, strict=True)]
    np.testing.assert_allclose(local_descriptors(picture, 12, random_state=5), expected, atol=2e-4)


def test_patches_lie_within_the_picture_at_all_sizes():
    top, left, cell = module._patches((64, 90), 5000, np.random.default_rng(0))
    assert set(cell) == set(range(4, 17))
    assert (top.min(), left.min()) == (0, 0)
    assert ((top + 2 * cell).max(), (left + 2 * cell).max()) == (64, 90)


def test_contrast_and_exposure_leave_gradients_alone():
    ramp = np.tile(np.arange(32, dtype=np.uint8), (32, 1))
    weak, strong = local_descriptors(100 + ramp, 5), local_descriptors(60 + 3 * ramp, 5)
    np.testing.assert_allclose(weak[:, :24], strong[:, :24], atol=0.02)
    np.testing.assert_allclose(weak[:, :24].reshape(5, 4, 6)[..., 0], 0.5, atol=0.02)  # all rises, to the right


def test_flat_patches_have_zeros():
    assert not local_descriptors(np.full((20, 20, 3), 77, np.uint8), 10)[:, :24].any()


def test_descriptors_are_drawn_by_the_seed():
    one, same, other = (local_descriptors(scene(), 7, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one.shape == (7, module.N_DESCRIPTORS)


# ---- hostile pictures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "picture", [np.zeros((4, 4)), np.zeros((4, 4, 4), np.uint8), np.zeros(4, np.uint8), np.zeros((0, 4), np.uint8)]
)
def test_other_arrays_are_refused(picture):
    with pytest.raises(DataError, match="must be an array of uint8, of shape"):
        pixels(picture)


def test_small_pictures_have_no_patches():
    with pytest.raises(DataError, match="at least 8 x 8 pixels to have patches; got 7 x 30"):
        local_descriptors(np.zeros((7, 30), np.uint8))


def test_files_that_are_no_pictures(tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(DataError, match=r"a\.png is no picture"):
        pixels(tmp_path / "a.png")
    with pytest.raises(DataError, match="can't be read as a picture"):
        pixels([[1, 2]])
    with pytest.raises(ValueError, match="size must be None or a number of pixels"):
        pixels(scene(), size=0)


# ---- as a preparation --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder with three pictures and a file that is none."""
    image = pytest.importorskip("PIL.Image")
    for i in range(3):
        image.fromarray(scene((12, 20), seed=i)).save(tmp_path / f"{i}.png")
    (tmp_path / "x.png").write_text("none")
    return tmp_path


def test_documents_of_a_folder(folder):
    paths = [{"path": str(folder / f"{i}.png")} for i in range(3)]
    made = Pixels(10).fit_transform(paths)
    for items, row in zip(made, paths, strict=True):
        np.testing.assert_array_equal(items, pixels(row["path"], size=10))
    with pytest.raises(DataError, match=r"x\.png.*--missing drop leaves such files out"):
        Pixels().fit(paths).transform([{"path": str(folder / "x.png")}])
    with pytest.raises(DataError, match="no column 'path'"):
        Pixels().fit([{"file": "a.png"}])
    with pytest.raises(DataError, match="a table with a column of paths"):
        Pixels().fit(np.zeros((3, 2)))


def test_a_pipeline_learns_them(folder, tmp_path):
    rows = modicum.stream(str(folder), raw=True, chunk_size=2)
    model = make_pipeline(Pixels(10, missing="drop"), modicum.MemoryBoundedTopicModel(budget="2 MiB", max_topics=4))
    model.learn(rows)
    assert (model.n_seen_, model.n_documents_, model.learner_.n_seen_) == (4, 3, 3 * 60)
    assert model.learner_.column_names_ == ["x", "y", "lightness", "green-red", "blue-yellow"]
    model.save(tmp_path / "m.mcm")
    same, one = modicum.load(tmp_path / "m.mcm"), [{"path": str(folder / "0.png")}]
    np.testing.assert_array_equal(same.transform(one), model.transform(one))
    np.testing.assert_allclose(same.transform(one), model.learner_.transform([pixels(folder / "0.png", size=10)]))
    assert sorted(set(model.learner_.nearest_documents(3)[0].ravel())) == [0, 1, 2]  # positions in the folder
