"""`modicum crowd`: answers in, clusters, plans and reports out, and one line for everything that is wrong."""

import csv
import json
import shlex
from collections import Counter

import numpy as np
import pytest
from PIL import Image

import modicum
from modicum.cli.crowd_names import read_names
from modicum.cli.crowd_report import find_pictures
from modicum.cli.grouping import CROWD_EXAMPLES
from modicum.crowd.factorization import CrowdFactorization
from modicum.exceptions import DataError

ITEMS = [f"{colour} {shape} {i}" for colour in ("red", "blue") for shape in ("box", "ball") for i in range(6)]
TURK = "worker=WorkerId,task=HITId,item=Input.image*,group=Answer.group*"


def sorted_by_people(tasks=range(48)):
    """Rows of answers: workers 0, 2, ... sort by colour, 1, 3, ... by shape, and the last one at random."""
    rows = []
    for task in tasks:
        rng, worker = np.random.default_rng(task), task % 12
        for item in rng.permutation(ITEMS)[:8]:
            group = rng.choice(list("abcde")) if worker == 11 else item.split()[worker % 2]
            rows.append((f"w{worker}", task, str(item), str(group)))
    return rows


def write(path, rows, header=("worker", "task", "item", "group")):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def write_turk(path):
    """The same answers with a row for each."""
    rows = sorted_by_people()
    names = [f"{kind}{n}" for kind in ("Input.image", "Answer.group") for n in range(1, 9)]
    answers = [rows[at : at + 8] for at in range(0, len(rows), 8)]
    wide = [[*some[0][:2], *(row[2] for row in some), *(row[3] for row in some)] for some in answers]
    write(path, wide, ["WorkerId", "HITId", *names])


