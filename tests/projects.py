"""Items of projects, and workers who sort them without a browser."""

import io
import wave

import numpy as np
from PIL import Image

from modicum.plot.greebles import draw_greeble
from modicum.web.store import work
from modicum.web.store.media import picture_item

KINDS = [(height, colour, dots) for height in (-1, 1) for colour in (-1, 1) for dots in (-1, 1)]  # of Greebles


def pictures(n, side=24):
    """Items of small pictures, half of them dark."""
    for number in range(1, n + 1):
        pixels = np.full((side, side, 3), 40 + 170 * (number % 2) + number % 40, np.uint8)
        yield picture_item(Image.fromarray(pixels), f"picture {number}.png", f"picture {number}")


def greeble(number, size=160):
    """A picture of a Greeble; its kind is `KINDS[number % 8]`."""
    return draw_greeble(*KINDS[number % len(KINDS)], size=size, random_state=number)


def greebles(n, size=160):
    """Items of Greebles, those of the same kind eight apart."""
    for number in range(n):
        yield picture_item(greeble(number, size), f"greeble {number}.png", f"greeble {number}")


def tone(hertz, seconds=3.0, rate=8_000):
    """The bytes of a WAV file."""
    wanted = np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((8_000 * wanted).astype("<i2").tobytes())
    return out.getvalue()


def do_task(project, person, groups_of, seconds=5.0, comment=""):
    """Take a task, put its items in groups in one move, and submit; what was taken, or None if all is done.

    `groups_of(shown)` gives the groups of the ids of items.
    """
    with project.changing() as connection:
        number = work.take_task(connection, person.id)
        if number is None:
            return None
        mine = work.open_work(connection, person.id)
        groups = groups_of(mine.shown)
        last = work.save_moves(connection, person.code, number, mine.number + 1, [work.Move(groups, None, seconds)])
        work.submit(connection, person.code, number, last, comment, seconds)
    return mine
