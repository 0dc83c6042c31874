"""README and guide run, and mention every command, option and public name.

Blocks of a page run in order, in one empty folder: `python` blocks that start with a prompt as doctests, others as a
script; `console` blocks command by command with their output compared, where `...` matches anything. `sh` and `text`
blocks are not run, so an `sh` block must not contain a modicum command. On pages of the guide a plain `modicum ...`
runs in this process, which saves seconds of imports; in the README, and if there are pipes, it runs in a shell.
`python` blocks that import pyspark or ray are left to a test of their own, which skips if the engine is missing.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import modicum
from modicum import papers

typer = pytest.importorskip("typer")

ROOT = Path(__file__).parents[1]
LONG = ("classification.md", "cli.md", "crowd.md", "projects.md", "rim.md", "text.md", "tradeoffs.md")  # they take long
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENGINE = re.compile(r"^(?:import|from) (pyspark|ray)\b", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-zA-Z][a-z-]*")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(path):
    return str(path.relative_to(ROOT))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


# ---- blocks run ----------------------------------------------------------------------------------------


def run_doctest(text, namespace, where):
    test = doctest.DocTestParser().get_doctest(text, namespace, where, where, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report = []
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    namespace.update(test.globs)


def commands_of(text):
    """(command, expected output) pairs of a console block; a command may continue after a backslash."""
    found = []
    going_on = False
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif going_on:
            found[-1][0] += "\n" + line
        else:
            found[-1][1] += line + "\n"
        going_on = line.endswith("\\") and (going_on or line.startswith("$ "))
    return found


def shell_environment(folder):
    """A PATH on which `modicum` and `python` are those under test."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for name, arguments in (("python", ""), ("modicum", " -m modicum")):
        path = bin_folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{arguments} "$@"\n')
        path.chmod(0o755)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    # unbuffered: rows and messages come in the order in which a terminal shows them
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


def in_a_shell(command, environment):
    done = subprocess.run(
        ["bash", "-c", command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.stdout, done.returncode


def in_this_process(command, monkeypatch):
    from modicum.cli import main

    output = io.StringIO()
    monkeypatch.setattr(sys, "argv", shlex.split(command.replace("\\\n", " ")))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), pytest.raises(SystemExit) as ended:
        main()
    return output.getvalue(), ended.value.code


def run_console(text, run, where):
    for command, expected in commands_of(text):
        output, code = run(command)
        assert doctest.OutputChecker().check_output(expected, output, FLAGS), f"{where}: {command}\n{output}"
        refused = expected.startswith("modicum: ")
        assert bool(code) == refused, f"{where}: {command} ended with {code}\n{output}"


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page.name in LONG else ()) for page in PAGES], ids=name_of
)
def test_blocks_run(page, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    environment = shell_environment(tmp_path_factory.mktemp("shell"))
    namespace = {"__name__": "__page__"}

    def run(command):
        plain = page.parent.name == "docs" and re.fullmatch(r"modicum [^|;<>&$]*", command)
        return in_this_process(command, monkeypatch) if plain else in_a_shell(command, environment)

    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python" and text.startswith(">>> "):
            run_doctest(text, namespace, name_of(page))
        elif kind == "python" and ENGINE.search(text):
            continue  # `test_other_engines_learn_the_same` runs it
        elif kind == "python":
            exec(compile(text, name_of(page), "exec"), namespace)
        elif kind == "console":
            run_console(text, run, name_of(page))
        else:
            assert kind in ("sh", "text"), f"{name_of(page)}: a block of kind {kind!r} would go untested"
            assert kind == "text" or not re.search(r"^modicum ", text, re.MULTILINE), "use a console block, it is run"


def write_flights(folder):
    """Sorted rows in three Parquet files, and a fourth without rows: no part is like the whole. Returns all rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = np.random.default_rng(0).normal(size=(60_000, 3))
    rows = pa.table({f"x{j}": rows[:, j] for j in range(3)}).sort_by("x0")
    folder.mkdir()
    for number in range(4):
        pq.write_table(rows.slice(20_000 * number, 20_000), folder / f"{number}.parquet")
    return rows


SETTINGS = "--master local[2] --conf spark.ui.enabled=false --conf spark.sql.files.maxPartitionBytes=1m pyspark-shell"
SMALL_BLOCKS = """
import ray
ray.init(include_dashboard=False, num_cpus=2)
ray.data.DataContext.get_current().target_max_block_size = 300_000
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "before", "least"), [("pyspark", "", 4), ("ray", SMALL_BLOCKS, 2)], ids=["pyspark", "ray"]
)
def test_other_engines_learn_the_same(engine, before, least, tmp_path):
    """The blocks of docs/clusters.md, each in a process of its own."""
    if find_spec(engine) is None:
        pytest.skip(f'{engine} is not installed: pip install "modicum[engines]"')
    if engine == "pyspark" and not (shutil.which("java") or "JAVA_HOME" in os.environ):
        pytest.skip("pyspark needs Java, which is not installed")
    blocks = [text for _, text in BLOCK.findall(text_of("docs/clusters.md"))]
    (block,) = [text for text in blocks if set(ENGINE.findall(text)) == {engine}]
    rows = write_flights(tmp_path / "flights")
    script = tmp_path / "script.py"
    script.write_text(f"{before}{block}assert states.count() >= {least}\n")
    environment = {
        "HOME": str(tmp_path),  # Ray keeps a token there
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": SETTINGS,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    model = modicum.load(tmp_path / "flights.mcm")
    alone = modicum.StreamKMeans(10, random_state=0).fit(rows)
    cost, wanted = ((each.transform(rows).min(axis=1) ** 2).mean() for each in (model, alone))
    assert model.n_seen_ == 60_000
    assert model.column_names_ == ["x0", "x1", "x2"]
    assert cost < 1.05 * wanted  # 500 merges of such parts: at most 1.02; one file alone: at least 1.39


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=name_of)
def test_examples_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "MODICUM_QUICK": "1", "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout, "an example must print its results"


