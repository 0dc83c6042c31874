"""Figures and pages of coresets show their points, weights and buckets."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Ellipse

from modicum import KMeansCoreset, MixtureCoreset, StreamGaussianMixture, StreamKMeans, stream
from modicum.plot import coreset_map, point_weights
from modicum.plot.projections import Plane


@pytest.fixture(scope="module")
def coreset(blobs):
    return KMeansCoreset(100, 3, random_state=0).fit(stream(blobs, chunk_size=100))


class TestFigures:
    def test_areas_are_weights(self, coreset):
        (points,) = coreset_map(coreset).axes[0].collections
        weights = np.sort(coreset.point_weights_)[::-1]
        within = (weights > 0.2 * weights.mean()) & (weights < 8 * weights.mean())
        ratio = points.get_sizes()[within] / weights[within]
        np.testing.assert_allclose(ratio, ratio[0])
        assert (np.diff(points.get_sizes()) <= 0).all()  # light ones in front

    def test_points_have_the_colour_of_their_center(self, coreset):
        centers = 20 * np.eye(5)[:3]
        points, dots = coreset_map(coreset, centers).axes[0].collections
        found = [to_hex(colour) for colour in points.get_facecolors()]
        order = np.argsort(-coreset.point_weights_, kind="stable")
        nearest = coreset.points_[order][:, :3].argmax(axis=1)
        assert found == [to_hex(dots.get_facecolors()[i]) for i in nearest]

    def test_main_axes_are_those_of_all_rows(self, coreset, blobs):
        """With weights: most points lie where few rows do."""
        plane = Plane.of(coreset, *coreset.as_sample())
        _, _, directions = np.linalg.svd(blobs - blobs.mean(axis=0), full_matrices=False)
        overlap = np.linalg.svd(plane.directions @ directions[:2].T, compute_uv=False)
        assert overlap.min() > 0.99
        np.testing.assert_allclose(plane.origin, blobs.mean(axis=0))

    @pytest.mark.parametrize(
        ("covariance", "axes"),
        [(np.diag([9.0, 1.0, 4.0]), (12, 8)), (np.array([9.0, 1.0, 4.0]), (12, 8)), (np.float64(4.0), (8, 8))],
    )
    def test_ellipses_are_projected_covariances(self, covariance, axes):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 3)) * [30, 1, 10]
        learner = MixtureCoreset(500, 2, random_state=0).fit(X)
        (ellipse,) = (
            shape
            for shape in coreset_map(learner, np.zeros((1, 3)), [covariance]).axes[0].patches
            if isinstance(shape, Ellipse)
        )
        np.testing.assert_allclose((ellipse.width, ellipse.height), axes, rtol=0.02)

    def test_every_point_is_in_the_histogram(self, coreset):
        bars = point_weights(coreset).axes[0].patches
        assert sum(bar.get_height() for bar in bars) == len(coreset.point_weights_)

    @pytest.mark.parametrize("X", [np.ones((40, 4)), np.eye(1, 3), np.arange(60.0)[:, None], np.eye(2)])
    def test_flat_data(self, X):
        learner = StreamKMeans(2, n_points=20).fit(X)
        figure = coreset_map(learner, learner.cluster_centers_)
        assert all(np.isfinite(shown.get_offsets()).all() for shown in figure.axes[0].collections)
        point_weights(learner)


class TestPages:
    def test_points_for_kmeans(self, text_of, coreset):
        text = text_of(coreset, seconds=2.0, source="blobs.csv")
        assert f"{len(coreset.points_)} weighted points represent 1,000 rows" in text
        for bucket in coreset._tree.buckets:
            assert f"{bucket.weights.sum():,.0f}" in text
        distance, explained = re.search(r"to the nearest center: ([\d.]+); (\d+)% of the variance is", text).groups()
        assert float(distance) == pytest.approx(5, rel=0.1)  # three blobs of unit variance in five columns
        assert 90 < int(explained) < 100

    def test_clusters(self, text_of, blobs):
        learner = StreamKMeans(3, n_points=200, random_state=0).fit(stream(blobs, chunk_size=100))
        text = text_of(learner)
        assert "3 clusters of 1,000 rows." in text
        for size in ("600", "300", "100"):
            assert f" {size} " in text

    @pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
    def test_components(self, text_of, blobs, covariance_type):
        learner = StreamGaussianMixture(3, covariance_type=covariance_type, n_points=500, random_state=0).fit(blobs)
        text = text_of(learner)
        assert "3 components of 1,000 rows." in text
        likelihood = float(re.search(r"log-likelihood per row (-[\d.]+)", text)[1])
        assert likelihood == pytest.approx(learner.score(blobs), abs=0.3)
        for size in learner.weights_ * learner.as_sample()[1].sum():
            assert f" {size:.0f} " in text

    def test_pictures(self, text_of, tmp_path):
        from sklearn.datasets import load_digits

        learner = StreamKMeans(7, n_points=300, random_state=0).fit(load_digits().data)
        text_of(learner, image=(8, 8))
        assert (tmp_path / "r.html").read_text().count("<img") == 7

    def test_all_rows_still_there(self, text_of, blobs):
        text = text_of(MixtureCoreset(100, 3, random_state=0).fit(blobs[:50]))
        assert "All 50 rows are held; nothing has been reduced yet." in text
        assert "50 50 0 " in text  # rows represented, points, reductions

    def test_rows_that_are_all_the_same(self, text_of):
        assert "all rows are identical" in text_of(StreamKMeans(2, n_points=10).fit(np.ones((50, 3))))

    def test_a_long_stream_is_reduced_again_and_again(self, text_of, blobs):
        learner = KMeansCoreset(20, 3, random_state=0)
        for _ in range(20):
            learner.partial_fit(blobs)
        reductions = re.findall(r"[\d,]+ \d+ (\d+) ", text_of(learner).partition("Buckets held")[2])
        assert max(map(int, reductions)) > 1

    def test_the_learner_stays_as_it_was(self, text_of, coreset):
        before = coreset.to_bytes()
        text_of(coreset)
        assert coreset.to_bytes() == before
