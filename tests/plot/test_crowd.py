"""Figures and the page of crowd clustering show items, clusters and workers as they are."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from modicum.plot import write_report
from modicum.plot.agreement import Agreement, correlations, predicted
from modicum.plot.crowd import (
    agreement_matrix,
    confusion_matrices,
    item_map,
    principal_directions,
    reliability_bars,
    short_name,
    surest_in_turn,
)
from modicum.plot.page import Context, Page
from modicum.plot.pages import PAGES
from modicum.plot.pages.crowd import crowd_learner
from modicum.plot.report import render

CRITERIA = {"colour": 0, "shape": 1}


class Sorted(SimpleNamespace):
    """Four clusters, by two attributes, with workers of whom each sorts by one of them, at random, or adversarially."""

    def predict_pair(self, worker, a, b):
        place = {name: i for i, name in enumerate(self.items_.tolist())}
        first, second = ([place[name] for name in names.tolist()] for names in (a, b))
        what = self.sees[worker]
        if what == "nothing":
            return np.full(len(a), 0.5)
        criterion = CRITERIA[what.removeprefix("not ")]
        found = 0.1 + 0.8 * (self.attributes[first, criterion] == self.attributes[second, criterion])
        return 1 - found if what.startswith("not ") else found

    n_seen_, n_retained_, nbytes_ = 1_000, 1_000, 24_000

    def get_params(self, deep=True):
        return {}

    def worker_summary(self):
        kinds = {"nothing": "random", "not colour": "adversarial"}
        names = list(self.sees)
        return {
            "worker": np.array(names),
            "n_labels": np.arange(len(names), 0, -1) * 10,
            "kind": np.array([kinds.get(what, "usual") for what in self.sees.values()]),
            "reliability": np.linspace(0.5, 1, len(names)),
            "lumps": [[[0, 1], [2, 3]]] * len(names),
        }


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    attributes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [8, 6, 4, 3], axis=0)
    clusters = np.repeat(np.arange(4), [8, 6, 4, 3])
    proba = np.full((21, 4), 0.02)
    proba[np.arange(21), clusters] = np.linspace(0.94, 0.4, 21)
    sees = {f"c{j}": "colour" for j in range(5)} | {f"s{j}": "shape" for j in range(3)}
    sees |= {"r<1>": "nothing", "$a_b$": "not colour"}
    return Sorted(
        items_=np.array([f"item {i}" for i in range(21)]),
        workers_=np.array(list(sees)),
        sees=sees,
        attributes=attributes,
        embedding_=np.column_stack([3.0 * attributes[:, 0], attributes[:, 1], 0 * attributes[:, 0]])
        + 0.01 * rng.normal(size=(21, 3)),
        clusters_=clusters,
        n_clusters_=4,
        cluster_proba_=proba,
        confusion_={name: np.full((4, 4), j / 10) for j, name in enumerate(sees)},
    )


class TestAgreement:
    def test_schools_are_those_who_sort_alike(self, people):
        found = Agreement.of(people)
        assert found.n_schools == 2
        assert sorted(found.workers[:5]) == [f"c{j}" for j in range(5)]
        assert sorted(found.workers[5:8]) == [f"s{j}" for j in range(3)]
        np.testing.assert_array_equal(found.schools, [0] * 5 + [1] * 3 + [-1] * 2)

    def test_random_and_adversarial_workers_come_last(self, people):
        found = Agreement.of(people)
        assert found.workers[8:].tolist() == ["r<1>", "$a_b$"]
        assert found.kinds[8:].tolist() == ["random", "adversarial"]

    def test_the_matrix_is_of_correlations(self, people):
        found = Agreement.of(people)
        np.testing.assert_allclose(found.matrix, correlations(predicted(people, found.workers)))
        np.testing.assert_allclose(found.matrix[:5, :5], 1.0)
        np.testing.assert_allclose(found.matrix[8, :8], 0.0)  # constant
        np.testing.assert_allclose(found.matrix[9, :5], -1.0)
        assert np.abs(found.matrix[:5, 5:8]).max() < 0.5

    def test_workers_with_most_labels_are_shown(self, people):
        assert sorted(Agreement.of(people, most=3).workers) == ["c0", "c1", "c2"]

    def test_workers_who_nearly_agree_are_of_one_school(self, people):
        people.sees = dict.fromkeys(people.sees, "colour")
        assert Agreement.of(people).n_schools == 1

    @pytest.mark.parametrize("n", [0, 1, 2])
    def test_few_workers(self, people, n):
        people.sees = {f"c{j}": "colour" for j in range(n)}
        found = Agreement.of(people)
        assert (len(found.workers), found.n_schools) == (n, min(n, 1))

    def test_the_typical_worker_agrees_most(self):
        matrix = np.array([[1.0, 0.9, 0.2, 0], [0.9, 1.0, 0.8, 0], [0.2, 0.8, 1.0, 0], [0, 0, 0, 1]])
        found = Agreement(np.array(list("abcd")), np.full(4, "usual"), matrix, np.array([0, 0, 0, 1]))
        assert (found.typical(0), found.typical(1)) == ("b", "d")

    def test_half_of_the_pairs_are_of_one_cluster(self, people):
        seen = []
        people.predict_pair = lambda worker, a, b: seen.append((a, b)) or np.zeros(len(a))
        assert predicted(people, np.array(["c0", "s0"]), 400).shape == (2, 400)
        np.testing.assert_array_equal(seen[0], seen[1])  # the same pairs for both workers
        a, b = (np.array([int(name.removeprefix("item ")) for name in names]) for names in seen[0])
        assert (a != b).all()
        alike = people.clusters_[a] == people.clusters_[b]
        assert alike[::2].all()
        assert 0.1 < alike[1::2].mean() < 0.5

    def test_correlations_are_those_of_numpy(self):
        rows = np.random.default_rng(0).normal(size=(4, 30))
        np.testing.assert_allclose(correlations(rows), np.corrcoef(rows))


class TestMap:
    def test_directions_are_principal_ones(self, people):
        positions, shares = principal_directions(people)
        apart = np.linalg.norm(people.embedding_[:, None] - people.embedding_, axis=2)
        np.testing.assert_allclose(np.linalg.norm(positions[:, None] - positions, axis=2), apart)
        assert (np.diff(positions.var(axis=0)) < 0).all()
        np.testing.assert_allclose(shares, positions.var(axis=0) / positions.var(axis=0).sum())

    def test_items_are_dots_in_the_colours_of_their_clusters(self, people):
        axes = item_map(people).axes[0]
        positions = principal_directions(people)[0][:, :2]
        np.testing.assert_allclose(axes.collections[0].get_offsets(), positions)
        colours = [tuple(colour) for colour in axes.collections[0].get_facecolor()]
        assert len({(colour, cluster) for colour, cluster in zip(colours, people.clusters_, strict=True)}) == 4

    def test_clusters_have_numbers_and_items_names(self, people):
        people.items_ = np.array([f"f/{i}$_$.png" for i in range(21)])
        texts = [text.get_text() for text in item_map(people).axes[0].texts]
        assert texts[:4] == ["0", "1", "2", "3"]
        assert texts[4] == "0$_$"
        assert len(set(texts[4:])) == len(texts[4:])

    def test_one_dimension(self, people):
        people.embedding_ = people.embedding_[:, :1]
        offsets = item_map(people).axes[0].collections[0].get_offsets()
        assert len(np.unique(offsets[:, 1])) == 21

    def test_pictures_where_there_are_files(self, people, tmp_path):
        for i in (0, 8):
            Image.new("RGB", (40, 20), (200, 10 * i, 0)).save(tmp_path / f"{i}.png")
        (tmp_path / "14.png").write_text("no picture")
        pictures = {f"item {i}": str(tmp_path / f"{i}.png") for i in (0, 8, 14, 18)}
        axes = item_map(people, pictures=pictures).axes[0]
        boxes = [artist for artist in axes.artists if hasattr(artist, "offsetbox")]
        positions = principal_directions(people)[0]
        np.testing.assert_allclose([box.xy for box in boxes], positions[[0, 8], :2])

    def test_many_clusters_have_colours_far_apart(self, people):
        people.clusters_, people.n_clusters_ = np.arange(21), 21
        people.cluster_proba_ = np.eye(21)
        assert len(item_map(people).axes[0].collections[0].get_facecolor()) == 21

    def test_the_surest_items_of_all_clusters_come_first(self, people):
        order = surest_in_turn(people)
        assert order[:8].tolist() == [0, 8, 14, 18, 1, 9, 15, 19]
        assert sorted(order) == list(range(21))

    @pytest.mark.parametrize(
        ("item", "name"),
        [("https://x.org/a b.JPG", "a b"), ("dir/", "dir"), (".png", ".png"), ("/", "/"), (3, "3"), ("v1.2", "v1.2")],
    )
    def test_short_names(self, item, name):
        assert short_name(item) == name


class TestWorkers:
    def test_lines_separate_schools_and_kinds(self, people):
        axes = agreement_matrix(people).axes[0]
        assert sorted({line.get_ydata()[0] for line in axes.lines if line.get_xdata()[1] == 1}) == [4.5, 7.5, 8.5]
        assert axes.images[0].get_array().shape == (10, 10, 4)
        assert [text.get_text() for text in axes.get_yticklabels()] == Agreement.of(people).workers.tolist()

    def test_bars_count_workers(self, people):
        figure = reliability_bars(people)
        assert sum(bar.get_height() for bar in figure.axes[0].patches) == 10
        assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
            *("usual", "random", "adversarial"),
        ]

    def test_confusion_matrices(self, people):
        figure = confusion_matrices(people, ["c3", "$a_b$"], ["school 1", ""])
        first, second, *others = figure.axes
        assert first.get_title() == "c3\nschool 1"
        assert second.get_title() == "$a_b$"
        np.testing.assert_allclose(first.images[0].get_array()[..., 3], 0.3)
        np.testing.assert_allclose(second.images[0].get_array()[..., 3], 0.9)
        assert {text.get_text() for text in first.texts} == {"30"}
        assert not any(axes.axison for axes in others)


class TestPage:
    @pytest.fixture
    def page_of(self, people):
        return lambda **context: render(Page("answers", "crowd", *crowd_learner(people, Context(**context))))

    def test_it_is_that_of_all_crowd_learners(self):
        assert PAGES["CrowdLearner"] is crowd_learner

    def test_sentences(self, people):
        said, _ = crowd_learner(people, Context())
        assert said == (
            "4 clusters of 21 items, as 10 workers sorted them. "
            "1 worker answers at random and 1 worker answers adversarially."
        )
        people.sees = dict.fromkeys(people.sees, "colour")
        assert crowd_learner(people, Context())[0].endswith("No worker seems to answer at random.")

    def test_clusters_by_names(self, people):
        table = _section(people, "Clusters").blocks[0]
        clusters, sizes, surest, least = (column.cells for column in table.columns)
        assert (list(clusters), list(sizes)) == (["0", "1", "2", "3"], ["8", "6", "4", "3"])
        assert surest[0] == "item 0, item 1, item 2, item 3, item 4, item 5"
        assert least[0] == "item 7 (75%, 2.0% in 1), item 6 (78%, 2.0% in 1)"
        assert (surest[3], least[3]) == ("item 18, item 19, item 20", "")  # no item is in both lists

    def test_clusters_by_pictures(self, people, tmp_path):
        Image.new("RGB", (40, 20), "red").save(tmp_path / "0.png")
        blocks = _section(people, "Clusters", documents={"item 0": str(tmp_path / "0.png")}).blocks
        assert [block.heading for block in blocks] == [
            f"Cluster {k}, {n} items: surest" for k, n in enumerate([8, 6, 4, 3])
        ]
        assert [card.caption[0] for card in blocks[0].cards] == [f"item {i}" for i in range(8)]
        assert blocks[0].cards[0].picture.startswith("data:image/jpeg")
        assert blocks[0].cards[1].picture.startswith("data:image/svg")  # no such file

    def test_workers_who_answer_otherwise_come_first(self, people):
        names, *_, lumps = (column.cells for column in _section(people, "All workers").blocks[0].columns)
        assert list(names) == ["r<1>", "$a_b$", "c0", "c1", "c2", "c3", "c4", "s0", "s1", "s2"]
        assert lumps[0] == "0+1, 2+3"

    def test_confusion_matrices_are_of_telling_workers(self, people):
        svg = _section(people, "What workers tell apart").blocks[0].svg
        for words in ("school 1, 5 workers", "school 2, 3 workers", "random", "adversarial"):
            assert words in svg

    def test_a_learner_without_map_and_summary(self, people):
        sections = crowd_learner(
            SimpleNamespace(
                **{name: value for name, value in vars(people).items() if name != "embedding_"},
                predict_pair=people.predict_pair,
                get_params=people.get_params,
                **{name: getattr(people, name) for name in ("n_seen_", "n_retained_", "nbytes_")},
            ),
            Context(),
        )[1]
        titles = [section.title for section in sections]
        assert titles == ["", "Clusters", "Workers", "What workers tell apart", "Memory and time"]

    def test_names_are_escaped(self, people, page_of):
        people.items_ = np.array([f"<script>{i}</script>" for i in range(21)])
        html = page_of(documents=None)
        assert "<script>" not in html
        assert "&lt;script&gt;0" in html
        assert "r<1>" not in html
        html = page_of(documents={"<script>1</script>": "no such file"})
        assert "<script>" not in html

    def test_a_report_of_a_fitted_learner(self, tmp_path):
        from modicum.crowd.factorization import CrowdFactorization

        rows = [(f"w{j}", t, i, i // 4 if j % 2 else i % 4) for j in range(4) for t in (0,) for i in range(16)]
        learner = CrowdFactorization(4, random_state=0).fit_groupings(rows)
        write_report(tmp_path / "page.html", learner, source="answers.csv", learned_from="4 answers")
        said = (tmp_path / "page.html").read_text()
        assert "of 16 items, as 4 workers sorted them." in said
        assert "4 answers." in said


def _section(learner, title, **context):
    return next(section for section in crowd_learner(learner, Context(**context))[1] if section.title == title)
