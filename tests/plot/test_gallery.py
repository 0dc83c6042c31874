"""Galleries of picture files: thumbnails, captions, limits, and files that can't be read."""

import base64
import io

import numpy as np
import pytest

from modicum.plot import gallery
from modicum.plot.gallery import picture_gallery
from modicum.plot.page import Page, Section
from modicum.plot.report import render

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def files(tmp_path):
    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"IMG_{i}.jpg"))
        Image.new("RGB", (400, 300), (80 * i, 90, 200)).save(paths[-1])
    return paths


def opened(card):
    kind, _, content = card.picture.partition(";base64,")
    return kind, base64.b64decode(content)


def test_thumbnails_names_and_counts(files):
    block, note = picture_gallery(files, [["beach"], ["beach"], ["hills"]], np.array([1200.0, 300, 0]), exact=True)
    assert note == ""
    assert block.cards[0].caption == ["IMG_0.jpg", "stands for 1,200", "beach"]
    assert [card.bar for card in block.cards] == [1.0, 0.25, 0.0]
    kind, content = opened(block.cards[1])
    assert kind == "data:image/jpeg"
    assert Image.open(io.BytesIO(content)).size == (160, 120)


def test_files_that_cannot_be_read_are_grey_boxes(files, tmp_path):
    (tmp_path / "a<b>.png").write_text("not a picture")
    block, _ = picture_gallery([files[0], str(tmp_path / "gone.jpg"), str(tmp_path / "a<b>.png"), None])
    kinds, contents = zip(*map(opened, block.cards), strict=True)
    assert kinds == ("data:image/jpeg", *["data:image/svg+xml"] * 3)
    assert b"gone.jpg" in contents[1]
    assert b"a&lt;b&gt;.png" in contents[2]
    assert [card.caption[0] for card in block.cards] == ["IMG_0.jpg", "gone.jpg", "a<b>.png", "no picture"]


def test_few_enough_are_shown(files, monkeypatch):
    monkeypatch.setattr(gallery, "MOST_ROWS", 2)
    block, note = picture_gallery(files)
    assert (len(block.cards), note) == (2, "The first 2 of 3 are shown.")
    monkeypatch.setattr(gallery, "FILE_BYTES", 10)
    assert picture_gallery(files)[1] == "The first 0 of 3 are shown."


def test_names_are_escaped_on_the_page(tmp_path):
    block, note = picture_gallery([str(tmp_path / "<script>.png")])
    page = render(Page("t", "k", "s", [Section("Pictures", [block], note)]))
    assert "<script>.png" not in page
    assert "&lt;script&gt;.png" in page
