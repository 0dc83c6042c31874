"""Reports show the learner's facts, load nothing, and escape what they are given."""

import re
from datetime import datetime
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances

from messy import orders
from modicum import (
    ExemplarClustering,
    OnlineGreedy,
    OnlineKMeans,
    PrototypeRegressor,
    Reservoir,
    StreamGreedy,
    StreamSVC,
    ThreeSieves,
    __version__,
    stream,
)
from modicum.contract.history import History
from modicum.contract.learner import Learner
from modicum.contract.picks import Picks
from modicum.kernels import RBF
from modicum.pipeline import TableEncoder, final_learner, make_pipeline
from modicum.plot import write_report
from modicum.plot.gallery import MOST_ROWS
from modicum.plot.pages import PAGES
from modicum.plot.pages.exemplars import gain_over_random
from modicum.plot.similarities import order_by_similarity
from modicum.plot.style import as_svg, name_axes, new_figure
from modicum.regress.krls import KRLS
from modicum.regress.sparse_gp import SparseGPRegressor
from modicum.select.objectives.error import PredictionError

LIMIT = 1_500_000


class Outline(HTMLParser):
    """Tags with their attributes, and the text that a reader sees."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "path", "use", "image"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def report(tmp_path):
    def write(learner, **given):
        path = tmp_path / "report.html"
        write_report(path, learner, **given)
        html = path.read_text("utf-8")
        assert len(html.encode()) < LIMIT
        page = Outline(html)
        _check_self_contained(html, page)
        return page

    return write


def _alts(page):
    return " ".join(drawing["aria-label"] for drawing in page.all("svg"))


def _check_self_contained(html, page):
    assert "http:" not in html
    assert "https:" not in html
    assert "@import" not in html
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe")
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_facts_of_exemplars(report, dense):
    page = report(dense, source="blobs.csv", seconds=2.0, command="modicum exemplars blobs.csv --k 3")
    assert "3 exemplars represent 1,000 rows." in page.text
    assert f"Mean squared distance to the nearest exemplar: {dense.loss_:.3g}" in page.text
    assert f"{gain_over_random(dense):.0%} less than with as many random rows" in page.text
    for words in ("blobs.csv", "modicum exemplars blobs.csv --k 3", "time 2 s", "rows per second 500", "budget 64 MiB"):
        assert words in page.text
    assert f"swaps {dense.n_swaps_}" in page.text
    assert f"modicum {__version__}" in page.text
    assert "random_state 0" in page.text
    for row in dense.exemplar_ids_:
        assert f"{row:,}" in page.text


def test_loss_on_a_sample_is_reported_as_such(report, digits):
    """Exemplars fit validation rows better than others: loss and comparison are those of held-out rows."""
    text = report(digits).text
    assert f"nearest exemplar: {digits.loss_:.3g}" in text
    assert "less than with as many random rows; estimated from 100 rows on which the exemplars were not chosen." in text
    assert "held-out rows 100" in text
    random = digits.validation_rows_[np.random.default_rng(0).permutation(400)[: len(digits.exemplars_)]]
    at_random, chosen = (
        (pairwise_distances(rows, digits.held_out_rows_).min(axis=0) ** 2).mean()
        for rows in (random, digits.exemplars_)
    )
    assert gain_over_random(digits) == pytest.approx(1 - chosen / at_random, rel=1e-4)


def test_frame_is_semantic(report, dense):
    page = report(dense)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    assert len(page.all("h2")) == 4
    drawings = page.all("svg")
    assert len(drawings) == len(page.all("figcaption")) >= 2
    assert all(drawing["aria-label"] for drawing in drawings)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_largest_cluster_comes_first_with_its_picks(report, dense):
    names = [f"blob {int(size)}" for size in dense.cluster_sizes_]
    text = report(dense, picks={"blob": names, "price": [1.5, 2.25, 3.0]}).text
    assert text.index("blob 600") < text.index("blob 300") < text.index("blob 100")
    assert "1.500" in text
    assert "2.250" in text


def test_wide_tables_say_what_they_leave_out(report, digits):
    page = report(digits)
    assert "40 of 64 columns are not shown." in page.text
    assert len(page.all("th")) == 24 + 2
    assert "Cluster sizes are estimated from 400 validation rows." in page.text


def test_sparse_rows_are_shown_by_their_largest_entries(report, sparse_rows):
    row = sparse_rows.exemplars_[0]
    largest = int(row.indices[row.data.argmax()])
    assert f"x{largest}: {row.data.max():.3g}" in report(sparse_rows).text


def test_objects_are_shown_as_text(report, words):
    page = report(words)
    assert all(word in page.text for word in words.exemplars_)
    assert "Mean dissimilarity (unlike) to the nearest exemplar" in page.text


def test_pictures(report, digits):
    labels = load_digits().target[digits.exemplar_ids_]
    page = report(digits, image=(8, 8), picks={"digit": labels})
    pictures = page.all("img")
    assert len(pictures) == 12
    assert all(picture["src"].startswith("data:image/png;base64,") for picture in pictures)
    first = digits.cluster_sizes_.argmax()
    assert f"row {digits.exemplar_ids_[first]:,}, digit {labels[first]}" in pictures[0]["alt"]


def test_many_large_pictures_stay_small(report):
    X = np.random.default_rng(0).random((120, 48 * 48 * 3), np.float32)  # noise can't be compressed
    learner = ExemplarClustering(100, random_state=0).fit(X)
    page = report(learner, image=(48, 48, 3))
    assert 10 < len(page.all("img")) < 100
    assert f"The first {len(page.all('img'))} of 100 are shown." in page.text


def test_text_is_escaped(report, dense):
    nasty = "<script>alert('x')</script>"
    page = report(dense, source=nasty, command=nasty, picks={"note": [nasty] * 3, nasty: ["a", "b", "c"]}, text="note")
    assert page.text.count("alert('x')") >= 5  # title twice, command, three cards: shown, not run


def test_escaped_in_tables_and_captions_too(report, digits):
    nasty = ['"><script>alert(1)</script>'] * 12
    report(digits, picks={"note": nasty})
    report(digits, picks={"note": nasty}, image=(8, 8))


def test_texts_are_cards_and_long_ones_are_cut(report, dense):
    page = report(dense, picks={"note": ["short", None, "long " * 500], "year": [2021, 2022, 2023]}, text="note")
    assert "year 2021" in page.text
    assert 300 < page.text.count("long") * 5 <= 325
    assert "None" not in page.text.split("Memory and time")[0]


def test_picks_and_text_must_fit(tmp_path, dense):
    with pytest.raises(ValueError, match=r"must have 3 rows.*'a' has 2"):
        write_report(tmp_path / "r.html", dense, picks={"a": [1, 2]})
    with pytest.raises(ValueError, match="got 'b', there are: a"):
        write_report(tmp_path / "r.html", dense, picks={"a": [1, 2, 3]}, text="b")
    assert not list(tmp_path.iterdir())


def test_picks_of_arrow_and_pandas(report, dense):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    picks = {
        "town": pa.chunked_array([["Bern", "Rom"], ["Ulm"]]),
        "height": pd.Series([1.25, 2.5, 4.0], index=[7, 8, 9]),
    }
    text = report(dense, picks=picks).text
    assert "Bern" in text
    assert "1.250" in text


def test_unfitted_learners_have_no_report(tmp_path):
    with pytest.raises(NotFittedError):
        write_report(tmp_path / "r.html", ExemplarClustering())


def test_given_exemplars_have_no_row(report, blobs):
    learner = ExemplarClustering(3, locked=blobs[:1], random_state=0).fit(blobs)
    assert " given " in report(learner).text


def test_racing_and_single_exemplar(report, blobs):
    learner = ExemplarClustering(1, confidence=0.9, random_state=0).fit(blobs)
    text = report(learner).text
    assert "1 exemplar represents 1,000 rows." in text
    assert "saved by racing" in text


def test_online_kmeans(report):
    X = load_digits().data
    learner = OnlineKMeans(7).fit(X)
    page = report(learner, image=(8, 8))
    assert "7 clusters of 1,797 rows; the largest holds" in page.text
    assert len(page.all("img")) == 7


def test_reservoir(report, blobs):
    learner = Reservoir(300, random_state=0).fit(blobs)
    text = report(learner).text
    assert "A uniform sample of 300 rows out of 1,000 rows." in text
    assert f"The first {MOST_ROWS} of 300 are shown." in text
    assert "All 1,000 rows seen so far are kept." in report(Reservoir(2000).fit(blobs)).text
    weighted = Reservoir(50, random_state=0).fit(blobs, sample_weight=np.linspace(1, 99, 1000))
    assert "A weighted sample of 50 rows" in report(weighted).text


def test_prototypes(report, prototypes):
    page = report(prototypes, picks={"name": [f"number {i}" for i in range(30)]})
    assert f"30 prototypes chosen from 1,000 rows. Log-determinant: {prototypes.value_:.3g}." in page.text
    assert f"swaps {prototypes.n_swaps_}" in page.text
    assert "number 29" in page.text
    assert len(page.all("svg")) == 4
    assert str(prototypes.guarantee()) in page.text
    order = order_by_similarity(prototypes)
    first, second = (page.text.index(f" number {i} ") for i in order[:2])
    assert first < second


def test_blocks_show_estimate_and_true_value(report, blocks):
    text = report(blocks, image=(1, 5)).text
    assert "coloured by block" in text
    assert "true value" in text


def test_sieves_add_rows_and_do_not_swap(report, blobs):
    text = report(ThreeSieves(10, patience=50).fit(stream(blobs, chunk_size=100))).text
    assert "rows added 10" in text


def test_objects_that_were_chosen(report):
    def alike(a, b):
        return len(set(a) & set(b)) / np.sqrt(len(set(a)) * len(set(b)))

    words = ["stream", "master", "kernel", "colonel", "budget", "gadget"]
    selector = OnlineGreedy(3, kernel=alike).fit(words * 3)
    page = report(selector)
    assert all(word in page.text for word in selector.prototypes_)
    assert "alike" in page.text


def test_few_rows_are_all_prototypes(report, blobs):
    assert "7 prototypes chosen from 7 rows." in report(OnlineGreedy(20).fit(blobs[:7])).text


@pytest.mark.parametrize("fit_on", ["sample", "prototypes"])
def test_regression_on_prototypes(report, wave, fit_on):
    learner = PrototypeRegressor(OnlineGreedy(40, min_gain=1e-4), fit_on=fit_on, random_state=0).fit(*wave)
    page = report(learner)
    assert "Kernel regression with 40 prototypes, learned from 1,500 rows." in page.text
    kept = 1500 if fit_on == "sample" else 40
    assert f"on {kept:,} kept rows" in page.text
    assert len(page.all("svg")) == 5


def test_regression_on_prototypes_that_predict_best(report, wave):
    page = report(PrototypeRegressor(n_prototypes=30, random_state=0).fit(*wave))
    assert "Kernel regression with 30 prototypes, learned from 1,500 rows." in page.text
    assert "on 1,500 kept rows" in page.text


def test_rows_chosen_by_their_error_report_it(report, wave):
    learner = StreamGreedy(20, objective=PredictionError(RBF(1.0), 0.01), n_validation=200, random_state=0).fit(*wave)
    text = report(learner).text
    assert f"Squared error: {-learner.value_:.3g}" in text
    first, last = re.search(r"squared error goes from ([\d.]+) to ([\d.]+)\.", _alts(report(learner))).groups()
    assert float(first) > float(last)


def test_gaussian_process(report, wave):
    learner = SparseGPRegressor(20, n_validation=300, kernel=RBF(1.0), noise=0.01, random_state=0)
    X, y = wave
    page = report(learner.fit(stream(X, target=y, chunk_size=300)))
    assert "Gaussian process with 20 active rows, learned from 1,500 rows." in page.text
    assert "on 300 kept rows" in page.text
    covered = re.search(r"(\d+)% of targets lie within the predicted 95% intervals", page.text)
    assert 85 <= int(covered[1]) <= 100
    assert f"standard deviation of the noise {np.sqrt(learner.noise_):.3g}" in page.text


def test_gaussian_process_of_few_rows(report, wave):
    X, y = wave
    text = report(SparseGPRegressor(20, kernel=RBF(1.0), noise=0.01).fit(X[:10], y[:10])).text
    assert "Gaussian process with 10 active rows" in text


@pytest.mark.parametrize("n_prototypes", [1000, 20])
def test_recursive_least_squares(report, wave, n_prototypes):
    learner = KRLS(n_prototypes, kernel=RBF(1.0)).fit(*wave)
    assert f"least squares with {len(learner.picks())} prototypes, learned from" in report(learner).text


def test_ten_classes(report, classified):
    page = report(classified, image=(8, 8))
    assert "Classifier of 10 classes, learned from 1,797 rows." in page.text
    assert f"Prequential accuracy: {classified.accuracy_:.1%}" in page.text
    assert "latest accuracy" in page.text
    assert len(page.all("svg")) == 3
    assert "Blue: evidence for the class; red: against it." in page.text
    for recall in np.diag(classified.confusion_) / classified.confusion_.sum(axis=1):
        assert f"{recall:.1%}" in page.text
    assert "Guarantee" not in page.text


def test_weights_of_many_classes_are_listed(report, classified):
    text = report(classified).text
    for weights in classified.coef_:
        best, worst = weights.argmax(), weights.argmin()
        assert f"x{best}: {weights[best]:.2g}" in text
        assert f"x{worst}: {weights[worst]:.2g}" in text


def test_two_classes(report, spam):
    page = report(spam)
    assert "Blue: evidence for the class spam; red: against it." in page.text
    assert len(page.all("svg")) == 3
    words = {True: "yes", False: "no"}
    any_skips = any(one["skips_certain"] for one in spam.candidates_)
    for one in spam.candidates_:
        steps = " ".join(words[one[name]] for name in ("center", "scale", "normalize"))
        learned = ("uncertain " if one["skips_certain"] else "margin violations ") * any_skips
        assert f"{one['C']:.2f} {learned}{steps} {one['mistakes']:.0f}" in page.text
    assert "machine ellipsoid" in page.text


def test_balls_have_a_guarantee(report, blobs):
    two = StreamSVC(1.0, ellipsoid=None, random_state=0).fit(blobs, blobs[:, 0] > 10)
    assert " ".join(str(two.guarantee()).split()) in report(two).text
    three = StreamSVC(1.0, ellipsoid=None, n_balls=2, random_state=0).fit(blobs, blobs[:, :3].argmax(axis=1))
    text = report(three).text
    assert "2 against the rest" in text
    assert "machine 2 balls" in text


def test_kernels_have_no_weights(report, blobs):
    learner = StreamSVC(1.0, kernel=RBF(3.0), random_state=0).fit(blobs, blobs[:, 0] > 10)
    text = report(learner).text
    assert "kernel RBF(3.0)" in text
    assert "Weights" not in text


def test_a_single_class(report, blobs):
    page = report(StreamSVC(random_state=0).fit(blobs, np.zeros(1000, int)))
    assert "Classifier of 1 class, learned from 1,000 rows." in page.text
    assert len(page.all("svg")) == 1
    assert "Weights" not in page.text


def test_sparse_rows_in_two_classes(report):
    X = sparse.random(400, 300, density=0.03, format="csr", random_state=0)
    y = np.asarray(X[:, :150].sum(axis=1)).ravel() > np.asarray(X[:, 150:].sum(axis=1)).ravel()
    assert "Blue: evidence for" in report(StreamSVC(random_state=0).fit(X, y)).text


def test_classes_are_escaped(report, blobs):
    nasty = "<script>alert('x')</script>"
    learner = StreamSVC(random_state=0).fit(blobs, np.where(blobs[:, 0] > 10, nasty, "plain"))
    assert "alert('x')" in report(learner).text


class _Tally(Learner):
    """A learner without a specific page."""

    def __init__(self, step=1):
        self.step = step

    def _learn(self, X, y, weight, row_ids):
        self._history = History("n_seen", "steps")
        for row in range(len(X)):
            self._history.record(row, row * self.step)

    def _n_retained(self):
        return 0

    @property
    def history_(self):
        return self._history.columns_as_arrays()


def test_any_other_learner_has_a_page(report):
    page = report(_Tally(step=3).fit(np.zeros((40, 2))))
    assert "_Tally learned 40 rows" in page.text
    assert "step 3" in page.text
    assert [drawing["aria-label"] for drawing in page.all("svg")] == ["Curve: steps over the stream."]


class _FirstRows(_Tally):
    """A learner that chooses rows, without a specific page."""

    def _learn(self, X, y, weight, row_ids):
        super()._learn(X, y, weight, row_ids)
        self._rows, self._targets = X[: self.step], y[: self.step]

    def picks(self):
        return Picks("first row", self._rows, np.arange(self.step), targets=self._targets)


def test_any_other_learner_shows_its_picks(report):
    page = report(_FirstRows(step=3).fit(np.full((40, 2), 0.25), np.linspace(5, 6, 40)))
    assert "First rows row target x0 x1 0 5.000 0.25" in page.text


def test_a_family_adds_its_page_to_the_table(report, monkeypatch):
    monkeypatch.setitem(PAGES, "_Tally", lambda learner, context: ("A page of its own.", []))
    assert "A page of its own." in report(_Tally().fit(np.zeros((4, 2)))).text


def test_gain_over_random_rows(dense, blobs):
    assert 0.3 < gain_over_random(dense) < 1
    assert gain_over_random(ExemplarClustering(10, random_state=0).fit(blobs[:10])) == 0  # all rows on both sides


def test_missing_exemplars_are_reported(report):
    learner = ExemplarClustering(5, random_state=0).fit(np.tile([[0.0, 1.0], [5.0, 2.0]], (20, 1)))
    assert "exemplars 2 of 5" in report(learner).text


def test_gain_leaves_the_learner_as_it_was(report, dense):
    before = dense.to_bytes()
    report(dense)
    assert dense.to_bytes() == before


def test_styles_for_dark_print_and_phone(tmp_path, dense):
    write_report(tmp_path / "r.html", dense)
    html = (tmp_path / "r.html").read_text()
    for rule in ("prefers-color-scheme: dark", "@media print", "width=device-width"):
        assert rule in html
    assert not re.search(r"var\(--(?!ink|soft|line|accent|paper)", html)


# ---- what pages have in common -------------------------------------------------------------------------


def test_a_vacuous_guarantee_is_left_out(report, dense, prototypes):
    assert not dense.guarantee().says_something
    assert "Guarantee" not in report(dense).text
    assert prototypes.guarantee().says_something == ("Guarantee" in report(prototypes).text)


def test_preparation_is_shown_near_the_top(report, dense):
    rows = [("age", "number", "scaled"), ("<b>town</b>", "category", "3 values"), ("id", "ignored", "all differ")]
    text = report(dense, preparation=rows, learned_from="Learned from 2 of 3 columns; ignored: id.").text
    assert "Learned from 2 of 3 columns; ignored: id. column kind what was done age number scaled <b>town</b>" in text
    assert text.index("rows seen") < text.index("Preparation") < text.index("Exemplars")
    assert "Learned from" not in report(dense).text
    assert "Learned from" in report(dense, learned_from="Learned from all columns.").text


def test_the_page_of_a_pipeline_is_that_of_its_learner(report):
    table = orders(600)
    model = make_pipeline(TableEncoder(), ExemplarClustering(3, random_state=0)).fit(table)
    assert final_learner(model) is model.learner_
    page = report(model)
    assert "3 exemplars represent 600 rows." in page.text
    assert model.summary_.replace("learned", "Learned", 1) in page.text
    for name in model.picks().rows["order_id"].to_pylist():
        assert name in page.text
    for row in model.picks().ids:
        assert f"{row:,}" in page.text


def test_columns_that_matter_come_first(report):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(600, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 2]
    names = ["fast", "<i>unused</i>", "slow"]
    learner = SparseGPRegressor(30, n_validation=300, random_state=0)
    page = report(learner.fit(pd.DataFrame(X * [1e3, 1.0, 1e-3], columns=names), y))
    matter = page.text.split("Which columns matter")[1].split("Active rows")[0]
    assert matter.index("fast") < matter.index("slow") < matter.index("<i>unused</i>")
    assert "kernel" in page.text
    assert "RBF (one width per column)" in page.text.replace("RBF(", "RBF (")
    given = SparseGPRegressor(10, kernel=RBF(1.0), noise=0.01).fit(X, y)
    assert "Which columns matter" not in report(given).text


def test_errors_of_recursive_least_squares_over_the_stream(report, wave):
    X, y = wave
    learner = KRLS(20, kernel=RBF(1.0)).fit(stream(X, target=y, chunk_size=150))
    page = report(learner)
    assert f"prequential RMSE {np.sqrt(learner.mean_squared_error_):.3g}" in page.text
    assert "Curve: Prequential error of the latest rows" in _alts(page)


HOSTILE = [
    "x" * 200,
    "a very long name with spaces " * 8,
    "<script>alert(1)</script><b>",
    "\u202e\u0631\u0648\u0627\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea",  # right to left
    'id="x" href="#y" #1d2730 url(#z)',
    "$\\frac{1$ & \x00\n\ttab",
    "漢字 🎈",
]


@pytest.mark.parametrize("columns", [2, 5])
def test_hostile_names_of_columns_and_labels(report, blobs, columns):
    pd = pytest.importorskip("pandas")
    for shift in range(0, len(HOSTILE), columns):
        names = [f"{HOSTILE[(shift + i) % len(HOSTILE)]}{i}" for i in range(columns)]
        frame = pd.DataFrame(blobs[:, :columns], columns=names)
        page = report(ExemplarClustering(3, random_state=0).fit(frame), source=names[0], preparation=[(names[0],) * 3])
        assert "alert(1)" not in "".join(str(tag) for tag in page.tags if tag[0] != "th")
        report(StreamSVC(random_state=0).fit(frame, np.array(HOSTILE, object)[np.arange(1000) % 3 + shift % 3]))


def test_texts_of_figures_are_not_taken_for_colours_or_ids():
    figure, axes = new_figure()
    name_axes(axes, 'id="x" #1d2730 url(#z) <', "$a")
    svg = as_svg(figure, "")
    assert 'id="x" #1d2730 url(#z) &lt;' in svg
    assert "$a" in svg


def test_numbers_do_not_break(report, dense):
    """Numbers have a class of their own, and the style keeps what has it on one line."""
    page = report(dense, seconds=123456.0)
    numbers = [attributes.get("class") for tag, attributes in page.tags if tag == "dd"]
    assert numbers.count("number") >= 6
    css = (files("modicum.plot") / "templates" / "report.css").read_text()
    (rule,) = re.findall(r"^\.number \{([^}]*)\}", css, flags=re.MULTILINE)
    assert "white-space: nowrap" in rule
    assert "overflow-wrap: normal" in rule


def test_a_pipeline_shows_positions_budgets_and_what_it_learned_from_first(tmp_path):
    rows = [
        {"code": f"k{i}", "size": float(i % 7), "when": datetime(2024, 1, 1 + i % 9, 12, 30, 5, 7)} for i in range(200)
    ]
    learner = make_pipeline(TableEncoder(), ExemplarClustering(3, budget="2 MiB", random_state=0)).fit(rows)
    write_report(tmp_path / "page.html", learner)
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", (tmp_path / "page.html").read_text()))
    assert "cluster size row size when code" in text
    assert "2024-01-0" in text
    assert "12:30:05.0" not in text
    first = int(np.argmax(learner.picks().weights))
    assert f" {learner.picks().ids[first]} {learner.picks().rows['size'][first].as_py():.0f} 2024-" in text
    assert "budget 2 MiB" in text
