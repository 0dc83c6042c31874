"""Mixtures that find their components, and the command that names them."""

import csv
import io
import json

import numpy as np
import pytest

import modicum
from modicum import MemoryBoundedMixture, state
from modicum.cli.merge import command as merge
from modicum.cli.name import command as name
from modicum.cli.predict import command as predict
from modicum.cli.progress import Progress
from modicum.cli.run import Job
from modicum.cli.show import command as show
from modicum.cli.values import parameter
from modicum.families import DiagonalGaussian, FullGaussian


@pytest.fixture
def saved(tmp_path, clusters):
    """A mixture of a few rows, as a state file."""
    mixture = MemoryBoundedMixture(budget=200).fit(clusters[:500])
    mixture.save(tmp_path / "mixture.mcm")
    return mixture


class TestCommands:
    def test_fit_predict_merge(self, modicum_command, clusters, tmp_path):
        np.save(tmp_path / "rows.npy", clusters[:800])
        given = ("--family", "diagonal", "--budget", 200, "--concentration", 2, "--report", "r.html")
        modicum_command("fit", "bounded-mixture", "rows.npy", *given, "-o", "a.mcm")
        model = MemoryBoundedMixture("diagonal", budget=200, concentration=2).fit(clusters[:800])
        done = modicum_command("predict", "a.mcm", "rows.npy", "--csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert list(rows[0]) == ["row", "prediction", "name", "log_density", "novelty"]
        assert [int(row["prediction"]) for row in rows] == model.predict(clusters[:800]).tolist()
        np.testing.assert_allclose([float(row["novelty"]) for row in rows], model.novelty(clusters[:800]))
        model.fit(clusters[800:1500]).save(tmp_path / "b.mcm")
        merge([tmp_path / "a.mcm", tmp_path / "b.mcm"], tmp_path / "c.mcm")
        assert modicum.load(tmp_path / "c.mcm").n_seen_ == 1500
        assert "components found in 800 rows" in (tmp_path / "r.html").read_text()

    def test_show(self, saved, tmp_path, capsys):
        show(tmp_path / "mixture.mcm")
        told = capsys.readouterr().out
        largest = int(saved.weights_.argmax())
        named = f"{saved.n_components_}: {saved.component_names_[largest]} {saved.weights_[largest]:.1%}"
        kept = saved.clumps_
        assert f"components  {named}" in told
        assert f"clumps  {kept['is_clump'].sum()} of {kept['counts'][kept['is_clump']].sum():.0f} rows" in told
        assert "components so far" in told

    def test_show_as_json(self, saved, tmp_path, capsys):
        show(tmp_path / "mixture.mcm", as_json=True)
        facts = json.loads(capsys.readouterr().out)
        kept = saved.clumps_
        assert facts["free_energy"] == saved.free_energy_
        assert [part["name"] for part in facts["components"]] == saved.component_names_
        assert [part["weight"] for part in facts["components"]] == saved.weights_.tolist()
        assert facts["clumps"]["count"] == kept["is_clump"].sum()
        assert facts["clumps"]["single_rows"] == (~kept["is_clump"]).sum()
        assert facts["history"]["components"] == saved.history_["components"].tolist()

    def test_an_array_of_predictions_has_no_names(self, saved, clusters, tmp_path):
        np.save(tmp_path / "rows.npy", clusters[:7])
        predict(state=tmp_path / "mixture.mcm", source=[str(tmp_path / "rows.npy")], output=tmp_path / "out.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy")[:, 1], saved.predict(clusters[:7]))