def rows_in(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def answers(tmp_path):
    write(tmp_path / "answers.csv", sorted_by_people())


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """The bytes of a state file."""
    from modicum.crowd.clustering import CrowdClustering
    from modicum.crowd.reading import as_answers

    path = tmp_path_factory.mktemp("crowd") / "crowd.mcm"
    CrowdClustering(random_state=0).fit_groupings(as_answers(sorted_by_people())).save(path)
    return path.read_bytes()


@pytest.fixture
def state(tmp_path, fitted):
    (tmp_path / "crowd.mcm").write_bytes(fitted)


class TestFit:
    def test_clusters_are_those_that_any_worker_tells_apart(self, modicum_command, answers, tmp_path):
        done = modicum_command("crowd", "fit", "answers.csv", "--clusters", "clusters.csv", "--random-state", 0)

        assert done.stdout == ""
        assert "48 answers learned in" in done.stderr
        assert "4 clusters of 24 items by 12 workers; state in crowd.mcm" in done.stderr
        found = rows_in(tmp_path / "clusters.csv")
        assert sorted(row["item"] for row in found) == sorted(ITEMS)
        kinds = {(row["item"].rsplit(" ", 1)[0], row["cluster"]) for row in found}
        assert len(kinds) == 4
        assert [row["cluster"] for row in found] == [str(k) for k in range(4) for _ in range(6)]
        assert all(0.5 < float(row["probability"]) <= 1 for row in found)
        learner = modicum.load(tmp_path / "crowd.mcm")
        np.testing.assert_array_equal(np.sort(learner.items_), np.sort(ITEMS))

    def test_notes_are_said(self, modicum_command, tmp_path):
        write(tmp_path / "a.csv", [(*row[:3], "" if n == 5 else row[3]) for n, row in enumerate(sorted_by_people())])
        done = modicum_command("crowd", "fit", "a.csv", "--n-dims", 2, "--workers", "matrix")

        assert "1 row without an item or a group, ignored" in done.stderr

    def test_a_file_of_mechanical_turk(self, modicum_command, tmp_path):
        write_turk(tmp_path / "turk.csv")
        done = modicum_command("crowd", "fit", "turk.csv", expect=1)

        assert done.stderr.endswith(f"Map its columns, as in --columns '{TURK}'.\n")
        done = modicum_command("crowd", "fit", "turk.csv", "--columns", TURK, "--n-dims", 2)
        assert "48 answers learned" in done.stderr

    def test_several_files_and_formats(self, modicum_command, tmp_path):
        write(tmp_path / "1.csv", sorted_by_people(range(24)))
        write(tmp_path / "2.csv", sorted_by_people(range(24, 48)))
        assert "48 answers" in modicum_command("crowd", "fit", "1.csv", "2.csv", "--n-dims", 2).stderr
        names = ("worker", "task", "item", "group")
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in sorted_by_people()]
        piped = modicum_command("crowd", "fit", "-", "--n-dims", 2, stdin="\n".join(lines))
        assert "48 answers" in piped.stderr

    def test_going_on(self, modicum_command, tmp_path):
        write(tmp_path / "1.csv", sorted_by_people(range(24)))
        write(tmp_path / "2.csv", sorted_by_people(range(24, 48)))
        modicum_command("crowd", "fit", "1.csv", "-o", "c.mcm", "--n-dims", 2)
        done = modicum_command("crowd", "fit", "2.csv", "--continue", "c.mcm")

        assert "24 answers, 1,344 labels of pairs in all, learned in" in done.stderr
        assert modicum.load(tmp_path / "c.mcm").n_seen_ == 48 * 28

    def test_going_on_with_other_parameters_is_refused(self, modicum_command, answers, state):
        told = modicum_command("crowd", "fit", "answers.csv", "--continue", "crowd.mcm", "--n-dims", 5, expect=1).stderr
        assert "crowd.mcm was made with --n-dims 'auto', not 5. Leave --n-dims out." in told
        told = modicum_command(
            *("crowd", "fit", "answers.csv", "--continue", "crowd.mcm", "--model", "factorization"), expect=1
        ).stderr
        assert "crowd.mcm was made with --model clustering, not factorization. Leave --model out." in told

    def test_going_on_from_another_learner_is_refused(self, modicum_command, answers, tmp_path):
        modicum.Reservoir(2).fit(np.zeros((5, 2))).save(tmp_path / "r.mcm")
        told = modicum_command("crowd", "fit", "answers.csv", "--continue", "r.mcm", expect=1).stderr
        assert told == "modicum: r.mcm is of a Reservoir, not of crowd clustering.\n"

    def test_factorization(self, modicum_command, answers, tmp_path):
        done = modicum_command("crowd", "fit", "answers.csv", "--model", "factorization", "-k", 4, "--report", "f.html")

        assert type(modicum.load(tmp_path / "crowd.mcm")) is CrowdFactorization
        assert "report in f.html" in done.stderr
        assert "What workers tell apart" in (tmp_path / "f.html").read_text()

    @pytest.mark.parametrize(
        ("args", "told"),
        [
            (["--model", "kmeans"], "--model is one of clustering, factorization; got 'kmeans'."),
            (["--model", "factorization", "--n-dims", "2"], "--n-dims is not for --model factorization, which takes"),
            (["--n-dims", "0"], "CrowdClustering: n_dims must be"),
            (["--images", "pictures"], "--images are for the report. Name its file with --report."),
            (["--images", "nowhere", "--report", "r.html"], "--images nowhere: there is no such folder."),
            (["--clusters", "c.xlsx"], "can't write c.xlsx: the name must end in"),
            (["-o", "answers.csv"], "can't write answers.csv: it is read as part of answers.csv."),
            (["--columns", "worker"], "columns must be a map such as"),
            (["--columns", "worker=Who"], "no column 'Who' for the workers"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, modicum_command, answers, tmp_path, args, told):
        done = modicum_command("crowd", "fit", "answers.csv", *args, expect=1)

        assert done.stderr.startswith("modicum: ")
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "crowd.mcm").exists()

    def test_answers_without_pairs_are_refused(self, modicum_command, tmp_path):
        write(tmp_path / "a.csv", [("w", task, item, "g") for task, item in enumerate(ITEMS)])
        told = modicum_command("crowd", "fit", "a.csv", expect=1).stderr
        assert "modicum: a.csv: no worker sorted two items in one task, so there is nothing to learn.\n" in told


class TestStates:
    def test_show(self, modicum_command, state, tmp_path):
        told = modicum_command("show", "crowd.mcm").stdout
        assert "1,344 labels of pairs" in told
        odd = modicum.load(tmp_path / "crowd.mcm").worker_summary()["kind"].count("random")
        assert f"  12{f', {odd} random' if odd else ''}; they differ in what they sort by" in told
        assert "4; largest 6 items, smallest 6" in told

    def test_show_for_programs(self, modicum_command, state, tmp_path):
        facts = json.loads(modicum_command("show", "crowd.mcm", "--json").stdout)
        assert facts["items"] == 24
        kinds = Counter(modicum.load(tmp_path / "crowd.mcm").worker_summary()["kind"])
        assert facts["workers"] == {"count": 12, "kinds": kinds, "model": "matrix"}
        assert facts["clusters"] == {"count": 4, "sizes": [6, 6, 6, 6]}
        assert facts["bound"] < 0

    def test_merge(self, modicum_command, tmp_path):
        for name, tasks in (("1", range(24)), ("2", range(24, 48))):
            write(tmp_path / f"{name}.csv", sorted_by_people(tasks))
            modicum_command("crowd", "fit", f"{name}.csv", "-o", f"{name}.mcm", "--n-dims", 2, "--random-state", 0)
        modicum_command("merge", "1.mcm", "2.mcm", "-o", "both.mcm")

        both = modicum.load(tmp_path / "both.mcm")
        assert both.n_seen_ == 48 * 28
        assert len(both.items_) == 24


class TestReport:
    def test_a_page(self, modicum_command, state, tmp_path):
        done = modicum_command("crowd", "report", "crowd.mcm")

        assert done.stderr == "report in crowd.html\n"
        page = (tmp_path / "crowd.html").read_text()
        assert "4 clusters of 24 items, as 12 workers sorted them." in page
        for title in ("Map of the items", "Clusters", "Workers", "What workers tell apart", "All workers"):
            assert f"<h2>{title}</h2>" in page
        assert "modicum crowd report crowd.mcm" in page.replace("</span> <span>", " ")

    def test_with_pictures(self, modicum_command, state, tmp_path):
        (tmp_path / "pictures").mkdir()
        for item in ITEMS[:-1]:
            Image.new("RGB", (8, 8), item.split()[0]).save(tmp_path / "pictures" / f"{item}.png")
        done = modicum_command("crowd", "report", "crowd.mcm", "-o", "page.html", "--images", "pictures")

        assert "pictures has pictures of 23 of 24 items; it lacks blue ball 5" in done.stderr
        page = (tmp_path / "page.html").read_text()
        assert page.count('<img src="data:image/jpeg') == 23
        assert page.count('<img src="data:image/svg') == 1

    def test_a_state_of_another_learner_is_refused(self, modicum_command, tmp_path):
        modicum.Reservoir(2).fit(np.zeros((5, 2))).save(tmp_path / "r.mcm")
        told = modicum_command("crowd", "report", "r.mcm", expect=1).stderr
        assert told == "modicum: r.mcm is of a Reservoir, not of crowd clustering.\n"


class TestPictures:
    def test_names_of_files(self, tmp_path):
        (tmp_path / "in").mkdir()
        for name in ("a.png", "in/b.JPG", "cafe\u0301.png", "12.jpeg", "a.png.gif"):
            (tmp_path / name).touch()
        (tmp_path / "c.txt").touch()
        items = np.array(["a", "a.png", "in/b.JPG", "b", "caf\u00e9", "https://x.org/y/12.jpeg?size=3", "c", "d"])
        found = find_pictures(items, tmp_path)

        short = {item: path.removeprefix(f"{tmp_path}/") for item, path in found.items()}
        assert short == {
            "a": "a.png",
            "a.png": "a.png",
            "in/b.JPG": "in/b.JPG",
            "b": "in/b.JPG",
            "caf\u00e9": "cafe\u0301.png",
            "https://x.org/y/12.jpeg?size=3": "12.jpeg",
        }
        assert find_pictures(np.array([12, 13]), tmp_path) == {12: str(tmp_path / "12.jpeg")}

    def test_no_picture_at_all_is_refused(self, tmp_path):
        with pytest.raises(DataError, match="no picture in it has the name of an item, such as x"):
            find_pictures(np.array(["x"]), tmp_path)


class TestPlan:
    @pytest.fixture
    def items(self, tmp_path):
        (tmp_path / "items.txt").write_text("\n".join(ITEMS))

    def test_every_item_is_in_a_task(self, modicum_command, items, tmp_path):
        done = modicum_command(
            *("crowd", "plan", "items.txt", "--task-size", 8, "--redundancy", 3, "--random-state", 0, "-o", "t.csv")
        )

        assert done.stderr == "9 tasks of 8 items; plan in t.csv\n"
        rows = rows_in(tmp_path / "t.csv")
        assert list(rows[0]) == ["task", "item"]
        assert {row["item"] for row in rows} == set(ITEMS)
        assert len({(row["task"], row["item"]) for row in rows}) == len(rows) == 72

    def test_tasks_are_given_to_workers(self, modicum_command, items, tmp_path):
        (tmp_path / "workers.txt").write_text("ann\nbob\n\neve\n")
        args = ("--task-size", 8, "--redundancy", 2, "--workers", "workers.txt", "--answers-per-task", 2, "--csv")
        done = modicum_command("crowd", "plan", "items.txt", *args)

        assert done.stderr == "6 tasks of 8 items; 12 answers by 3 workers, 4 from each\n"
        rows = list(csv.DictReader(done.stdout.splitlines()))
        assert {row["worker"] for row in rows} == {"ann", "bob", "eve"}
        assert len(rows) == 12 * 8

    def test_the_same_seed_gives_the_same_plan(self, modicum_command, items):
        args = ("crowd", "plan", "items.txt", "--task-size", 5, "--workers", 7)
        first, again, other = (modicum_command(*args, "--random-state", seed).stdout for seed in (1, 1, 2))
        assert first == again != other

    def test_later_tasks_have_numbers_of_their_own(self, modicum_command, items, answers):
        args = ("crowd", "plan", "items.txt", "--task-size", 8, "--redundancy", 1, "--done", "answers.csv")
        tasks = [json.loads(line)["task"] for line in modicum_command(*args).stdout.splitlines()]
        assert sorted(set(tasks)) == [48, 49, 50]

    def test_a_state_has_the_items(self, modicum_command, state):
        args = ("crowd", "plan", "--model", "crowd.mcm", "--strategy", "random", "--task-size", 8)
        lines = modicum_command(*args).stdout.splitlines()
        assert len(lines) == 24  # each once
        assert {json.loads(line)["item"] for line in lines} == set(ITEMS)

    def test_uncertain_items_are_sorted_again(self, modicum_command, state, tmp_path):
        (tmp_path / "items.txt").write_text("\n".join([*ITEMS, "new 1", "new 2"]))
        args = ("crowd", "plan", "items.txt", "--model", "crowd.mcm", "--task-size", 8, "--redundancy", 2)
        done = modicum_command(*args, "--random-state", 0)

        assert done.stderr == "7 tasks of 8 items\n"
        items = [json.loads(line)["item"] for line in done.stdout.splitlines()]
        assert len(items) == 56
        assert items.count("new 1") > 56 / 26  # least is known of it

    def test_coarse_to_fine_tasks_are_within_clusters(self, modicum_command, state, tmp_path):
        args = ("crowd", "plan", "--model", "crowd.mcm", "--strategy", "coarse-to-fine", "--task-size", 5)
        rows = [json.loads(line) for line in modicum_command(*args).stdout.splitlines()]

        learner = modicum.load(tmp_path / "crowd.mcm")
        cluster = dict(zip(learner.items_.tolist(), learner.clusters_.tolist(), strict=True))
        tasks = {row["task"] for row in rows}
        assert len({(row["task"], cluster[row["item"]]) for row in rows}) == len(tasks) == 5

    def test_a_state_whose_items_are_numbers(self, modicum_command, tmp_path):
        rows = [(worker, 0, item, item % 3) for worker in range(3) for item in range(12)]
        modicum.CrowdClustering(2, random_state=0).fit_groupings(rows).save(tmp_path / "n.mcm")
        (tmp_path / "items.txt").write_text("\n".join(map(str, range(12))))
        args = ("crowd", "plan", "items.txt", "--model", "n.mcm", "--task-size", 4)
        assert {type(json.loads(line)["item"]) for line in modicum_command(*args).stdout.splitlines()} == {int}

    def test_a_factorization_has_no_adaptive_plans(self, modicum_command, tmp_path):
        CrowdFactorization(4, random_state=0).fit_groupings(sorted_by_people()).save(tmp_path / "f.mcm")
        told = modicum_command("crowd", "plan", "--model", "f.mcm", expect=1).stderr
        assert "--strategy uncertain needs --model, a state file of crowd fit --model clustering." in told

    @pytest.mark.parametrize(
        ("args", "told"),
        [
            ([], "crowd plan needs ITEMS, a project, or --model, whose items are taken."),
            (
                ["items.txt", "--strategy", "best"],
                "--strategy is one of random, coarse-to-fine, uncertain; got 'best'.",
            ),
            (["items.txt", "--strategy", "uncertain"], "--strategy uncertain needs --model, a state file of crowd fit"),
            (["items.txt", "--model", "crowd.mcm", "--strategy", "coarse-to-fine"], "leave out ITEMS."),
            (["items.txt", "--task-size", "99"], "task_size must be at most the number of items, 24; got 99."),
            (["items.txt", "--answers-per-task", "2"], "--answers-per-task needs --workers"),
            (["items.txt", "--workers", "nobody.txt"], "nobody.txt: no such file."),
            (
                ["items.txt", "--workers", "1", "--answers-per-task", "2"],
                "need as many different workers; there are 1.",
            ),
            (["answers.csv", "--done", "items.txt"], "no column 'item'"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, modicum_command, items, answers, state, args, told):
        done = modicum_command("crowd", "plan", *args, expect=1)
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""


@pytest.mark.slow
class TestExamples:
    @pytest.mark.parametrize(
        "example",
        [example for name, some in CROWD_EXAMPLES.items() if name not in ("serve", "demo") for example in some],
    )
    def test_they_run(self, modicum_command, answers, state, tmp_path, example):
        (tmp_path / "items.txt").write_text("\n".join(ITEMS))
        (tmp_path / "notes.txt").write_text("\n".join(ITEMS))
        for folder in ("pictures", "photos"):
            (tmp_path / folder).mkdir()
            for item in ITEMS[:4]:
                Image.new("RGB", (8, 8)).save(tmp_path / folder / f"{item}.png")
        write_turk(tmp_path / "turk.csv")
        if shlex.split(example)[2] in ("import", "export"):
            modicum_command("crowd", "new", "things", "--items", "items.txt")
        modicum_command(*shlex.split(example)[1:])


class TestNames:
    def test_lines_without_blanks_and_repetitions(self, tmp_path):
        (tmp_path / "names.txt").write_text("b, c\n a \n\n  \n007\nb, c\na\n")
        assert read_names([str(tmp_path / "names.txt")], "item").tolist() == ["b, c", "a", "007"]

    def test_the_column_of_a_table(self, tmp_path):
        write(tmp_path / "t.csv", [("x", "007"), ("y", "7"), ("z", "007")], ("other", "item"))
        assert read_names([str(tmp_path / "t.csv")], "item").tolist() == ["007", "7"]
        with pytest.raises(
            DataError, match=r"no column 'worker'\. It has: other, item\. Give a table with that column"
        ):
            read_names([str(tmp_path / "t.csv")], "worker")

    def test_pictures_are_named_within_their_folder(self, tmp_path):
        (tmp_path / "in").mkdir()
        for name in ("b.png", "a.png", "in/c.png"):
            (tmp_path / name).touch()
        assert read_names([str(tmp_path)], "item").tolist() == ["a.png", "b.png", "in/c.png"]
        assert read_names([str(tmp_path / "*.png")], "item").tolist() == ["a.png", "b.png"]

    def test_no_names_are_refused(self, tmp_path):
        (tmp_path / "names.txt").write_text(" \n\n")
        with pytest.raises(DataError, match=r"names\.txt"):
            read_names([str(tmp_path / "names.txt")], "item")
