"""Figures and pages of mixtures show their components and memory."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Ellipse
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits

from modicum import MemoryBoundedMixture
from modicum.plot import component_images, component_map, components_over_stream


@pytest.fixture(scope="module")
def mixture(blobs):
    return MemoryBoundedMixture(budget=200).fit(blobs)


@pytest.fixture(scope="module")
def counts():
    """Documents on two topics with six words each."""
    rng = np.random.default_rng(0)
    topics = np.repeat([[4.0, 0.2], [0.2, 4.0]], 6, axis=1)
    return MemoryBoundedMixture("multinomial", budget=100).fit(rng.poisson(topics[np.arange(400) % 2]))


class TestFigures:
    def test_all_that_is_kept_is_drawn_in_the_colour_of_its_component(self, mixture):
        points, dots = component_map(mixture).axes[0].collections
        kept = mixture.clumps_
        order = np.argsort(-kept["counts"], kind="stable")
        assert len(points.get_offsets()) == len(kept["counts"])
        found = [to_hex(colour) for colour in points.get_facecolors()]
        assert found == [to_hex(dots.get_facecolors()[k]) for k in kept["labels"][order]]

    def test_an_ellipse_and_a_name_for_each_component(self, mixture):
        axes = component_map(mixture).axes[0]
        assert sum(isinstance(shape, Ellipse) for shape in axes.patches) == mixture.n_components_
        assert sorted(text.get_text() for text in axes.texts) == sorted(mixture.component_names_)

    def test_counts_are_drawn_as_frequencies(self, counts):
        axes = component_map(counts).axes[0]
        points, dots = axes.collections
        assert not axes.patches
        assert np.abs(dots.get_offsets()).max() < np.abs(points.get_offsets()).max() < 1

    def test_sparse_counts_are_drawn_as_dense_ones(self, monkeypatch):
        rows = np.random.default_rng(0).poisson(1.0, (150, 9)).astype(float)
        dense, thin = (MemoryBoundedMixture("multinomial", budget=60).fit(X) for X in (rows, csr_matrix(rows)))
        at, at_thin = (component_map(one).axes[0].collections[0].get_offsets() for one in (dense, thin))
        assert np.allclose(at, at_thin, atol=1e-6)
        monkeypatch.setattr("modicum.plot.mixtures.MOST_ENTRIES", 9 * 20)
        assert len(component_map(thin).axes[0].collections[0].get_offsets()) == 20

    def test_growth(self, mixture):
        components, free_energy = (axes.lines[0] for axes in components_over_stream(mixture).axes)
        np.testing.assert_array_equal(components.get_ydata(), mixture.history_["components"])
        np.testing.assert_array_equal(components.get_xdata(), mixture.history_["n_seen"])
        np.testing.assert_allclose(free_energy.get_ydata()[-1], mixture.free_energy_ / 1000)

    def test_largest_component_is_the_first_picture(self):
        mixture = MemoryBoundedMixture("diagonal", budget=300).fit(np.repeat(np.eye(4), [5, 200, 80, 15], axis=0))
        picture = component_images(mixture, (2, 2)).axes[0].images[0].get_array()
        assert picture[:2, :2, 0].argmax() == 1

    @pytest.mark.parametrize("X", [np.ones((40, 4)), np.eye(1, 3), np.arange(60.0)[:, None], np.eye(2)])
    def test_flat_data(self, text_of, X):
        mixture = MemoryBoundedMixture("diagonal", budget=40).fit(X)
        shown = component_map(mixture).axes[0].collections
        assert all(np.isfinite(dots.get_offsets()).all() for dots in shown)
        assert " found in " in text_of(mixture)


class TestPages:
    def test_facts(self, text_of, mixture):
        text = text_of(mixture, seconds=2.0)
        is_clump = mixture.clumps_["is_clump"]
        assert f"{mixture.n_components_} components found in 1,000 rows." in text
        assert f"represented by {is_clump.sum()} clumps and {(~is_clump).sum()} single rows." in text
        told = float(re.search(r"free energy per row (-[\d.]+)", text)[1])
        assert told == pytest.approx(mixture.free_energy_ / 1000, rel=0.01)

    def test_what_is_held_adds_up(self, text_of, mixture):
        rows = re.findall(r"(?:clumps|single rows|rows not yet compressed) ([\d,]+) ([\d,]+) ", text_of(mixture))
        numbers, stand_for = np.array([[int(cell.replace(",", "")) for cell in row] for row in rows]).T
        assert numbers.sum() == mixture.n_retained_
        assert stand_for.sum() == pytest.approx(1000, rel=0.01)

    def test_names_and_outliers(self, text_of, blobs):
        odd = np.full((1, 5), 200.0)
        mixture = MemoryBoundedMixture(budget=200).fit(np.concatenate([blobs, odd]))
        k = int(mixture.weights_.argmax())
        text = text_of(mixture.name_component(k, "<b>boots</b>"))
        assert "&lt;b&gt;boots&lt;/b&gt;" in text
        outliers = text.partition("Outliers")[2].partition("Clumps and rows held")[0]
        assert re.search(r"-[\d.]+( 200(\.0)?){5} ", outliers)

    def test_pictures_have_shares_and_names(self, text_of, tmp_path):
        mixture = MemoryBoundedMixture("diagonal", budget=400).fit(load_digits().data[:600])
        text = text_of(mixture, image=(8, 8)).partition("Means of the components")[2]
        html = (tmp_path / "r.html").read_text()
        assert html.count("<img") == mixture.n_components_ + 10
        assert f"{mixture.weights_.max():.0%} {mixture.component_names_[mixture.weights_.argmax()]}" in text

    def test_words_of_counts(self, text_of, counts):
        text = text_of(counts)
        assert "more frequent than elsewhere" in text
        first, second = (set(found.split(", ")) for found in re.findall(r"c\d+ (x\d+(?:, x\d+)+)", text))
        assert {frozenset(first), frozenset(second)} == {
            frozenset(f"x{i}" for i in range(6)),
            frozenset(f"x{i}" for i in range(6, 12)),
        }
        assert "Outliers" not in text

    def test_sparse_counts(self, text_of):
        rows = csr_matrix(np.random.default_rng(0).poisson(1.0, (150, 9)).astype(float))
        text = text_of(MemoryBoundedMixture("multinomial", budget="8 KiB").fit(rows))
        assert "Clumps and rows held" in text
        assert "Outliers" not in text

    def test_before_anything_is_compressed(self, text_of, blobs):
        text = text_of(MemoryBoundedMixture(budget=4000).fit(blobs[:50]))
        assert "No rows have been compressed yet." in text

    def test_the_learner_stays_as_it_was(self, text_of, mixture):
        before = mixture.to_bytes()
        text_of(mixture)
        assert mixture.to_bytes() == before
