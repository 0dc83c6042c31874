"""Help: groups of options, plain words, learners by what one wants, examples that run, and names nearly right."""

import inspect
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import typer
from PIL import Image

import modicum
from modicum.cli.app import COMMANDS, app
from modicum.cli.grouping import EXAMPLES, EXPERT, GROUPS, INPUT, LEARNING, LONG_RUNS, OTHERS, OUTPUT, PLACES
from modicum.cli.lazy import by_group
from modicum.cli.learners import ALIASES, ENTRIES, NAMES, WISHES, fit_examples
from modicum.cli.options import parameter_help
from modicum.cli.printing import in_shell_words
from modicum.pipeline import final_learner

PYTHON = re.compile(r"`|\b(None|True|False|int|callable)\b|ndarray|modicum\.|<str>|<int>|<path>|\w_\w")


def all_commands():
    """Every command that does something, by what one types."""
    root = typer.main.get_command(app)
    groups = {name: root.get_command(None, name) for name in ("fit", "crowd")}
    plain = {name: root.get_command(None, name) for name in root.list_commands(None) if name not in groups}
    return plain | {
        f"{title} {name}": group.get_command(None, name)
        for title, group in groups.items()
        for name in group.list_commands(None)
    }


@pytest.fixture(scope="module")
def commands():
    return all_commands()


class TestGroups:
    def test_no_option_is_without_a_place(self, commands):
        """An option that is no learner's must be listed in grouping.py, or it would be taken for an expert's."""
        for name, command in commands.items():
            for param in command.params:
                assert (
                    getattr(param, "rich_help_panel", None)
                    or param.name in {*PLACES, *OTHERS}
                    or (name == "tradeoff" and param.name in inspect.signature(modicum.Tram).parameters)
                ), f"{name}: {param.name}"

    def test_every_option_is_shown_once(self, commands):
        for command in commands.values():
            shown = [name for names in by_group(command.params).values() for name in names]
            assert sorted(shown) == sorted(param.name for param in command.params)

    def test_basics_come_first(self, modicum_command):
        text = modicum_command("select", "--help").stdout
        places = [text.index(f"\n{title}:\n") for title in GROUPS]
        assert places == sorted(places)
        groups = by_group(all_commands()["select"].params)
        assert groups[INPUT][:3] == ["source", "columns", "exclude"]
        assert groups[LEARNING][:2] == ["objective", "n_exemplars"]
        assert groups[OUTPUT][:3] == ["output", "report", "save"]
        assert groups[LONG_RUNS][:2] == ["follow", "checkpoint"]
        assert "phantom" in groups[EXPERT]

    def test_learners_show_few_options_first(self, commands):
        for name, command in commands.items():
            if name.startswith("fit "):
                first, *_ = inspect.signature(getattr(modicum, NAMES[name[4:]])).parameters
                assert first in by_group(command.params)[LEARNING]
                assert len(by_group(command.params)[LEARNING]) <= 6
        groups = by_group(commands["fit stream-svc"].params)
        assert groups[LEARNING] == ["C", "kernel", "budget", "class_weight", "random_state"]


class TestWords:
    def test_no_python_in_any_help(self, commands, modicum_command):
        for name, command in commands.items():
            for text in [command.help, *(param.help for param in command.params)]:
                assert not PYTHON.search(text or ""), f"{name}: {text}"

    def test_pages_have_no_python(self, modicum_command):
        for command in (["--help"], ["fit", "--help"], ["select", "--help"], ["fit", "krls", "--help"]):
            assert not re.search(r"`|\bNone\b|<str>|<int>|<path>", modicum_command(*command).stdout)

    def test_every_parameter_of_a_learner_has_help(self):
        for cls in modicum.load_all_learners().values():
            assert all(parameter_help(cls).get(name) for name in inspect.signature(cls).parameters), cls

    @pytest.mark.parametrize(
        ("python", "shell"),
        [
            ("give a budget='1 MiB'.", "give a --budget '1 MiB'."),
            ("choose others with columns=.", "choose others with --columns."),
            ("`n` is None, not 'None' or None_of", "n is none, not 'None' or None_of"),
            ("c3=boots, kernel=rbf, mykernel=3", "c3=boots, --kernel rbf, mykernel=3"),
            ("Name it in `stream(target=)`.", "Name it in --target."),
        ],
    )
    def test_errors_in_words_of_the_shell(self, python, shell):
        assert in_shell_words(python) == shell

    def test_an_error_of_the_library(self, modicum_command, table):
        done = modicum_command("fit", "krls", "rows.parquet", "--target", "f0", "-k", "none", expect=1)
        assert "KRLS: --n-prototypes none needs a budget" in done.stderr


