"""`modicum crowd new`, `plan`, `fit`, `import` and `export` on projects."""

import csv
import json
import re

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("sqlalchemy")

from modicum.cli.crowd_demo import (
    ANSWERS,
    N_ITEMS,
    PER_SCHOOL,
    REDUNDANCY,
    SCHOOLS,
    TASK_SIZE,
    TASKS_EACH,
    make_demo,
)
from modicum.web.store import Project, fits

THINGS = [f"{colour} {shape} {i}" for colour in ("red", "blue") for shape in ("box", "ball") for i in range(6)]


@pytest.fixture
def things(modicum_command, tmp_path):
    (tmp_path / "things.txt").write_text("\n".join(THINGS))
    modicum_command("crowd", "new", "things", "--items", "things.txt")
    return tmp_path / "things.crowd"


@pytest.fixture
def answers(tmp_path):
    """Every other worker sorts by colour, the others by shape."""
    rng = np.random.default_rng(0)
    with open(tmp_path / "answers.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["worker", "task", "item", "group"])
        for task in range(40):
            for item in rng.permutation(THINGS)[:8]:
                out.writerow([f"w{task % 10}", task, item, item.split()[task % 2]])


def photos(folder, names):
    folder.mkdir()
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (30, 20), (number, 0, 0)).save(folder / name)


class TestNew:
    def test_pictures_are_named_within_their_folder(self, modicum_command, tmp_path):
        photos(tmp_path / "photos", ["b.png", "a.jpg", "in/c.png"])
        (tmp_path / "photos" / "notes.txt").touch()
        told = modicum_command("crowd", "new", "birds", "--items", "photos").stderr
        assert "skipped, no pictures or sounds: notes.txt" in told
        assert "3 pictures to sort; project in birds.crowd" in told
        with Project.open(tmp_path / "birds").closing() as project:
            assert project.item_names().tolist() == ["a.jpg", "b.png", "in/c.png"]
            assert project.facts().title == "birds"

    def test_bad_files_are_refused_together_and_nothing_is_made(self, modicum_command, tmp_path):
        photos(tmp_path / "photos", ["a.png", "b.png", "c.png"])
        (tmp_path / "photos" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 50)
        (tmp_path / "photos" / "page.jpg").write_text("<html><script>alert(1)</script>")
        (tmp_path / "photos" / "drawing.png").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        (tmp_path / "photos" / "song.mp3").write_text("la la la")
        (tmp_path / "photos" / "empty.gif").touch()
        told = modicum_command("crowd", "new", "birds", "--items", "photos", expect=1).stderr
        assert told.count("\n") == 1
        assert "broken.png" in told
        assert "And 2 more. Mend or remove them, or leave them out with --skip-bad-rows." in told
        assert not list(tmp_path.glob("birds*"))
        told = modicum_command("crowd", "new", "birds", "--items", "photos", "--skip-bad-rows").stderr
        assert told.count("left out: ") == 5
        assert "3 pictures to sort" in told

    def test_files_that_are_too_large(self, modicum_command, tmp_path, monkeypatch):
        from modicum.web.store import media

        monkeypatch.setitem(media.MOST_BYTES, "image", 100)
        photos(tmp_path / "photos", ["a.png"])
        (tmp_path / "photos" / "a.png").write_bytes(b"x" * 101)
        assert "the limit is 100 B" in modicum_command("crowd", "new", "x", "--items", "photos", expect=1).stderr

    def test_pictures_that_would_fill_the_memory(self, modicum_command, tmp_path):
        (tmp_path / "photos").mkdir()
        Image.new("1", (30_000, 30_000)).save(tmp_path / "photos" / "bomb.png")
        told = modicum_command("crowd", "new", "x", "--items", "photos", expect=1).stderr
        assert re.search(r"bomb\.png.*(limit|exceeds)", told)

    def test_tables_of_texts_and_files(self, modicum_command, tmp_path):
        photos(tmp_path / "in", ["a.png"])
        rows = "item,text,file,alt\n007,a text,,\n8,,in/a.png,a red box\nplain,,,\n"
        (tmp_path / "items.csv").write_text(rows)
        told = modicum_command("crowd", "new", "x", "--items", "items.csv").stderr
        assert "2 texts, 1 picture to sort" in told
        with Project.open(tmp_path / "x").closing() as project:
            assert project.item_names().tolist() == ["007", "8", "plain"]

    @pytest.mark.parametrize("file", ["../secret.png", "/etc/passwd", "in/../../secret.png"])
    def test_tables_can_not_reach_other_folders(self, modicum_command, tmp_path, file):
        photos(tmp_path / "in", ["a.png"])
        Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
        (tmp_path / "in" / "items.csv").write_text(f"item,file\na,a.png\nb,{file}\nc,a.png\n")
        told = modicum_command("crowd", "new", "x", "--items", "in/items.csv", expect=1).stderr
        assert "is not in the folder of the table" in told

    def test_cameras_leave_no_traces(self, modicum_command, tmp_path):
        photos(tmp_path / "photos", ["a.png", "b.png"])
        exif = Image.Exif()
        exif[0x010E] = "taken at home"
        Image.new("RGB", (40, 30)).save(tmp_path / "photos" / "c.jpg", exif=exif)
        modicum_command("crowd", "new", "x", "--items", "photos")
        assert b"taken at home" in (tmp_path / "photos" / "c.jpg").read_bytes()
        assert b"taken at home" not in (tmp_path / "x.crowd").read_bytes()

    def test_known_pairs(self, modicum_command, tmp_path):
        (tmp_path / "things.txt").write_text("a\nb\nc\nd")
        (tmp_path / "pairs.csv").write_text("a,b,same\na,b,same\na,c,different\n")
        modicum_command("crowd", "new", "x", "--items", "things.txt", "--gold", "pairs.csv")
        (tmp_path / "pairs.csv").write_text("a,b\na,b\n")
        told = modicum_command("crowd", "new", "y", "--items", "things.txt", "--gold", "pairs.csv", expect=1).stderr
        assert "no column 'same'" in told

    @pytest.mark.parametrize(
        ("items", "words"),
        [("nothing", "no such file"), ("folder", "there are no items in it"), ("few.txt", "at least 3 items")],
    )
    def test_nothing_to_sort(self, modicum_command, tmp_path, items, words):
        (tmp_path / "folder").mkdir()
        (tmp_path / "few.txt").write_text("a\nb")
        assert words in modicum_command("crowd", "new", "x", "--items", items, expect=1).stderr
        assert not list(tmp_path.glob("x*"))

    def test_names_that_are_taken(self, modicum_command, things):
        told = modicum_command("crowd", "new", "things", "--items", "things.txt", expect=1).stderr
        assert "things.crowd exists already" in told