class TestNames:
    def test_components_of_a_table(self, modicum_command, clusters, tmp_path):
        np.savetxt(tmp_path / "rows.csv", clusters[:400], delimiter=",", header="a,b,c,d", comments="")
        modicum_command("fit", "mixture", "rows.csv", "-o", "table.mcm")
        old = modicum.load(tmp_path / "table.mcm").component_names_[0]
        modicum_command("name", "table.mcm", f"{old}=winter boots")
        modicum_command("name", "table.mcm", "winter boots=boots", "-o", "table.mcm")
        assert modicum.load(tmp_path / "table.mcm").component_names_[0] == "boots"

    def test_names_are_kept(self, modicum_command, saved, tmp_path):
        old, *others = saved.component_names_
        done = modicum_command("name", "mixture.mcm", f"{old}=winter boots")
        assert f"1 of {saved.n_components_} components named; state in mixture.mcm" in done.stderr
        named = modicum.load(tmp_path / "mixture.mcm")
        assert named.component_names_ == ["winter boots", *others]
        assert set(named.table(np.zeros((1, 4)))) == {"prediction", "name", "log_density", "novelty"}

    def test_another_file(self, saved, tmp_path):
        before = (tmp_path / "mixture.mcm").read_bytes()
        first, second, *others = saved.component_names_
        name(tmp_path / "mixture.mcm", [f"{first}=a", "a=b=c", f"{second}=d"], tmp_path / "other.mcm")
        assert modicum.load(tmp_path / "other.mcm").component_names_ == ["b=c", "d", *others]
        assert (tmp_path / "mixture.mcm").read_bytes() == before

    @pytest.mark.parametrize(
        ("pair", "words"),
        [
            ("c0", "a name is given as c3=boots; got 'c0'"),
            ("c0=", "a name is given as c3=boots; got 'c0='"),
            ("tent=boots", "no component is called 'tent'; there are boots, "),
            ("boots=shoes", "'shoes'"),
            ("boots=c1", "got 'c1'"),  # which would look like a component without a name
        ],
    )
    def test_wrong_names(self, saved, tmp_path, pair, words):
        before = (tmp_path / "mixture.mcm").read_bytes()
        first, second, *_ = saved.component_names_
        with pytest.raises(ValueError) as told:
            name(tmp_path / "mixture.mcm", [f"{first}=boots", f"{second}=shoes", pair])
        assert words in str(told.value)
        assert (tmp_path / "mixture.mcm").read_bytes() == before

    def test_other_learners_have_nothing_to_name(self, clusters, tmp_path):
        modicum.Reservoir(5).fit(clusters).save(tmp_path / "r.mcm")
        with pytest.raises(ValueError, match=r"r.mcm is of a Reservoir, which has no components to name."):
            name(tmp_path / "r.mcm", ["c0=boots"])

    def test_a_stopped_run_goes_on_with_names(self, clusters, monkeypatch, tmp_path):
        """The checkpoint stays one."""
        monkeypatch.chdir(tmp_path)
        np.save("rows.npy", clusters[:1000])
        checkpoint = tmp_path / "run.mcm"

        def stop(self, learner, position):
            if position == 500:
                raise KeyboardInterrupt

        def run():
            given = {"checkpoint": checkpoint, "every": "0s", "chunk_size": 250}
            return Job(**given).learn(MemoryBoundedMixture(budget=200), "rows.npy", save=None).learner

        with monkeypatch.context() as patched:
            patched.setattr(Progress, "show", stop)
            with pytest.raises(KeyboardInterrupt):
                run()
        name(checkpoint, [f"{modicum.load(checkpoint).component_names_[0]}=boots"])
        assert state.read(checkpoint)["checkpoint"]["position"] == 250
        done = run()
        assert done.n_seen_ == 1000
        assert "boots" in done.component_names_


@pytest.mark.parametrize(
    ("text", "cls", "given"),
    [
        ("diagonal(covariance=0.5)", DiagonalGaussian, {"covariance": 0.5}),
        ("gaussian(degrees=30, covariance=[1, 4])", FullGaussian, {"degrees": 30, "covariance": [1, 4]}),
    ],
)
def test_families_with_a_prior(text, cls, given):
    family = parameter(MemoryBoundedMixture, "family", text)
    assert type(family) is cls
    assert {name: getattr(family, name) for name in given} == given
    assert parameter(MemoryBoundedMixture, "family", cls.name) == cls.name
