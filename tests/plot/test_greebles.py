"""Pictures of Greebles show height, body colour and the colour of dots, and are never alike."""

import numpy as np
import pytest

pytest.importorskip("PIL.Image")

from modicum.plot.greebles import BLUE, GROUND, PAPER, RED, draw_greeble


def pixels(*attributes, seed=0, size=160):
    return np.asarray(draw_greeble(*attributes, size=size, random_state=seed), dtype=int)


def share_of(picture, colour):
    """The share of pixels of about this colour."""
    return (np.abs(picture - colour).max(axis=2) < 12).mean()


def drawn(picture):
    """Rows and columns that are not empty, as shares of the side."""
    figure = np.abs(picture - PAPER).max(axis=2) > 12
    return [np.flatnonzero(figure.any(axis=axis)) / len(picture) for axis in (1, 0)]


@pytest.mark.parametrize("seed", range(8))
class TestAttributes:
    def test_height(self, seed):
        short, middle, tall = (GROUND - drawn(pixels(height, 0, 1, seed=seed))[0][0] for height in (-1, 0, 1))
        assert tall > middle + 0.1 > short + 0.2
        assert tall > 1.5 * short

    def test_body_colour(self, seed):
        """Red is what yellow has more of than green."""
        reds = []
        for colour in (-1.2, -1, 0, 1, 1.2):
            picture = pixels(0, colour, 1, seed=seed)
            body = (picture[:, :, 1] > picture[:, :, 2] + 40) & (picture[:, :, 1] > 80)
            red, green, blue = np.median(picture[body], axis=0)
            assert green > blue + 40
            reds.append(red / green)
        assert (np.diff(reds) <= 0).all()
        assert reds[0] > 1.1 > 0.6 > reds[-1]

    def test_dots(self, seed):
        for height in (-1, 1):
            for body in (-1, 1):
                blue, red = (pixels(height, body, dots, seed=seed) for dots in (1, -1))
                assert share_of(blue, BLUE) > 0.01 > 0.001 > share_of(blue, RED)
                assert share_of(red, RED) > 0.01 > 0.001 > share_of(red, BLUE)
                assert (blue != red).any(axis=2).mean() < 0.2  # nothing but the dots


def test_seeds():
    """The same seed gives the same picture, others give others."""
    np.testing.assert_array_equal(pixels(1, 1, 1, seed=4), pixels(1, 1, 1, seed=4))
    pictures = [pixels(1, 1, 1, seed=seed) for seed in range(6)]
    for i, picture in enumerate(pictures):
        assert all((np.abs(picture - other).max(axis=2) > 30).mean() > 0.02 for other in pictures[:i])
    rng = np.random.default_rng(0)
    assert not np.array_equal(pixels(1, 1, 1, seed=rng), pixels(1, 1, 1, seed=rng))


@pytest.mark.parametrize("height", [-9, -1.4, 1.4, 9])
def test_figures_are_within_the_picture(height):
    for seed in range(20):
        for places in drawn(pixels(height, 0, 1, seed=seed, size=96)):
            assert places.min() > 0.01
            assert places.max() < 0.98


@pytest.mark.parametrize("size", [16, 96, 250])
def test_sizes(size):
    picture = draw_greeble(0, 0, 1, size=size, random_state=0)
    assert (picture.size, picture.mode) == ((size, size), "RGB")
