"""Checkpoints: which runs they belong to, and times between them."""

import numpy as np
import pytest

import modicum
from modicum.contract.checkpoint import Checkpoint, parse_seconds
from modicum.exceptions import StateError
from modicum.state import files as state


class TestCheckpoint:
    def test_another_run_is_refused(self, tmp_path):
        model = modicum.Reservoir(5).partial_fit(np.zeros((9, 2)))
        Checkpoint(tmp_path / "c.mcm", every=0, run={"source": "a.csv"}).write(model, 9)
        with pytest.raises(StateError, match=r"a\.csv.*b\.csv"):
            Checkpoint(tmp_path / "c.mcm", every=0, run={"source": "b.csv"}).resume()

    def test_a_plain_state_is_not_a_checkpoint(self, tmp_path):
        modicum.Reservoir(5).partial_fit(np.zeros((9, 2))).save(tmp_path / "c.mcm")
        with pytest.raises(StateError, match="not a checkpoint"):
            Checkpoint(tmp_path / "c.mcm", every=0, run={}).resume()

    @pytest.mark.parametrize(
        "mark",
        [
            3,
            "x",
            {"position": 3},
            *({"position": position, "finished": False, "run": {}} for position in (-1, "x", float("nan"), 2.5, None)),
            {"position": 3, "finished": "no", "run": {}},
            {"position": 3, "finished": False, "run": 4},
        ],
    )
    def test_a_forged_position_is_refused(self, tmp_path, mark):
        model = modicum.Reservoir(5).partial_fit(np.zeros((9, 2)))
        (tmp_path / "c.mcm").write_bytes(state.to_bytes(model._content() | {"checkpoint": mark}))
        with pytest.raises(StateError, match=r"c\.mcm is damaged: its checkpoint is invalid"):
            Checkpoint(tmp_path / "c.mcm", every=0, run={}).resume()

    @pytest.mark.parametrize("files", [3, ["a.csv"], {"a.csv": "x"}, {"a.csv": -1}])
    def test_forged_sizes_of_files_are_refused(self, tmp_path, files):
        model = modicum.Reservoir(5).partial_fit(np.zeros((9, 2)))
        Checkpoint(tmp_path / "c.mcm", every=0, run={"files": files}).write(model, 9)
        with pytest.raises(StateError, match=r"c\.mcm is damaged: .* sizes of files"):
            Checkpoint(tmp_path / "c.mcm", every=0, run={}).resume()

    def test_it_knows_which_files_have_changed(self, tmp_path):
        model = modicum.Reservoir(5).partial_fit(np.zeros((9, 2)))
        first, last = tmp_path / "a.csv", tmp_path / "b.csv"
        for path in (first, last):
            path.write_text("12345")
        written = Checkpoint(tmp_path / "c.mcm", every=0, run={})
        written.files = {str(first): 5, str(last): 5}
        written.write(model, 9)
        found = Checkpoint(tmp_path / "c.mcm", every=0, run={})
        found.resume()
        assert found.files == written.files
        assert not found.check_files()
        last.write_text("123456")
        assert found.check_files()
        with pytest.raises(StateError, match=r"b\.csv has changed .* 5 bytes then, 6 now"):
            found.check_files(may_grow=False)
        first.write_text("123")
        with pytest.raises(StateError, match=r"a\.csv has changed .* 5 bytes then, 3 now"):
            found.check_files()

    def test_it_is_a_state_file_too(self, tmp_path):
        model = modicum.Reservoir(5).partial_fit(np.zeros((9, 2)))
        Checkpoint(tmp_path / "c.mcm", every=0, run={}).write(model, 9)
        assert modicum.load(tmp_path / "c.mcm").n_seen_ == 9

    def test_temporary_files_of_killed_writers_are_removed(self, tmp_path):
        (tmp_path / ".c.mcm.123.tmp").write_bytes(b"half")
        model = modicum.Reservoir(5).partial_fit(np.zeros((9, 2)))
        Checkpoint(tmp_path / "c.mcm", every=0, run={}).write(model, 9)
        assert [p.name for p in tmp_path.iterdir()] == ["c.mcm"]

    @pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("0.5s", 0.5), ("5m", 300), ("2h", 7200), ("7", 7)])
    def test_times(self, text, seconds):
        assert parse_seconds(text) == seconds

    @pytest.mark.parametrize("text", ["", "soon", "-3s", "5d", "inf"])
    def test_bad_times(self, text):
        with pytest.raises(ValueError, match="30s"):
            parse_seconds(text)
