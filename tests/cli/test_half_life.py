"""`--half-life`, and what is told of it by `modicum show` and in reports."""

import json
import re

import numpy as np
import pytest


@pytest.fixture
def changing(tmp_path):
    """A file whose rows move by 10 in the middle."""
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 30.0], (2000, 1)) + rng.normal(size=(2000, 2)) + np.repeat([[0.0], [10.0]], 1000, axis=0)
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b", comments="")
    return tmp_path


def test_changes_are_shown_and_reported(modicum_command, changing):
    modicum_command(
        "fit", "online-kmeans", "rows.csv", "-k", "2", "--half-life", "auto", "-o", "k.mcm", "--report", "k.html"
    )
    shown = modicum_command("show", "k.mcm").stdout
    assert "half-life  auto" in shown
    assert "changes  at about row " in shown
    (change,) = json.loads(modicum_command("show", "k.mcm", "--json").stdout)["changes"]
    assert 950 < change["since"] < 1050
    report = (changing / "k.html").read_text()
    assert "Forgetting" in report
    assert "at about row" in report
    assert "Stems over the rows seen: 1 change of the stream." in report


def test_a_number_of_rows_is_shown(modicum_command, changing):
    modicum_command("fit", "sample", "rows.csv", "-k", "20", "--half-life", "100", "-o", "s.mcm")
    shown = modicum_command("show", "s.mcm").stdout
    assert "half-life  100 rows" in shown
    assert "changes" not in shown


def test_picks_are_recent_rows(modicum_command, changing):
    picked = modicum_command("select", "rows.csv", "-k", "2", "--half-life", "100").stdout.splitlines()
    assert all(json.loads(line)["position"] >= 1000 for line in picked)


def test_what_does_not_forget_says_so(modicum_command, changing):
    refused = modicum_command("select", "rows.csv", "--objective", "logdet", "--half-life", "100", expect=1)
    assert "--half-life is not for --objective logdet" in refused.stderr


def test_half_lives_that_compete_are_reported(modicum_command, mail, tmp_path):
    given = ("--target", "label", "--half-life", "auto", "--random-state", 0, "--report", "svc.html")
    modicum_command("fit", "svc", "mail.csv", *given)
    report = (tmp_path / "svc.html").read_text()
    assert re.search(r"<th[^>]*>half-life</th>", report)
