"""Labels beside points that do not overlap: each is placed where there is room, or left out."""

from collections.abc import Iterable, Sequence
from typing import Any

from modicum.plot.formatting import label
from modicum.plot.style import any_script

GAP = 6.0  # points between a label and what it is for
MOST_LETTERS = 24
PLACES = (  # direction from the point, and the alignment of the label
    (1, 0, "left", "center"),
    (-1, 0, "right", "center"),
    (0, 1, "center", "bottom"),
    (0, -1, "center", "top"),
    (1, 1, "left", "bottom"),
    (1, -1, "left", "top"),
    (-1, 1, "right", "bottom"),
    (-1, -1, "right", "top"),
)


def place_labels(
    axes: Any,
    points: Iterable[Any],
    texts: Iterable[str],
    places: Sequence[tuple[int, int, str, str]] = PLACES,
    **look: Any,
) -> None:
    """Write texts beside points, the first ones first, in the first place that is free; without one, not at all.

    Call it last: labels keep clear of texts that are there already, and limits of the axes must not change afterwards.
    """
    figure = axes.get_figure()
    with any_script():
        figure.draw_without_rendering()  # positions on paper are known once the layout is
        room = axes.get_window_extent()
        taken = [text.get_window_extent() for text in axes.texts]
        for point, text in zip(points, texts, strict=False):
            for right, up, across, along in places:
                found = axes.annotate(
                    "\n".join(label(line, MOST_LETTERS) for line in text.split("\n")[:2]),
                    point,
                    xytext=(GAP * right, GAP * up),
                    textcoords="offset points",
                    ha=across,
                    va=along,
                    parse_math=False,
                    **look,
                )
                found.set_in_layout(False)
                box = found.get_window_extent()
                is_inside = room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1
                if is_inside and not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    break
                found.remove()
