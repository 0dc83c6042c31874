"""Figures of segmentations: one colour for each topic, the same in all pictures and in both segmentations."""

import numpy as np
import pytest

from modicum.plot import segment_images
from modicum.plot.segments import topic_colours

PICTURES = [np.full((4, 6, 3), 200, np.uint8), np.full((5, 5), 90, np.uint8)]
TOPICS = [np.repeat([7, 3], 12), np.repeat([3, 3, 3, 9, 7], 5)]  # 3 has 27 pixels, 7 has 17, 9 has 5


def drawn(figure):
    """Pictures in the panels, in reading order."""
    return [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]


def test_pictures_are_next_to_their_topics():
    first, first_topics, second, second_topics = drawn(segment_images(PICTURES, TOPICS))
    assert np.array_equal(first, PICTURES[0])
    assert np.array_equal(second, np.repeat(PICTURES[1][..., None], 3, axis=2))
    colour = dict(zip((3, 7, 9), topic_colours(3), strict=True))  # by size
    for found, labels in ((first_topics, TOPICS[0]), (second_topics, TOPICS[1])):
        assert np.array_equal(found.reshape(-1, 3), [colour[topic] for topic in labels])


def test_a_second_segmentation_takes_the_colours_of_the_first():
    renamed = [labels + 100 for labels in TOPICS]
    renamed[1] = np.where(np.arange(25) < 2, 999, renamed[1])  # a topic that the first does not have
    shown = drawn(segment_images(PICTURES, TOPICS, renamed, names=["batch", "stream"]))
    assert np.array_equal(shown[1], shown[2])
    assert (shown[4] != shown[5]).any(axis=2).sum() == 2
    assert np.array_equal(shown[5][0, 0], topic_colours(4)[3])


def test_fewer_topics_in_the_second():
    shown = drawn(segment_images(PICTURES, TOPICS, [np.zeros(24, int), np.zeros(25, int)]))
    assert {tuple(colour) for i in (2, 5) for colour in shown[i].reshape(-1, 3)} == {tuple(topic_colours(1)[0])}


def test_segmentations_are_named():
    figure = segment_images(PICTURES, TOPICS, TOPICS, names=["batch", "50% $x$"])
    assert [axes.get_title() for axes in figure.axes] == ["", "batch", "50% $x$"] * 2


def test_many_pictures_have_several_rows():
    figure = segment_images([PICTURES[1]] * 9, [TOPICS[1]] * 9)
    assert len(drawn(figure)) == 18
    assert len(figure.axes) == 24  # four pictures in a row


def test_all_colours_differ():
    assert len({tuple(colour) for colour in topic_colours(200)}) == 200
    assert topic_colours(0).shape == (0, 3)


def test_reduced_pictures_need_their_size():
    with pytest.raises(ValueError, match="picture 1 has 5 x 5 pixels, but 4 topics; give its size"):
        segment_images(PICTURES, [TOPICS[0], np.zeros(4)])
    with pytest.raises(ValueError, match="there are 2 pictures, but 1 segmentations"):
        segment_images(PICTURES, TOPICS[:1])
    assert len(drawn(segment_images([np.zeros((8, 8), np.uint8)], [np.zeros(16, int)], size=4))) == 2