@pytest.mark.slow
def test_the_table_of_budgets_holds():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/measure_budgets.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, f"run: python docs/measure_budgets.py\n{done.stdout}{done.stderr}"


# ---- nothing left out ----------------------------------------------------------------------------------


def all_commands(command, path="modicum"):
    """(path, command) of every command that does something."""
    if not hasattr(command, "list_commands"):
        return [(path, command)]
    children = {name: command.get_command(None, name) for name in command.list_commands(None)}
    return [pair for name, child in children.items() for pair in all_commands(child, f"{path} {name}")]


def cli():
    from modicum.cli.app import app

    return typer.main.get_command(app)


def test_every_command_has_a_section():
    headings = re.findall(r"^#+ `(modicum [^`]*)`$", text_of("docs/cli.md"), re.MULTILINE)
    assert sorted(headings) == sorted(path for path, _ in all_commands(cli()))


def test_options_and_their_documentation_agree():
    root = cli()
    params = [p for _, command in [("", root), *all_commands(root)] for p in command.params]
    there = {option for p in params for option in (*p.opts, *p.secondary_opts)}
    there = {option for option in there if option.startswith("--")} | {"--help"}
    assert set(OPTION.findall(text_of("docs/cli.md"))) == there


def test_every_public_name_is_documented():
    prose = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in modicum.__all__ if not re.search(rf"\b{name}\b", prose)]
    assert not missing


@pytest.mark.parametrize(
    ("page", "learners"),
    [
        ("exemplars", ["ExemplarClustering"]),
        ("selectors", ["OnlineGreedy", "BlockGreedy", "StreamGreedy", "SieveStreaming", "ThreeSieves"]),
        ("selectors", ["BalancedSelection"]),
        ("regression", ["SparseGPRegressor", "PrototypeRegressor", "KRLS"]),
        ("classification", ["StreamSVC"]),
        ("coresets", ["KMeansCoreset", "MixtureCoreset", "StreamKMeans", "StreamGaussianMixture"]),
        ("mixtures", ["MemoryBoundedMixture", "DirichletProcessMixture"]),
        ("topics", ["MemoryBoundedTopicModel"]),
        ("rim", ["RIM", "KernelRIM"]),
    ],
)
def test_every_parameter_is_explained(page, learners):
    text = text_of(f"docs/{page}.md")
    for name in learners:
        missing = [param for param in getattr(modicum, name)().get_params(deep=False) if f"`{param}" not in text]
        assert not missing, name


def test_papers_page_is_what_the_command_prints():
    assert text_of("docs/papers.md") == papers.as_markdown(), "run: make derived"


def test_a_paper_that_is_not_listed_is_named(monkeypatch):
    monkeypatch.delitem(papers.PAPERS, "macqueen1967")
    with pytest.raises(ValueError, match=r"cluster/online_kmeans\.py.*: macqueen1967 is not in PAPERS"):
        papers.as_markdown()


def anchors(path):
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page):
    for link in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name_of(page)} links to {link}"


def test_every_page_is_on_the_map():
    linked = {link.partition("#")[0] for link in LINK.findall(text_of("docs/index.md"))}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= linked


def test_pictures_are_small():
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 300_000, f"{picture.name} is too large"


def test_the_changelog_and_citation_know_this_version():
    assert f"## {modicum.__version__}" in text_of("CHANGELOG.md")
    assert f"version: {modicum.__version__}\n" in text_of("CITATION.cff")
