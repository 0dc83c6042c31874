"""State files: exact, atomic, and safe to open."""

import json
import os
import struct

import numpy as np
import pytest
from safetensors.numpy import save
from scipy import sparse

import modicum
from modicum.contract.learner import Learner
from modicum.exceptions import StateError
from modicum.state import files as state


@pytest.fixture
def blob():
    return modicum.Reservoir(20, random_state=0).partial_fit(np.arange(60.0).reshape(30, 2)).to_bytes()


def test_every_truncation_is_refused(blob):
    for length in [*range(0, len(blob), 37), len(blob) - 1]:
        with pytest.raises(StateError):
            Learner.from_bytes(blob[:length])


def test_every_flipped_byte_is_refused(blob):
    rng = np.random.default_rng(0)
    for at in rng.choice(len(blob), 300, replace=False):
        damaged = bytearray(blob)
        damaged[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(StateError):
            Learner.from_bytes(bytes(damaged))


@pytest.mark.parametrize(
    "foreign", [b"", b"PK\x03\x04 a zip file", b"\x93NUMPY", save({"x": np.ones(3)}), struct.pack("<Q", 2) + b"[]"]
)
def test_foreign_files_are_refused(foreign, tmp_path):
    path = tmp_path / "other.mcm"
    path.write_bytes(foreign)
    with pytest.raises(StateError, match=r"other\.mcm"):
        modicum.load(path)


def rewritten(blob, change):
    """A file with a valid digest and a changed header."""
    text, arrays = state.unsealed(blob)
    content = json.loads(text)
    change(content)
    return state.sealed(json.dumps(content), arrays)


def test_a_newer_format_says_upgrade(blob):
    newer = rewritten(blob, lambda content: content.update(format=state.FORMAT + 1, version="99.0"))
    with pytest.raises(StateError, match=r"99\.0.*[Uu]pgrade"):
        Learner.from_bytes(newer)


def test_only_registered_classes_are_created(blob):
    forged = rewritten(blob, lambda content: content["content"].update({"class": "Popen"}))
    with pytest.raises(StateError, match="Popen"):
        Learner.from_bytes(forged)
    forged = rewritten(
        blob, lambda content: content["content"]["state"]["items"]["_sample"].update({"class": "system"})
    )
    with pytest.raises(StateError, match="system"):
        Learner.from_bytes(forged)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["content"]["state"]["items"].pop("_sample"),
        lambda c: c["content"]["state"]["items"]["_objective"]["fields"].pop("near"),
        lambda c: c["content"].update(params=3),
        lambda c: c["content"]["state"].update({"$": "nonsense"}),
        lambda c: c["content"]["state"]["items"]["_rng"]["state"].update(bit_generator="os"),
    ],
)
def test_malformed_content_is_refused(change):
    model = modicum.ExemplarClustering(3, budget=30, random_state=0).partial_fit(
        np.random.default_rng(0).normal(size=(50, 2))
    )
    with pytest.raises(StateError):
        Learner.from_bytes(rewritten(model.to_bytes(), change)).refine()


X = np.random.default_rng(0).normal(size=(100, 3))


def test_dtypes_and_shapes_are_covered_by_the_digest():
    blob = modicum.OnlineKMeans(2).fit(X).to_bytes()
    for old, new in ((b'"F64"', b'"I64"'), (b"[2,3]", b"[3,2]")):
        assert old in blob
        with pytest.raises(StateError, match="digest"):
            Learner.from_bytes(blob.replace(old, new, 1))


def blocks():
    return modicum.BlockGreedy(12, block_size=4, neighbors=10, random_state=0).fit(X)


def thin(learner):
    return learner.fit(sparse.csr_matrix(X))


def regression(learner):
    return learner.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (blocks(), "_objective.neighbors.near", 2**40),
        (blocks(), "_objective.blocks.sizes", 10**9),
        (blocks(), "_objective.blocks.members", -1),
        (modicum.ExemplarClustering(3, budget=30, random_state=0).fit(X), "_objective.near_center", 10**6),
        (thin(modicum.ExemplarClustering(3, budget=30, random_state=0)), "_objective.chosen.values.indices", 2**30),
        (thin(modicum.Reservoir(20, random_state=0)), "_rows.values.indices", 2**30),
        (thin(modicum.Reservoir(20, random_state=0)), "_rows.values.indptr", 2**30),
        (regression(modicum.KRLS(10)), "_dictionary.ids", None),
        (regression(modicum.KRLS(10)), "_dictionary.prior._inverse", np.nan),
        (modicum.StreamSVC(1.0, ellipsoid=None, random_state=0).fit(X, X[:, 0] > 0), "_classifier.labels.order", 7),
        (modicum.OnlineKMeans(3).fit(X), "cluster_sizes_", -1.0),
    ],
)
def test_arrays_that_compiled_loops_do_not_check_are_checked(model, name, value):
    """Such a state is not saved, and a forged one is not loaded."""
    forged = forged_state(model, name.replace(".", "/"), value)
    with pytest.raises(StateError, match=f"{name.split('.')[0]}|damaged"):
        Learner.from_bytes(forged)
    *owners, attribute = name.split(".")
    owner = model
    for step in owners:
        owner = getattr(owner, step)
    if value is None:
        setattr(owner, attribute, getattr(owner, attribute)[:-1])
    else:
        getattr(owner, attribute)[...] = value
    with pytest.raises(StateError, match="can't be saved"):
        model.to_bytes()


