"""Pictures, texts and sounds as they are shown to workers.

Pictures are decoded and written anew: what is served is a JPEG of bounded size without the tags of the camera, whatever
the file was. Sounds are known by their first bytes, not by the ending of their file.
"""

import hashlib
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modicum.exceptions import DataError
from modicum.pipeline.images import load_picture
from modicum.rules.budget import format_bytes

SMALL, LARGE = 320, 1600  # pixels on the longer side, of thumbnails and of enlarged pictures
MOST_BYTES = {"image": 100 << 20, "audio": 20 << 20}  # of a file
MOST_LETTERS = 20_000  # of a text
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
AUDIO_ENDINGS = (".mp3", ".wav", ".ogg", ".oga", ".opus", ".flac", ".m4a", ".aac", ".webm")
FIRST_BYTES = (  # where, what, kind
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"\xff\xf9", "audio/aac"),
    (8, b"WAVE", "audio/wav"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftyp", "audio/mp4"),
    (0, b"\x1aE\xdf\xa3", "audio/webm"),
)


@dataclass(frozen=True)
class Media:
    """Bytes that a browser shows, known by their digest."""

    mime: str
    body: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True)
class Item:
    """Something to be sorted."""

    name: str
    kind: str  # image, text or audio
    alt: str
    text: str | None = None
    thumb: Media | None = None
    full: Media | None = None


def is_media(path: str | os.PathLike[str]) -> bool:
    """Whether a file has the ending of a picture or a sound."""
    return str(path).lower().endswith(IMAGE_ENDINGS + AUDIO_ENDINGS)


def file_item(path: Path, name: str, alt: str = "") -> Item:
    """The item in a file; a `DataError` if it is no picture and no sound, or is too large."""
    kind = "audio" if path.name.lower().endswith(AUDIO_ENDINGS) else "image"
    try:
        size = path.stat().st_size
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"{os.fsencode(path)!r}: the name of the file is no text. Rename it.") from None
    except (OSError, ValueError):
        raise DataError(f"{path}: there is no such file.") from None
    if not path.is_file():
        raise DataError(f"{path} is a folder or a device, not a file.")
    if size > MOST_BYTES[kind]:
        raise DataError(f"{path} has {format_bytes(size)}; the limit is {format_bytes(MOST_BYTES[kind])}.")
    alt = alt or os.path.splitext(os.path.basename(name))[0]
    if kind == "audio":
        return Item(name, kind, alt, full=_sound(path))
    return picture_item(load_picture(str(path), LARGE), name, alt)


def picture_item(picture: Any, name: str, alt: str) -> Item:
    """A Pillow image in RGB, in two sizes."""
    small = picture.copy()
    small.thumbnail((SMALL, SMALL))
    return Item(name, "image", alt, thumb=_jpeg(small), full=_jpeg(picture))


def text_item(name: str, text: str, alt: str = "") -> Item:
    """A text; a `DataError` if it is too long to be read on a page."""
    if len(text) > MOST_LETTERS:
        raise DataError(f"the text of {name[:40]!r} has {len(text):,} letters; the limit is {MOST_LETTERS:,}.")
    return Item(name, "text", alt or text[:200], text=text)


def _sound(path: Path) -> Media:
    body = path.read_bytes()
    for at, known, mime in FIRST_BYTES:
        if body[at : at + len(known)] == known:
            return Media(mime, body)
    raise DataError(f"{path} is no sound that browsers play, or it is damaged.")


def _jpeg(picture: Any) -> Media:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=85, optimize=True)
    return Media("image/jpeg", out.getvalue())
