"""Pictures of Greebles, little creatures that differ in height, body colour and dots (gomes2011, section 7.5.1).

Greebles were invented by Scott Yu for experiments in vision; these are figures of our own. Lengths are shares of the
side of a picture.
"""

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from modicum._optional import require

FINE = 3  # pixels drawn per pixel and side; a pixel is their average
COARSE = 80  # pixels per side of the smooth light on rounded shapes
GROUND = 0.92  # where feet stand, from above
SQUARENESS = 2.6  # exponent of the outline; that of an ellipse is 2
PAPER, SHADE, INK, WHITE = np.array([[245, 242, 236], [206, 202, 195], [40, 37, 46], [255, 255, 255]])
YELLOW, GREEN = np.array([[255, 216, 56], [48, 152, 78]])  # of different lightness, for the colour-blind
BLUE, RED = np.array([[22, 48, 158], [232, 54, 16]])  # deep blue and orange-red, which the colour-blind tell apart, too
LIGHT = 0.83, 0.55  # it comes from above and from the left

Shapes = list[np.ndarray]  # polygons, (n, 2) each: right and down


def draw_greeble(
    height: float, colour: float, dots: float, *, size: int = 320, random_state: int | np.random.Generator
) -> Any:
    """A square Pillow image of one Greeble.

    Attributes are those of `modicum.datasets.greebles`: height from -1, short, to 1, tall; body colour from -1, yellow,
    to 1, green; dots are blue if positive, else red. Posture, gaze, and number, sizes and places of dots are random.

    >>> draw_greeble(1.0, -1.0, 1.0, size=96, random_state=0).size
    (96, 96)
    """
    greeble = _Greeble(height, np.random.default_rng(random_state))
    share = np.clip(0.5 + 0.45 * colour, 0, 1)  # attributes a little beyond 1 still differ
    skin = (1 - share) * YELLOW + share * GREEN
    canvas = _Canvas(size)
    canvas.paint(greeble.shadow(), SHADE)
    canvas.paint(greeble.limbs(), 0.88 * skin, depth=0.03)
    body = canvas.paint(greeble.body(), skin, depth=0.07)
    places = greeble.dots()
    for rim, paint in ((0.007, 0.4 * skin + 0.6 * WHITE), (0.0, BLUE if dots > 0 else RED)):
        canvas.paint([_disc(at, radius + rim) for at, radius in places], paint, within=body)
    for shapes, paint in greeble.face():
        canvas.paint(shapes, paint)
    return canvas.picture


class _Greeble:
    """A figure in a posture, as polygons. Points on it are (x, y): right of its axis, and above the ground."""

    def __init__(self, height: float, rng: np.random.Generator):
        self._rng = rng
        self.height = 0.52 + 0.15 * float(np.clip(height, -1.5, 1.5))
        self.width = rng.uniform(0.19, 0.21)  # half of it
        self.pear = rng.uniform(0.02, 0.16)  # how much wider it is below
        self.lean, self.sway = rng.uniform(-0.09, 0.09), rng.uniform(-0.025, 0.025)
        self.turn = rng.uniform(-0.035, 0.035)  # of the face

    def place(self, x: Any, y: Any) -> np.ndarray:
        """Points in the picture, (..., 2)."""
        across = 0.5 + x + self.lean * (y - self.height / 2) + self.sway * np.sin(np.pi * y / self.height)
        return np.stack([across, GROUND - y], axis=-1)

    def half_width(self, y: Any) -> Any:
        """Of the body, at a height."""
        v = 2 * y / self.height - 1
        return self.width * (1 - self.pear * v) * (1 - np.abs(v) ** SQUARENESS) ** (1 / SQUARENESS)

    def body(self) -> Shapes:
        y = self.height * (1 - np.cos(np.linspace(0, np.pi, 80))) / 2
        half = self.half_width(y)
        return [np.concatenate([self.place(half, y), self.place(-half, y)[::-1]])]

    def limbs(self) -> Shapes:
        """Two ears, two arms and two feet."""
        rng, h, w = self._rng, self.height, self.width
        shapes = []
        for side in (-1, 1):
            ear = _curve((0.4 * w, h - 0.06), (0.5 * w, h + 0.04), (0.5 * w + rng.uniform(0.02, 0.08), h + 0.09))
            shapes += self._tube(ear * (side, 1), np.append(np.linspace(0.034, 0.016, len(ear) - 1), 0.032))
            y, reach = 0.4 * h, rng.uniform(0.08, 0.105)
            x = self.half_width(y) - 0.03
            arm = _curve((x, y), (x + 0.7 * reach, y - 0.01), (x + reach, y + rng.uniform(-0.075, 0.075)))
            shapes += self._tube(arm * (side, 1), np.linspace(0.036, 0.028, len(arm)))
            shapes.append(_disc(self.place(side * rng.uniform(0.09, 0.115), 0.012), (0.07, 0.036)))
        return shapes

    def dots(self) -> list[tuple[np.ndarray, float]]:
        """Places and radii of dots on the body that touch neither each other nor the face."""
        rng, h = self._rng, self.height
        taken = [(self.turn, h - 0.105, 0.1), (self.turn, h - 0.17, 0.06)]  # eyes and mouth
        wanted = len(taken) + rng.integers(8, 11) + round(10 * (h - 0.37))
        for _ in range(300):
            radius, y = rng.uniform(0.024, 0.046), rng.uniform(0.02, h - 0.02)
            x = rng.uniform(-1, 1) * self.half_width(y)
            if all(np.hypot(x - a, y - b) > radius + other + 0.016 for a, b, other in taken):
                taken.append((x, y, radius))
            if len(taken) == wanted:
                break
        return [(self.place(x, y), radius) for x, y, radius in taken[2:]]

    def face(self) -> list[tuple[Shapes, np.ndarray]]:
        """Whites of the eyes, pupils, a smile, and the light in the eyes, with their colours."""
        rng, turn, h = self._rng, self.turn, self.height
        eyes = [self.place(turn + side * 0.058, h - 0.105) for side in (-1, 1)]
        gaze = rng.uniform(-1, 1, 2) * (0.017, 0.014)
        smile = _curve((-0.036, 0.0), (0.0, -rng.uniform(0.03, 0.06)), (0.036, rng.uniform(-0.008, 0.008)))
        return [
            ([_disc(at, (0.047, 0.053)) for at in eyes], WHITE),
            ([_disc(at + gaze, 0.027) for at in eyes], INK),
            (self._tube(smile + np.array([turn, h - 0.182]), np.full(len(smile), 0.007)), INK),
            ([_disc(at + gaze - 0.009, 0.009) for at in eyes], WHITE),
        ]

    def shadow(self) -> Shapes:
        return [_disc(np.array([0.51, GROUND + 0.022]), (0.23, 0.03))]

    def _tube(self, points: np.ndarray, radii: np.ndarray) -> Shapes:
        return [_disc(at, radius) for at, radius in zip(self.place(*points.T), radii, strict=True)]