def forged_state(model, name, value):
    """A state with an array filled with a value, or without its last row."""
    text, arrays = state.unsealed(model.to_bytes())
    path = next(path for path in arrays if path.endswith(name))
    if value is None:
        arrays[path] = np.ascontiguousarray(arrays[path][:-1])
    else:
        arrays[path] = np.full_like(arrays[path], value)
    return state.sealed(text, arrays)


def items(content):
    return content["content"]["state"]["items"]


def dictionary(content):
    return items(content)["_dictionary"]["fields"]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: dictionary(c)["prior"]["fields"].update(n=10**6),
        lambda c: items(c).update(predict=2),
        lambda c: dictionary(c)["prior"]["fields"].update(append=2),
        lambda c: dictionary(c).update(kernel={"$": "part", "class": "Kernel", "fields": {}}),
        lambda c: items(c)["_rng"]["state"].update(has_uint32=10**12),
        lambda c: items(c)["_rng"]["state"]["state"].update(state=-1),
        lambda c: items(c).update(intercept_=float("nan")),
        lambda c: dictionary(c).update(block_size=-5),
        lambda c: c["content"]["params"]["items"].update(regularization=-1.0),
        lambda c: c.update(format="x"),
        lambda c: c.update(content=[]),
    ],
)
def test_forged_values_are_refused(change):
    model = modicum.KRLS(10).fit(X, X[:, 0])
    with pytest.raises(StateError):
        Learner.from_bytes(rewritten(model.to_bytes(), change))


def test_generators_with_a_position_beyond_their_buffer_are_refused():
    for bits, change in (
        (np.random.MT19937, lambda c: items(c)["_rng"]["state"]["state"].update(pos=10**6)),
        (np.random.Philox, lambda c: items(c)["_rng"]["state"].update(buffer_pos=1000)),
    ):
        model = modicum.Reservoir(5, random_state=np.random.Generator(bits(0))).fit(X)
        with pytest.raises(StateError, match="random generator"):
            Learner.from_bytes(rewritten(model.to_bytes(), change))


def test_nested_headers_are_refused(blob):
    depth = 100_000
    text = '{"format": 1, "content": ' + "[" * depth + "]" * depth + "}"
    with pytest.raises(StateError):
        Learner.from_bytes(state.sealed(text, {}))
    header = b'{"__metadata__":{"modicum":"' + b"0" * 32 + b" " + b'"},"x":' + b"[" * depth + b"]" * depth + b"}"
    nested = struct.pack("<Q", len(header)) + header
    nested = nested[: state._DIGEST.start] + state._digest(nested) + nested[state._DIGEST.stop :]
    with pytest.raises(StateError):
        Learner.from_bytes(nested)


def test_a_good_file_is_not_replaced_by_an_invalid_state(tmp_path):
    model = modicum.OnlineKMeans(2).fit(X)
    model.save(tmp_path / "model.mcm")
    before = (tmp_path / "model.mcm").read_bytes()
    model.cluster_centers_[:] = np.nan
    with pytest.raises(StateError, match="cluster_centers_ must be finite"):
        model.save(tmp_path / "model.mcm")
    assert (tmp_path / "model.mcm").read_bytes() == before


def test_words_of_an_array_come_back():
    model = modicum.Reservoir(3, random_state=0).partial_fit(np.array(["a", "bbb", "cc", "d"]))
    assert Learner.from_bytes(model.to_bytes()).points_ == model.points_


def test_another_class_is_refused(blob):
    with pytest.raises(StateError, match="Reservoir"):
        modicum.OnlineKMeans.from_bytes(blob)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.mcm").symlink_to(tmp_path / "real" / "model.mcm")
    modicum.Reservoir(5).partial_fit(np.zeros((9, 2))).save(tmp_path / "link.mcm")
    assert (tmp_path / "link.mcm").is_symlink()
    assert modicum.load(tmp_path / "real" / "model.mcm").n_seen_ == 9


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StateError, match=r"nowhere\.mcm does not exist"):
        modicum.load(tmp_path / "nowhere.mcm")


def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.mcm"
    old = modicum.Reservoir(5, random_state=0).partial_fit(np.zeros((9, 2)))
    old.save(path)
    before = path.read_bytes()

    def crash(handle):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="full"):
        old.partial_fit(np.ones((9, 2))).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.mcm"]


def test_functions_must_be_given_again(tmp_path):
    def apart(a, b):
        return abs(len(a) - len(b))

    words = ["a", "bb", "ccc", "dddd"] * 5
    model = modicum.ExemplarClustering(2, dissimilarity=apart, random_state=0).fit(words)
    model.save(tmp_path / "words.mcm")
    with pytest.raises(StateError, match=r"apart.*dissimilarity"):
        modicum.load(tmp_path / "words.mcm")
    again = modicum.load(tmp_path / "words.mcm", dissimilarity=apart)
    assert again.exemplars_ == model.exemplars_
    assert again.predict(words).tolist() == model.predict(words).tolist()