class TestProject:
    def test_from_items_to_clusters(self, modicum_command, things, answers, tmp_path):
        planned = modicum_command("crowd", "plan", "--task-size", 8, "--redundancy", 3, "--workers", 2, "--csv")
        assert "9 tasks added to things.crowd, 1 answer wanted of each" in planned.stderr
        assert re.fullmatch(r"worker,code\nworker 1,(\w{4}-){2}\w{4}\nworker 2,(\w{4}-){2}\w{4}\n", planned.stdout)
        assert "40 answers added" in modicum_command("crowd", "import", "answers.csv").stderr
        fitted = modicum_command("crowd", "fit", "--random-state", 0, "--report", "page.html", "--clusters", "c.csv")
        assert "40 answers learned in" in fitted.stderr
        assert "4 clusters of 24 items by 10 workers; state in things.crowd" in fitted.stderr
        assert (tmp_path / "page.html").exists()
        assert not (tmp_path / "crowd.mcm").exists(), "the state is in the project"
        rows = [json.loads(line) for line in modicum_command("crowd", "export", "clusters").stdout.splitlines()]
        kinds = {}
        for row in rows:
            kinds.setdefault(row["cluster"], set()).add(row["item"].rpartition(" ")[0])
        assert sorted(map(len, kinds.values())) == [1, 1, 1, 1]
        later = modicum_command("crowd", "plan", "--task-size", 8, "--random-state", 0)
        assert "3 tasks added" in later.stderr, "uncertain items, once"

    def test_answers_go_out_and_in(self, modicum_command, things, answers, tmp_path):
        modicum_command("crowd", "import", "answers.csv")
        assert "320 rows in out.parquet" in modicum_command("crowd", "export", "answers", "-o", "out.parquet").stderr
        told = modicum_command("crowd", "import", "out.parquet").stderr
        assert "0 answers added to things.crowd; 40 answers that it had already" in told

    def test_which_project(self, modicum_command, tmp_path, monkeypatch):
        told = modicum_command("crowd", "export", "answers", expect=1).stderr
        assert "there is no project here. Make one with: modicum crowd new" in told
        assert "Give ANSWERS, or make a project" in modicum_command("crowd", "fit", expect=1).stderr
        (tmp_path / "t.txt").write_text("a\nb\nc")
        for name in ("one", "two"):
            modicum_command("crowd", "new", name, "--items", "t.txt")
        told = modicum_command("crowd", "export", "answers", expect=1).stderr
        assert "several projects here: one.crowd, two.crowd. Choose one with --project." in told
        monkeypatch.setenv("MODICUM_PROJECT", "two.crowd")
        assert "nobody has submitted" in modicum_command("crowd", "fit", expect=1).stderr
        assert "0 rows" in modicum_command("crowd", "export", "answers", "--project", "one").stderr

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            (["export", "nonsense"], "one of answers, clusters, workers"),
            (["export", "clusters"], "Find them with: modicum crowd fit"),
            (["plan", "--task-size", "99"], "from 2 to 24 items"),
            (["plan", "--task-size", "4", "--strategy", "uncertain"], "needs a fit"),
            (["plan", "--task-size", "4", "--done", "x.csv"], "a project knows its answers"),
            (["plan", "things.txt", "--project", "things.crowd"], "leave out ITEMS"),
            (["fit", "things.txt", "--project", "things.crowd"], "use crowd import first"),
            (["fit", "--continue", "x.mcm"], "x.mcm"),
            (["serve", "--project", "things.txt"], "there is no project things.txt.crowd"),
            (["serve", "--port", "99999999"], "Choose another one with --port"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, modicum_command, things, args, words):
        told = modicum_command("crowd", *args, expect=1).stderr
        assert words in told
        assert told.count("\n") == 1

    def test_a_project_is_not_overwritten(self, modicum_command, things, answers):
        modicum_command("crowd", "import", "answers.csv")
        before = things.read_bytes()
        for option in ("--report", "--clusters", "-o"):
            modicum_command("crowd", "fit", option, "things.crowd", "--force", expect=1)
        assert things.read_bytes() == before

    def test_tasks_are_not_added_without_their_workers(self, modicum_command, things):
        for workers in ("nobody.txt", "0"):
            modicum_command("crowd", "plan", "--task-size", "8", "--workers", workers, expect=1)
        with Project.open(things).closing() as project, project.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM tasks").scalar_one() == 0

    def test_a_fit_that_fails_is_written_down(self, modicum_command, things, answers, tmp_path):
        modicum_command("crowd", "import", "answers.csv")
        assert "n_clusters is 99" in modicum_command("crowd", "fit", "--n-clusters", 99, expect=1).stderr
        with Project.open(things).closing() as project:
            assert fits.latest(project).error
            assert fits.latest(project).ended is not None
            assert fits.last_done(project) is None


@pytest.mark.slow
def test_the_demo_finds_what_no_worker_sees_alone(tmp_path):
    """Workers of three schools tell two kinds each; together they tell eight apart."""
    with make_demo(tmp_path / "greebles.crowd").closing() as project:
        found = fits.findings(project)
        assert found["n_clusters"] == 8
        assert len(found["items"]) == N_ITEMS
        assert project.answers().n_answers == len(SCHOOLS) * PER_SCHOOL * TASKS_EACH
        assert project.answers().n_answers < ANSWERS * N_ITEMS * REDUNDANCY / TASK_SIZE, "some work is left"
