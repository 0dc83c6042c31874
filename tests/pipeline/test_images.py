"""Descriptors against a slow twin, files of every kind, hostile files, functions of users, and copies."""

import errno
import os
import struct
import sys
import zlib

import numpy as np
import pytest

from modicum.exceptions import DataError, MissingExtraError
from modicum.pipeline import TableEncoder, images, use_features
from modicum.pipeline.images import (
    copy_pictures,
    describe,
    feature_function,
    image_features,
    load_picture,
    oklab,
    readable,
)

Image = pytest.importorskip("PIL.Image")


def scene(seed=0, size=(90, 60)):
    """A photograph, almost: smooth colours with a few edges."""
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, size=(5, 7, 3), dtype=np.uint8))
    return rough.resize(size, Image.Resampling.BICUBIC)


def saved(folder, image, name="picture.png", **options):
    path = folder / name
    image.save(path, **options)
    return str(path)


def distance(a, b):
    return float(((a - b) ** 2).sum())


# ---- descriptors -------------------------------------------------------------------------------------


def twin(image):
    """The descriptor of a picture of 64 x 64 pixels, pixel by pixel."""
    colours = oklab(np.asarray(image)).astype(float)
    light = colours[..., 0]
    cells, histogram, gradients = np.zeros((4, 4, 3)), np.zeros((4, 3, 3)), np.zeros((8, 4, 4))
    for y in range(64):
        for x in range(64):
            cells[y // 16, x // 16] += colours[y, x] / 256
            for bins in np.ndindex(4, 3, 3):
                at = [c * 3 if i == 0 else (c + 0.2) / 0.2 for i, c in enumerate(colours[y, x])]
                at = np.clip(at, 0, [3, 2, 2])
                histogram[bins] += np.prod(np.maximum(1 - np.abs(at - bins), 0)) / 4096
            across = light[y, x + 1] - light[y, x - 1] if 0 < x < 63 else 0.0
            down = light[y + 1, x] - light[y - 1, x] if 0 < y < 63 else 0.0
            turn = np.arctan2(down, across) / (2 * np.pi) * 8 % 8
            row, column = (np.clip((i + 0.5) / 16 - 0.5, 0, 3) for i in (y, x))
            for k, i, j in np.ndindex(8, 4, 4):
                apart = min(abs(turn - k), 8 - abs(turn - k))
                shares = [max(1 - gap, 0) for gap in (apart, abs(row - i), abs(column - j))]
                gradients[k, i, j] += np.prod(shares) * np.hypot(across, down)
    gradients = np.minimum(gradients / np.sqrt((gradients**2).sum() + 0.01), 0.2)
    gradients /= np.sqrt(max((gradients**2).sum(), 0.01))
    parts = [cells * np.sqrt(0.2 / 0.93), np.sqrt(histogram * 0.2 / 0.33), gradients * np.sqrt(0.6 / 0.72)]
    return np.concatenate([part.ravel() for part in parts])


@pytest.mark.slow
def test_equals_the_definition_pixel_by_pixel():
    image = scene(size=(64, 64))
    found = describe([image])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], twin(image), atol=2e-5)


def test_oklab_of_known_colours():
    found = oklab(np.array([[255, 255, 255], [0, 0, 0], [255, 0, 0]], np.uint8))
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 0, 0], [0.628, 0.225, 0.126]], atol=1e-3)


def test_any_split_into_batches_is_the_same(monkeypatch):
    scenes = [scene(i) for i in range(7)]
    together = describe(scenes)
    monkeypatch.setattr(images, "AT_ONCE", 2)
    np.testing.assert_allclose(describe(scenes), together, atol=1e-6)


def test_near_pictures_are_near():
    one, other = scene(0), scene(1)
    smaller = one.resize((45, 30))
    a, b, c = describe([one, smaller, other])
    assert distance(a, b) < 0.1 * distance(a, c)