class TestLearners:
    def test_every_learner_is_in_one_group(self):
        placed = [learner for learners in WISHES.values() for learner in learners]
        assert sorted(placed) == sorted(modicum.LEARNERS)

    def test_essentials_are_parameters(self):
        for name in modicum.LEARNERS:
            assert set(ENTRIES[name].essentials) <= set(inspect.signature(getattr(modicum, name)).parameters)

    def test_help_lists_them_by_what_one_wants(self, modicum_command):
        text = modicum_command("fit", "--help").stdout
        places = [text.index(f"\n{wish}:\n") for wish in WISHES]
        assert places == sorted(places)
        for alias, name in ALIASES.items():
            assert re.search(rf"  {name}, .*\b{alias}\b", text)

    @pytest.mark.parametrize(
        ("alias", "learner"),
        [
            ("kmeans", "StreamKMeans"),
            ("gp", "SparseGPRegressor"),
            ("mixture", "MemoryBoundedMixture"),
            ("topics", "MemoryBoundedTopicModel"),
            ("svm", "StreamSVC"),
            ("svc", "StreamSVC"),
            ("gmm", "StreamGaussianMixture"),
            ("exemplars", "ExemplarClustering"),
            ("reservoir", "Reservoir"),
            ("sample", "Reservoir"),
            ("krls", "KRLS"),
            ("block", "BlockGreedy"),  # a part of one name
        ],
    )
    def test_short_names(self, alias, learner):
        fit = typer.main.get_command(app).get_command(None, "fit")
        assert NAMES[fit.get_command(None, alias).name] == learner

    def test_an_alias_learns(self, modicum_command, table, tmp_path):
        modicum_command("fit", "kmeans", "rows.parquet", "-k", 3, "-o", "k.mcm")
        assert type(final_learner(modicum.load(tmp_path / "k.mcm"))) is modicum.StreamKMeans

    def test_listing_them_loads_none(self):
        code = "import sys, modicum.cli.app, modicum.cli.fit; print('numpy' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["selct"], "no command 'selct'. Did you mean select?"),
        (["fit", "kmaens"], "Did you mean kmeans, stream-kmeans or online-kmeans?"),
        (["fit", "stream"], "Did you mean stream-svc, stream-kmeans, stream-gaussian-mixture, "),
        (["fit", "qqqqq"], "Did you mean stream-svc, "),
        (["select", "rows.parquet", "--colums", "a"], "no option --colums. Did you mean --columns?"),
        (["fit", "svm", "rows.parquet", "--taget", "a"], "no option --taget. Did you mean --target?"),
        (["--versoin"], "no option --versoin. Did you mean --version?"),
        (["show", "s.mcm", "--zzzz"], "no option --zzzz."),
    ],
)
def test_names_that_are_nearly_right(modicum_command, args, words):
    done = modicum_command(*args, expect=2)
    assert words in done.stderr


class TestExamples:
    def test_every_command_has_two(self, commands):
        assert set(EXAMPLES) == {"", *COMMANDS}
        assert all(len(command.examples) == 2 for command in commands.values())
        assert all(len(examples) == 2 for examples in EXAMPLES.values())

    def test_help_ends_with_them(self, modicum_command):
        for name in ("select", "predict", "fit svm"):
            text = modicum_command(*name.split(), "--help").stdout
            first, second = fit_examples("stream-svc") if name == "fit svm" else EXAMPLES[name]
            assert text.endswith(f"Examples:\n  {first}\n  {second}\n")

    @pytest.fixture
    def flats(self, tmp_path):
        """The files that examples read."""
        rng = np.random.default_rng(0)
        rooms = rng.choice([1, 2, 2, 3, 5], size=400)
        lines = [
            f"{i} Elm Street,{25 * n + rng.integers(-5, 6)},{n},{rng.integers(1, 10)}" for i, n in enumerate(rooms)
        ]
        (tmp_path / "flats.csv").write_text("\n".join(["street,area,rooms,visits", *lines]))
        sorted_ = [f"w{j},t{j},i{i},{i % (2 + j % 2)}" for j in range(6) for i in rng.permutation(24)[:12]]
        (tmp_path / "answers.csv").write_text("\n".join(["worker,task,item,group", *sorted_]))
        (tmp_path / "items.txt").write_text("\n".join(f"i{i}" for i in range(24)))
        (tmp_path / "photos").mkdir()
        for i in range(4):
            Image.new("RGB", (8, 8), (60 * i, 0, 0)).save(tmp_path / "photos" / f"{i}.png")
        (tmp_path / "texts").mkdir()
        for i, n in enumerate(rooms[:40]):
            (tmp_path / "texts" / f"{i}.txt").write_text(" ".join(rng.choice(["hall", "stairs", "garden", "roof"], n)))
        texts = modicum.stream(str(tmp_path / "texts"), documents="files", raw=True)
        topics = modicum.MemoryBoundedTopicModel("multinomial", random_state=0)
        modicum.make_pipeline(modicum.WordCounts(), topics).fit(texts).save(tmp_path / "topics.mcm")
        X = np.column_stack([rooms * 25.0, rooms])
        modicum.StreamKMeans(5).learn(modicum.stream(str(tmp_path / "flats.csv"))).save(tmp_path / "flats.mcm")
        modicum.OnlineGreedy(5).learn(modicum.stream(str(tmp_path / "flats.csv"))).save(tmp_path / "picks.mcm")
        modicum.MemoryBoundedMixture(budget=200).fit(X + rng.normal(size=X.shape)).save(tmp_path / "mixture.mcm")
        for name in ("west", "east", "monday", "tuesday", "wednesday"):
            modicum.Reservoir(5).fit(X).save(tmp_path / f"{name}.mcm")

    @pytest.mark.slow
    def test_they_run(self, modicum_command, flats):
        slow_or_not_a_file = {"demo"}
        for command, examples in EXAMPLES.items():
            for example in () if command in slow_or_not_a_file else examples:
                modicum_command(*shlex.split(example.partition(" > ")[0])[1:])

    @pytest.mark.slow
    @pytest.mark.parametrize("name", NAMES)
    def test_every_learner_is_fitted_by_its_own(self, modicum_command, flats, name):
        for example in fit_examples(name):
            modicum_command(*shlex.split(example)[1:])
