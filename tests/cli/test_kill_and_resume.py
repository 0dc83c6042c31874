"""A run killed at any moment and started again ends as if it had never been killed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import modicum
from modicum.cli.objectives import AIMS, make_learner
from modicum.cli.progress import Progress
from modicum.cli.run import Job

SMALL = {"n_validation": "100", "min_gain": "0.01"}  # enough to resume, little to compute


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40_000, 6)) + 6 * rng.integers(-2, 3, size=(40_000, 1))).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    return X


def command(*more):
    run = ["select", "rows.npy", "-k", "20", "--budget", "1500", "--chunk-size", "1000", "--random-state", "0"]
    return [sys.executable, "-m", "modicum", *run, *more]


CHECKPOINT = ("--checkpoint", "run.mcm", "--every", "0s", "--save", "end.mcm", "-o", "picks.csv")


@pytest.mark.slow
def test_sigkill_at_random_moments(tmp_path, rows):
    quiet = {"cwd": tmp_path, "capture_output": True}
    subprocess.run(command("--save", "straight.mcm", "-o", "straight.csv"), check=True, **quiet)
    straight = modicum.load(tmp_path / "straight.mcm").to_bytes()

    rng = np.random.default_rng(int.from_bytes(os.urandom(4)))  # other moments each time
    kills = 0
    while kills < 4:
        run = subprocess.Popen(command(*CHECKPOINT), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_changes(tmp_path / "run.mcm", run, rng.integers(1, 5))
        if run.poll() is not None:
            break  # it got to the end before we could kill it again
        run.send_signal(signal.SIGKILL)
        run.wait()
        kills += 1
    assert kills, "the run was over before it could be killed once"

    done = subprocess.run(command(*CHECKPOINT), check=True, **quiet)
    assert b"resuming" in done.stderr or b"finished" in done.stderr
    assert modicum.load(tmp_path / "end.mcm").to_bytes() == straight
    assert (tmp_path / "picks.csv").read_bytes() == (tmp_path / "straight.csv").read_bytes()
    assert not list(tmp_path.glob(".run.mcm.*")), "leftovers of killed writers"


class _Killed(Exception):
    pass


@pytest.mark.parametrize("objective", AIMS)
def test_every_objective_resumes(tmp_path, rows, monkeypatch, objective):
    """The same without processes: stopped after some chunks, at a moment of no importance, and started again."""
    monkeypatch.chdir(tmp_path)
    given = {"n_exemplars": "10", **({} if objective in ("exemplar", "logdet") else SMALL)}
    given |= {} if objective == "logdet" else {"random_state": "0"}  # nothing is random there
    target = "0" if objective == "error" else None

    def run(**more):
        learner = make_learner(objective, given, target)
        job = Job(chunk_size=1000, target=target, **{"every": "0s", **more})
        return job.learn(learner, "rows.npy", save=None)

    straight = run()
    checkpoint = tmp_path / "run.mcm"
    with monkeypatch.context() as patched:
        patched.setattr(Progress, "show", _kill_at(7_000))
        with pytest.raises(_Killed):
            run(checkpoint=checkpoint)
    assert modicum.state.read(checkpoint)["checkpoint"]["position"] == 6_000
    assert run(checkpoint=checkpoint).learner.to_bytes() == straight.learner.to_bytes()


def _kill_at(row):
    def show(self, learner, position):
        if position == row:
            raise _Killed

    return show


TELLING = """
import sys
from modicum.cli import main
from modicum.cli.progress import Progress
Progress.show = lambda self, learner, position: print(position, file=sys.stderr, flush=True)
main()
"""  # modicum, with a line for each chunk


def stop_after_a_chunk(tmp_path, number, *more):
    """The exit code of a run that was sent a signal while it learned, and what it said."""
    _, _, _, *arguments = command("--passes", "50", *more)
    run = subprocess.Popen(
        [sys.executable, "-c", TELLING, *arguments], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert run.stderr.readline() == b"1000\n"
    run.send_signal(number)
    _, stderr = run.communicate()
    return run.returncode, stderr.decode().splitlines()[-1]


def test_a_signal_saves_what_was_learned_so_far(tmp_path, rows):
    code, told = stop_after_a_chunk(tmp_path, signal.SIGTERM, "-o", "picks.csv", "--save", "end.mcm")
    assert code == 143
    n_seen = modicum.load(tmp_path / "end.mcm").n_seen_
    assert n_seen % 1000 == 0
    assert told == f"stopped at row {n_seen:,}; what was learned so far is in picks.csv and end.mcm"
    assert len((tmp_path / "picks.csv").read_text().splitlines()) == 21


@pytest.mark.slow
def test_interrupt_saves_and_says_how_to_go_on(tmp_path, rows):
    code, told = stop_after_a_chunk(tmp_path, signal.SIGINT, "--checkpoint", "run.mcm", "--every", "1h")
    assert code == 130
    assert "the same command resumes from run.mcm" in told
    place = modicum.state.read(tmp_path / "run.mcm")["checkpoint"]
    assert place["position"] % 1000 == 0
    assert not place["finished"]


def test_a_finished_run_is_not_run_again(modicum_command, rows):
    _, _, _, *arguments = command("--checkpoint", "run.mcm", "--every", "0s")
    first, again = modicum_command(*arguments), modicum_command(*arguments)
    assert "finished" in again.stderr
    assert again.stdout == first.stdout


def test_another_command_is_refused(modicum_command, rows):
    _, _, _, *arguments = command("--checkpoint", "run.mcm")
    modicum_command(*arguments)
    other = modicum_command(*arguments, "--columns", "0,1", expect=1)
    assert "another run (columns was none, now '0,1')" in other.stderr


def wait_for_changes(path, run, times):
    """Until this start of the run has written so many checkpoints of its own, or is over."""

    def version():
        return path.stat().st_mtime_ns if path.exists() else 0

    for _ in range(times):
        before = version()
        while run.poll() is None and version() == before:
            time.sleep(0.001)