def test_a_flat_picture_has_no_gradients_and_noise_in_it_is_small():
    flat, other = describe([Image.new("RGB", (50, 50), (90, 90, 90)), Image.new("RGB", (50, 50), (91, 91, 91))])
    assert not flat[84:].any()
    assert distance(flat, other) < 1e-3


def test_no_pictures():
    assert describe([]).shape == image_features([]).shape == (0, 212)


# ---- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "bmp", "tiff", "webp"])
def test_formats(tmp_path, ending):
    path = saved(tmp_path, scene(), f"picture.{ending}")
    assert distance(image_features([path])[0], describe([scene()])[0]) < 0.05


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I;16", "LA", "YCbCr", "F", "I"])
def test_modes(tmp_path, mode):
    grey = scene().convert("L")
    deep = {"I;16": (np.uint16, 257), "I": (np.int32, 257), "F": (np.float32, 1 / 255)}
    if mode in deep:
        dtype, factor = deep[mode]
        image = Image.fromarray((np.asarray(grey, float) * factor).astype(dtype))
    else:
        image = scene().convert(mode)
    ending = {"CMYK": "jpg", "YCbCr": "jpg", "F": "tiff", "I": "tiff"}.get(mode, "png")
    found = image_features([saved(tmp_path, image, f"picture.{ending}")])[0]
    expected = grey if mode in deep or mode in ("1", "L", "LA") else scene()
    limit = 1.5 if mode == "1" else 0.1  # black and white dots have edges of their own
    assert distance(found, describe([expected])[0]) < limit


def test_transparent_is_white(tmp_path):
    clear = Image.new("RGBA", (40, 40), (255, 0, 0, 0))
    palette = Image.new("RGB", (40, 40), "red").quantize(4)
    white = describe([Image.new("RGB", (40, 40), "white")])[0]
    paths = [saved(tmp_path, clear, "a.png"), saved(tmp_path, palette, "b.png", transparency=palette.getpixel((0, 0)))]
    for found in image_features(paths):
        np.testing.assert_allclose(found, white, atol=1e-5)


@pytest.mark.parametrize("ending", ["jpg", "png", "tiff"])
@pytest.mark.parametrize("tag", range(1, 9))
def test_orientation_is_applied_once(tmp_path, tag, ending):
    back = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # how upright pixels were turned before they were saved
    upright = scene()
    turned = upright if tag == 1 else upright.transpose(Image.Transpose(back[tag]))
    exif = Image.Exif()
    exif[0x0112] = tag
    path = saved(tmp_path, turned, f"picture.{ending}", exif=exif)
    assert distance(image_features([path])[0], describe([upright])[0]) < 0.05
    assert load_picture(path, 500).size == upright.size


def test_a_large_jpeg_is_reduced_while_it_is_decoded(tmp_path):
    large = scene(size=(2400, 1600))
    path = saved(tmp_path, large, "large.jpg")
    assert distance(image_features([path])[0], describe([large])[0]) < 0.02
    assert load_picture(path, 160).size == (160, 107)


def test_threads_and_batches_change_nothing(tmp_path, monkeypatch):
    paths = [saved(tmp_path, scene(i), f"{i}.png") for i in range(9)]
    expected = image_features(paths)
    monkeypatch.setattr(images, "BATCH", 4)
    np.testing.assert_allclose(image_features(paths, n_threads=1), expected, atol=1e-6)


# ---- hostile files -----------------------------------------------------------------------------------