class _Canvas:
    """A picture that shapes are painted on, with smooth edges."""

    def __init__(self, size: int):
        self._image, self._draw, self._chops = (
            require(f"PIL.{name}", "drawing Greebles") for name in ("Image", "ImageDraw", "ImageChops")
        )
        self.picture = self._image.new("RGB", (size, size), tuple(PAPER.tolist()))

    def paint(self, shapes: Shapes, colour: np.ndarray, *, depth: float = 0.0, within: Any = None) -> Any:
        """Fill shapes, as far as they are `within` others, and return where they are.

        With a `depth`, their edges are rounded: bright towards the light, dark on the other side.
        """
        mask = self._mask(shapes)
        if within is not None:
            mask = self._chops.multiply(mask, within)
        fill: Any = tuple(colour.astype(int).tolist())
        if depth:
            light = self._light(mask, depth)[:, :, None]
            shades = colour + np.where(light > 0, 0.6 * (WHITE - colour), 0.9 * colour).astype(np.float32) * light
            fill = self._image.fromarray(shades.astype(np.uint8))
        self.picture.paste(fill, mask=mask)
        return mask

    def _mask(self, shapes: Shapes) -> Any:
        """How much of each pixel the shapes cover."""
        side = FINE * self.picture.width
        mask = self._image.new("L", (side, side))
        draw = self._draw.Draw(mask)
        for shape in shapes:
            draw.polygon((side * shape).ravel().tolist(), fill=255)
        return mask.reduce(FINE)

    def _light(self, mask: Any, depth: float) -> np.ndarray:
        """From about -0.4 to 0.4: how much the surface of a cushion of this shape is turned to the light."""
        cover = np.asarray(mask.resize((COARSE, COARSE), self._image.Resampling.BOX), np.float32) / 255
        down, right = np.gradient(depth * COARSE * gaussian_filter(cover, depth * COARSE))
        return np.asarray(self._image.fromarray(LIGHT[0] * down + LIGHT[1] * right).resize(mask.size))


def _disc(center: np.ndarray, radius: float | tuple[float, float]) -> np.ndarray:
    """A circle, or an ellipse of two radii, as a polygon."""
    turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    return center + np.column_stack([np.cos(turn), np.sin(turn)]) * radius


def _curve(*points: tuple[float, float]) -> np.ndarray:
    """Points along the quadratic Bezier curve of three."""
    t = np.linspace(0, 1, 14)[:, None]
    first, middle, last = np.array(points)
    return (1 - t) ** 2 * first + 2 * t * (1 - t) * middle + t**2 * last
