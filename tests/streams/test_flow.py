"""Every source gives the same rows in the same chunks: whole, resumed, in passes and shuffled."""

import threading
from pathlib import Path

import numpy as np
import pytest

from modicum.exceptions import DataError
from modicum.streams import Chunk, Stream, stream


def dense(chunk: Chunk) -> np.ndarray:
    return chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X


def rows(chunks) -> np.ndarray:
    return np.concatenate([dense(chunk) for chunk in chunks] or [np.empty((0, 4))])


def ids(chunks) -> list[int]:
    return [row for chunk in chunks for row in chunk.row_ids.tolist()]


def same(left: list[Chunk], right: list[Chunk]) -> bool:
    """Equal chunks with equal borders."""
    return [len(chunk) for chunk in left] == [len(chunk) for chunk in right] and all(
        np.array_equal(a.row_ids, b.row_ids)
        and np.array_equal(dense(a), dense(b))
        and (a.y is b.y is None or np.array_equal(a.y, b.y))
        for a, b in zip(left, right, strict=True)
    )


@pytest.mark.parametrize("chunk_size", [1_000, 64, None])
def test_every_source_gives_the_same_rows_in_the_same_chunks(new_source, values, chunk_size):
    chunks = list(stream(new_source(), chunk_size=chunk_size))
    size = chunk_size or 1_024
    assert [len(chunk) for chunk in chunks] == [min(size, 1_003 - i) for i in range(0, 1_003, size)]
    np.testing.assert_array_equal(rows(chunks), values)
    assert ids(chunks) == list(range(1_003))
    assert all(chunk.X.dtype == np.float64 for chunk in chunks)


@pytest.mark.parametrize("start", [1, 64, 500, 960, 1_003])
def test_resume_gives_what_would_have_come(new_source, start):
    whole = list(stream(new_source(), chunk_size=64))
    resumed = stream(new_source(), chunk_size=64, start=start)
    assert resumed.position == start
    left = list(resumed)
    later = [chunk for chunk in whole if chunk.row_ids[0] >= start]
    rest = left[: len(left) - len(later)]  # of the chunk in which it was interrupted, if it was
    assert ids(left) == list(range(start, 1_003))
    assert len(rest) == (start % 64 > 0 and start < 1_003)
    assert same(left[len(rest) :], later)
    assert resumed.position == 1_003


def test_passes_and_resuming_in_a_later_one(source):
    twice = list(stream(source, chunk_size=300, passes=2))
    assert ids(twice) == 2 * list(range(1_003))
    assert [len(chunk) for chunk in twice] == 2 * [300, 300, 300, 103]
    assert same(list(stream(source, chunk_size=300, passes=2, start=1_303)), twice[5:])
    assert list(stream(source, chunk_size=300, passes=2, start=2_006)) == []


def test_start_beyond_the_end_is_an_error(new_source):
    with pytest.raises(DataError, match=r"start=1,004 exceeds its 1,003 rows"):
        list(stream(new_source(), start=1_004))


@pytest.mark.parametrize("buffer", [1, 50, 400, 5_000])
def test_shuffling_permutes_and_can_be_repeated_and_resumed(source, values, buffer):
    def chunks(seed=3, **options):
        return list(stream(source, chunk_size=100, shuffle_buffer=buffer, random_state=seed, passes=2, **options))

    whole = chunks()
    order = ids(whole)
    assert sorted(order[:1_003]) == sorted(order[1_003:]) == list(range(1_003))
    np.testing.assert_array_equal(rows(whole), values[order])
    assert same(whole, chunks())
    assert same(whole[3:], chunks(start=300))
    assert same(whole[15:], chunks(start=1_003 + 400))  # in the second pass, which ends with a chunk of 3
    if buffer > 1:
        assert order[:1_003] != order[1_003:]
        assert order != ids(chunks(seed=4))


def test_shuffled_order_is_that_of_row_by_row_replacement():
    n, buffer = 3_000, 70
    rng = np.random.default_rng([5, 0])  # the generator of seed 5, first pass
    slots, expected = list(range(buffer)), []
    for row in range(buffer, n):
        slot = rng.integers(buffer)
        expected.append(slots[slot])
        slots[slot] = row
    got = ids(stream(np.arange(n)[:, None], shuffle_buffer=buffer, random_state=5))
    assert got[: n - buffer] == expected
    assert sorted(got[n - buffer :]) == sorted(slots)


def test_shuffling_lists_keeps_labels_with_their_objects():
    words = [f"w{i}" for i in range(500)]
    shuffled = stream(
        words, chunk_size=64, shuffle_buffer=100, random_state=0, target=np.arange(500), weight=range(500)
    )
    for chunk in shuffled:
        assert [words[i] for i in chunk.row_ids] == chunk.X
        assert chunk.y.tolist() == chunk.sample_weight.tolist() == chunk.row_ids.tolist()