def huge_png(width, height):
    """A file of a few bytes that declares a very large picture."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b"\0" * 100)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.fixture
def hostile(tmp_path):
    whole = saved(tmp_path, scene(size=(300, 200)), "whole.jpg")
    with open(whole, "rb") as file:
        content = file.read()
    files = {
        "truncated.jpg": content[: len(content) // 2],
        "broken.png": huge_png(40, 40)[:-20],
        "empty.jpg": b"",
        "text.png": b"This is not a picture.\n",
        "large.png": huge_png(12_000, 8_000),
        "huge.png": huge_png(100_000, 100_000),
        "svg.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.png").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("truncated.jpg", "truncated"),
        ("broken.png", "can't be read as a picture"),
        ("empty.jpg", "is empty"),
        ("text.png", "is no picture"),
        ("large.png", r"12,000 x 8,000 pixels; the limit is"),
        ("huge.png", "exceeds limit"),
        ("svg.svg", "is no picture"),
        ("missing.png", "there is no such picture"),
        ("folder.png", "can't be read as a picture"),
    ],
)
def test_a_file_that_is_no_picture_is_named(hostile, name, words):
    paths = [str(hostile / "whole.jpg"), str(hostile / name)]
    with pytest.raises(DataError, match=rf"(?s){name}.*{words}") as caught:
        image_features(paths)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=name):
        load_picture(paths[1], 100)


def test_unreadable_files_can_be_left_out(hostile):
    paths = sorted(str(path) for path in hostile.iterdir())
    kept = readable(paths)
    assert [path for path, there in zip(paths, kept, strict=True) if there] == [str(hostile / "whole.jpg")]
    assert not readable([None, "", "a\0b"]).any()


def test_a_missing_path_is_refused():
    with pytest.raises(DataError, match="None can't be read"):
        image_features([None])


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"pillow.*modicum\[cli\]"):
        image_features(["a.png"])


# ---- a function of the user's ------------------------------------------------------------------------


def sizes(pictures):
    return [picture.size for picture in pictures]


def test_a_function_takes_upright_rgb_pictures(tmp_path):
    paths = [saved(tmp_path, scene(i, size=(50 + i, 40)).convert("RGBA"), f"{i}.png") for i in range(40)]
    calls = []

    def function(pictures):
        calls.append(len(pictures))
        assert {picture.mode for picture in pictures} == {"RGB"}
        return sizes(pictures)

    found = image_features(paths, function)
    assert calls == [32, 8]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [(50 + i, 40) for i in range(40)])


def test_pictures_for_a_function_are_bounded(tmp_path):
    path = saved(tmp_path, scene(size=(3000, 600)))
    np.testing.assert_array_equal(image_features([path], sizes), [(1024, 205)])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda pictures: np.ones(len(pictures)), r"2-D array of 2 rows .*the shape \(2,\)"),
        (lambda pictures: np.ones((1, 4)), r"the shape \(1, 4\)"),
        (lambda pictures: None, "failed|the shape"),
        (lambda pictures: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda pictures: [["a"]] * len(pictures), "failed on 2 pictures from .*0.png"),
        (lambda pictures: [[1.0], [np.nan]], "NaN or infinity for .*1.png"),
    ],
)
def test_wrong_answers_of_a_function_are_one_error(tmp_path, function, words):
    paths = [saved(tmp_path, scene(i), f"{i}.png") for i in range(2)]
    with pytest.raises(DataError, match=words):
        image_features(paths, function)


def test_a_width_that_changes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "BATCH", 2)
    paths = [saved(tmp_path, scene(i), f"{i}.png") for i in range(3)]
    with pytest.raises(DataError, match="2 columns, and 3 before"):
        image_features(paths, lambda pictures: np.ones((len(pictures), 1 + len(pictures))))


def test_a_function_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_encoder_a.py").write_text("def encode(pictures):\n    return [[1.0]] * len(pictures)\nN = 3\n")
    (tmp_path / "my_encoder_b.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert feature_function("my_encoder_a:encode")([None]) == [[1.0]]
    for name, words in {
        "my_encoder_a:missing": "no function 'missing'",
        "my_encoder_a:N": "is a int, not a function",
        "my_encoder_b:encode": "can't be imported .*a_package_that_is_not_there",
        "nowhere_at_all:encode": "no module 'nowhere_at_all'",
        "my_encoder_a": '"module:function"; got',
        ":encode": '"module:function"; got',
        "": '"module:function"; got',
    }.items():
        with pytest.raises(ValueError, match=words):
            feature_function(name)


def test_nothing_that_a_state_names_is_imported(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "a.png")
    Image.new("RGB", (8, 8)).save(path)
    rows = [{"photo": path, "n": float(i**2)} for i in range(30)]
    told = {"types": {"photo": "image"}}
    name = use_features(lambda pictures: [[1.0]] * len(pictures))
    encoder = TableEncoder(features=name, **told).fit(rows)
    assert encoder.transform(rows).shape == (30, 2)
    encoder._columns[0].features = encoder.features = "evil:encode"
    again = TableEncoder.from_bytes(encoder.to_bytes())
    with pytest.raises(DataError, match="the features 'evil:encode' are not known here"):
        again.transform(rows)
    with pytest.raises(DataError, match="are not known here"):
        TableEncoder(features="evil:encode", **told).fit(rows)


# ---- copies ------------------------------------------------------------------------------------------


@pytest.fixture
def album(tmp_path):
    for name in ("holiday", "work"):
        (tmp_path / name).mkdir()
    names = ("holiday/IMG_2034.jpg", "work/IMG_2034.jpg")
    return [saved(tmp_path, scene(i, size=(9, 9)), name) for i, name in enumerate(names)]


def test_copies_keep_order_and_origin(tmp_path, album):
    folder = tmp_path / "out" / "picked"
    assert copy_pictures(album, folder) == ["001_holiday_IMG_2034.jpg", "002_work_IMG_2034.jpg"]
    for path, name in zip(album, sorted(os.listdir(folder)), strict=True):
        with open(path, "rb") as file:
            assert file.read() == (folder / name).read_bytes()
    assert os.listdir(folder.parent) == ["picked"]


def test_equal_copies_are_kept_and_others_never_overwritten(tmp_path, album):
    folder = tmp_path / "picked"
    names = copy_pictures(album, folder)
    (folder / names[1]).unlink()
    assert copy_pictures(album, folder) == names == sorted(os.listdir(folder))
    with pytest.raises(DataError, match="holds other files"):
        copy_pictures(album[::-1], folder)
    (folder / names[0]).write_bytes(b"mine")
    with pytest.raises(DataError, match=r"holds other files, such as 001_.*new or empty folder"):
        copy_pictures(album, folder)
    assert (folder / names[0]).read_bytes() == b"mine"


def test_a_folder_with_other_files_is_refused(tmp_path, album):
    (tmp_path / "picked").mkdir()
    (tmp_path / "picked" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"notes\.txt"):
        copy_pictures(album, tmp_path / "picked")
    with pytest.raises(DataError, match="is a file"):
        copy_pictures(album, album[0])


def test_a_missing_source_copies_nothing(tmp_path, album):
    with pytest.raises(DataError, match=r"gone\.jpg: there is no such picture"):
        copy_pictures([*album, "gone.jpg"], tmp_path / "picked")
    assert not (tmp_path / "picked").exists()


@pytest.mark.parametrize("step", ["copy2", "rename"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, album, monkeypatch, step):
    module = {"copy2": images.shutil, "rename": images.os}[step]
    original, calls = getattr(module, step), []

    def fail_at_second(*args, **options):
        calls.append(args)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*args, **options)

    monkeypatch.setattr(module, step, fail_at_second)
    with pytest.raises(DataError, match=r"picked: the disk is full, they take [\d,]+ bytes\. None was copied"):
        copy_pictures(album, tmp_path / "picked")
    monkeypatch.undo()
    assert sorted(os.listdir(tmp_path)) in (["holiday", "work"], ["holiday", "picked", "work"])
    assert not (tmp_path / "picked").exists() or not os.listdir(tmp_path / "picked")


def test_long_names_are_cut(tmp_path):
    (tmp_path / ("f" * 150)).mkdir()
    path = saved(tmp_path, scene(size=(5, 5)), f"{'f' * 150}/{'n' * 200}.png")
    (name,) = copy_pictures([path], tmp_path / "picked")
    assert len(name) < 220
    assert name.startswith("001_")
    assert name.endswith(".png")
