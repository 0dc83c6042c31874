"""Attacks on every learner: damaged and forged states, and odd chunks.

They run in a child process, so that a crash is reported as a failure.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from learners import LEARNERS

HERE = Path(__file__).parent
NAMES = sorted(LEARNERS)


def violations(how, *names):
    """Violations that a child process finds; a crash is one too."""
    path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(HERE / "child.py"), how, *names]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = done.stdout.splitlines()
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing yet"]
        found.append(f"the process ended with {done.returncode}; last tried: {last[0]}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("start", range(4))
def test_attack(start):
    assert violations("quick", *NAMES[start::4]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_long_attack(name):
    assert violations("long", name) == []