def test_random_state_may_be_a_generator():
    def order(seed):
        return ids(stream(np.eye(300), shuffle_buffer=100, random_state=np.random.default_rng(seed)))

    assert order(1) == order(1) != order(2)


def test_position_counts_the_chunks_given(source):
    numbers = stream(source, chunk_size=400)
    positions = [numbers.position]
    for _ in numbers:
        positions.append(numbers.position)
    assert positions == [0, 400, 800, 1_003]
    next(iter(numbers))
    assert numbers.position == 400  # a new iteration


def test_chunk_size_depends_on_the_bytes_of_a_row():
    sizes = {width: stream(np.zeros((10, width), np.float32)).chunk_size for width in (1, 64, 100_000)}
    assert sizes == {1: 65_536, 64: 32_768, 100_000: 1_024}
    assert stream(["a", "b"]).chunk_size == 1_024
    assert next(iter(stream(iter([np.zeros((40_000, 64))])))).X.shape == (16_384, 64)


def test_chunks_of_an_array_are_views(values):
    for chunk in stream(values, chunk_size=100, columns=[1, 2], target=0):
        assert np.shares_memory(chunk.X, values)
        assert np.shares_memory(chunk.y, values)


def test_rows_held_back_from_a_reused_buffer_are_not_overwritten():
    X, y = np.empty((3, 1)), np.empty(3)

    def chunks():
        for i in range(4):
            X[:] = y[:] = i
            yield X, y

    for chunk in stream(chunks(), chunk_size=5):
        assert chunk.X.ravel().tolist() == chunk.y.tolist() == (chunk.row_ids // 3).tolist()


def test_a_source_that_was_read_once_can_not_be_read_again(one_shot):
    once = stream(one_shot, chunk_size=100)
    assert not once.rereadable
    assert len(list(once)) == 11
    for again in (lambda: list(once), lambda: once.take([0])):
        with pytest.raises(DataError, match="can be read only once"):
            again()


def test_two_passes_need_a_rereadable_source(one_shot):
    with pytest.raises(DataError, match="passes=2"):
        stream(one_shot, passes=2)


def reading_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("modicum-stream")]


def open_files() -> set[str]:
    return {str(link.resolve()) for link in Path("/proc/self/fd").iterdir() if link.exists()}


@pytest.mark.parametrize("how", ["break", "delete", "exhaust", "interrupt"])
def test_stopping_early_leaves_no_thread_and_no_open_file(source, tmp_path, how):
    def interrupted():
        for _ in stream(source, chunk_size=10):
            raise KeyboardInterrupt

    if how == "break":
        for _ in stream(source, chunk_size=10):
            break
    elif how == "delete":
        chunks = iter(stream(source, chunk_size=10))
        next(chunks)
        del chunks
    elif how == "exhaust":
        list(stream(source, chunk_size=10))
    else:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    assert reading_threads() == []
    assert not {name for name in open_files() if name.startswith(str(tmp_path))}


def test_files_are_read_ahead_in_one_thread(tmp_path, values):
    np.save(tmp_path / "x.npy", values)
    chunks = iter(stream(tmp_path / "x.npy", chunk_size=10))
    next(chunks)
    assert len(reading_threads()) == 1
    chunks.close()
    assert reading_threads() == []


def test_an_iterator_is_read_no_further_than_asked():
    taken = []

    def chunks():
        for i in range(10):
            taken.append(i)
            yield np.zeros((5, 1))

    next(iter(stream(chunks(), chunk_size=5)))
    assert taken == [0]


def test_error_in_the_thread_reaches_the_caller(tmp_path):
    X = np.zeros((100, 2))
    X[42, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    given = []
    with pytest.raises(DataError, match="row 43"):
        given.extend(stream(tmp_path / "x.npy", chunk_size=10))
    assert reading_threads() == []


def test_stream_of_a_stream_is_itself():
    first = stream(np.eye(3))
    assert stream(first) is first
    assert isinstance(first, Stream)
    with pytest.raises(DataError, match="already; set chunk_size, target where"):
        stream(first, chunk_size=2, target=np.zeros(3))


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 0},
        {"chunk_size": 2.5},
        {"passes": 0},
        {"start": -1},
        {"shuffle_buffer": -1},
        {"random_state": "x"},
        {"random_state": -1},
    ],
)
def test_bad_options_are_named(options):
    (name, value), *_ = options.items()
    with pytest.raises(ValueError, match=rf"stream: {name} must be .* got {value!r}"):
        stream(np.eye(3), **options)


def test_empty_sources_give_no_chunks():
    for empty in (np.empty((0, 3)), [], iter([]), [np.empty((0, 2))]):
        assert list(stream(empty)) == []
