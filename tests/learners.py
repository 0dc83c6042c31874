"""Every public learner with the parameters worth checking: the contract and the attacks run on all of them.

The first of each also passes scikit-learn's checks, and is saved in a golden file for every release.
"""

from sklearn.base import clone

import modicum
from modicum.kernels import RBF

LEARNERS = {
    "Reservoir": [modicum.Reservoir(50), modicum.Reservoir("4 KiB")],
    "ExemplarClustering": [
        modicum.ExemplarClustering(3, n_validation=200),
        modicum.ExemplarClustering(5, budget="48 KiB", phantom="mean", swaps="one"),
        modicum.ExemplarClustering(4, budget=200, confidence=0.9, dissimilarity="cosine"),
        modicum.ExemplarClustering(3, budget=None, n_validation=60, phantom="random"),
        modicum.ExemplarClustering(4, n_validation=60, min_distance=2.0),
    ],
    "BalancedSelection": [
        modicum.BalancedSelection(modicum.Reservoir(50), max_groups=1000),  # scikit-learn's targets have many values
        modicum.BalancedSelection(modicum.ExemplarClustering(7, n_validation=60)),
        modicum.BalancedSelection(modicum.OnlineGreedy(9), quotas={0: 3, 1: 4}),
    ],
    "OnlineKMeans": [modicum.OnlineKMeans(3)],
    "RIM": [
        modicum.RIM(6, regularization=3e-3, budget=150),
        modicum.RIM(n_clusters=3, regularization=1e-3, budget="32 KiB"),
        modicum.RIM(5, regularization=3e-3, features="diffusion", budget=150),
        modicum.RIM(6, budget=100, max_iter=30),
        modicum.RIM(6, regularization=3e-3, features="diffusion", budget="96 KiB", prior="power law"),
    ],
    "KernelRIM": [
        modicum.KernelRIM(6, regularization=3e-3, budget=150, n_prototypes=20),
        modicum.KernelRIM(5, regularization=3e-3, budget="96 KiB", n_prototypes=20),
        modicum.KernelRIM(5, regularization=3e-3, budget=120, n_prototypes=None, kernel="linear"),
    ],
    "KMeansCoreset": [
        modicum.KMeansCoreset(20, 3),
        modicum.KMeansCoreset(20, 3, calibrate=False, budget="32 KiB"),
        modicum.KMeansCoreset(25, 2, method="lightweight", budget=300),
    ],
    "MemoryBoundedMixture": [  # long epochs: compression is what takes time
        modicum.MemoryBoundedMixture(budget=700, epoch=600),
        modicum.MemoryBoundedMixture(budget="48 KiB", epoch=400),
        modicum.MemoryBoundedMixture("diagonal", budget="44 KiB", epoch=760),
        modicum.MemoryBoundedMixture("multinomial", budget="32 KiB"),
    ],
    "MemoryBoundedTopicModel": [
        modicum.MemoryBoundedTopicModel("multinomial", budget="24 KiB", max_topics=6),
        modicum.MemoryBoundedTopicModel(budget=700, epoch=150),
        modicum.MemoryBoundedTopicModel("diagonal", budget="64 KiB", epoch=600),
        modicum.MemoryBoundedTopicModel("multinomial", budget=90, max_topics=4),
        modicum.MemoryBoundedTopicModel("multinomial", method="clumps", budget="96 KiB", max_document_groups=20),
    ],
    "MixtureCoreset": [
        modicum.MixtureCoreset(20, 3),
        modicum.MixtureCoreset(20, 3, calibrate=True, budget=300),
        modicum.MixtureCoreset(20, 2, budget="32 KiB"),
    ],
    "StreamGaussianMixture": [
        modicum.StreamGaussianMixture(2, n_points=40),
        modicum.StreamGaussianMixture(2, covariance_type="diag", budget="96 KiB"),
        modicum.StreamGaussianMixture(2, covariance_type="spherical", budget=400),
    ],
    "StreamKMeans": [
        modicum.StreamKMeans(3, n_points=20),
        modicum.StreamKMeans(2, budget="96 KiB", method="uniform"),
        modicum.StreamKMeans(3, n_points=20, budget=300),
    ],
    "KRLS": [
        modicum.KRLS(20),
        modicum.KRLS(None, budget="32 KiB", kernel="matern32", ald_threshold=0.3),
        modicum.KRLS(None, budget=20),
    ],
    "OnlineGreedy": [
        modicum.OnlineGreedy(10),
        modicum.OnlineGreedy(None, budget="16 KiB", min_gain=0.01),
        modicum.OnlineGreedy(None, budget=9),
        modicum.OnlineGreedy(8, min_distance=1.0),
    ],
    "BlockGreedy": [
        modicum.BlockGreedy(12, block_size=3),
        modicum.BlockGreedy(None, budget="48 KiB"),
        modicum.BlockGreedy(12, block_size=3, neighbors=4),
        modicum.BlockGreedy(8, budget=10, neighbors=0),
    ],
    "PrototypeRegressor": [
        modicum.PrototypeRegressor(n_prototypes=10, n_points=80),
        modicum.PrototypeRegressor(modicum.OnlineGreedy(10), n_points=80),
        modicum.PrototypeRegressor(modicum.BlockGreedy(10), fit_on="prototypes"),
    ],
    "SieveStreaming": [
        modicum.SieveStreaming(5),
        modicum.SieveStreaming(None, budget=200),
        modicum.SieveStreaming(None, budget="64 KiB"),
    ],
    "SieveStreamingPlusPlus": [
        modicum.SieveStreamingPlusPlus(5),
        modicum.SieveStreamingPlusPlus(4, budget="96 KiB", objective="variance", epsilon=0.3),
        modicum.SieveStreamingPlusPlus(None, budget=120),
    ],
    "ThreeSieves": [
        modicum.ThreeSieves(5, patience=30),
        modicum.ThreeSieves(4, budget=60, objective="variance", patience=30),
        modicum.ThreeSieves(None, budget="24 KiB", patience=30),
    ],
    "SparseGPRegressor": [
        modicum.SparseGPRegressor(8, n_validation=60),
        modicum.SparseGPRegressor(5, budget="96 KiB", noise=0.1, objective="variance", predictor="active"),
        modicum.SparseGPRegressor(10, budget=70, kernel=1.5 * RBF(2.0), noise=0.01),
        modicum.SparseGPRegressor(8, budget="96 KiB", kernel=1.5 * RBF(2.0), noise=0.01, predictor="active"),
        modicum.SparseGPRegressor(6, n_validation=30, budget=None, kernel="rbf", noise=0.01, objective="logdet"),
        modicum.SparseGPRegressor(5, budget=45, kernel="rbf"),
    ],
    "StreamSVC": [
        modicum.StreamSVC(),
        modicum.StreamSVC(1.0, ellipsoid="diagonal", center=False, budget="64 KiB"),
        modicum.StreamSVC(half_life=100),
        modicum.StreamSVC(1.0, ellipsoid=None, lookahead=3, n_initial=64),
        modicum.StreamSVC(ellipsoid=None, lookahead=1, n_initial=1, class_weight="balanced"),
        modicum.StreamSVC(10.0, n_balls=4, fit_intercept=False),
        modicum.StreamSVC(1.0, kernel="rbf", budget=60),
        modicum.StreamSVC(kernel="rbf", budget="96 KiB", n_initial=64),
    ],
    "StreamGreedy": [
        modicum.StreamGreedy(8, objective="variance", n_validation=50),
        modicum.StreamGreedy(8),
        modicum.StreamGreedy(None, budget=60, objective="variance"),
        modicum.StreamGreedy(8, budget="32 KiB", objective="variance"),
        modicum.StreamGreedy(8, objective="variance", n_validation=50, min_distance=1.0),
    ],
}

LEARNERS |= {
    "PrincipalComponents": [modicum.PrincipalComponents(2, n_first=50), modicum.PrincipalComponents()],
    "RandomFeatures": [modicum.RandomFeatures(16)],
    "StreamPipeline": [
        modicum.make_pipeline(modicum.TableEncoder(100), modicum.Reservoir(50)),
        modicum.make_pipeline(modicum.TableEncoder(), modicum.OnlineKMeans(3)),
        modicum.make_pipeline(modicum.RandomFeatures(16), modicum.ExemplarClustering(3, n_validation=50)),
        modicum.make_pipeline(modicum.TableEncoder(100), modicum.StreamSVC()),
    ],
    "TableEncoder": [modicum.TableEncoder(100), modicum.TableEncoder(scale="standard")],
    "WordCounts": [modicum.WordCounts(n_first=100), modicum.WordCounts(50, vocabulary="hashed")],
}

NO_LABELS = "labels_ of a plain list can't be found again: rows are not kept, and lists can't be weakly referenced"
TWO_PROTOTYPES = "a row given twice may become two prototypes, a row of weight 2 only one"
NO_WEIGHTS = {
    f"check_{name}": "it takes no weights: rows seen twice make a Gaussian process surer"
    for name in (
        "sample_weights_pandas_series",
        "sample_weights_not_an_array",
        "sample_weights_list",
        "all_zero_sample_weights_error",
        "sample_weights_shape",
        "sample_weights_not_overwritten",
        "sample_weight_equivalence_on_dense_data",
        "sample_weight_equivalence_on_sparse_data",
    )
}
FIRST_ROWS = "the first rows set the width and the scale of weights, and the check shuffles them"
EQUIVALENCE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
ORDER = "the order of rows matters, and the check shuffles them"
SEEDS = "seeds are drawn from the rows, and the check shuffles them"
SELECTORS = ("BlockGreedy", "OnlineGreedy", "SieveStreaming", "SieveStreamingPlusPlus", "StreamGreedy", "ThreeSieves")
RIMS = {"check_clustering": NO_LABELS, **dict.fromkeys(EQUIVALENCE, SEEDS)}
RIMS |= {
    f"check_estimator_sparse_{kind}": "the check expects classifier tags of every learner that has predict_proba"
    for kind in ("array", "matrix")
}
EXPECTED_FAILURES = {  # of scikit-learn's checks, with the reason
    **{name: dict.fromkeys(EQUIVALENCE, TWO_PROTOTYPES) for name in (*SELECTORS, "PrototypeRegressor")},
    "RIM": RIMS,
    "KernelRIM": RIMS,
    "KRLS": dict.fromkeys(EQUIVALENCE, FIRST_ROWS),
    "StreamSVC": dict.fromkeys(EQUIVALENCE, ORDER),
    "SparseGPRegressor": NO_WEIGHTS,
    "PrincipalComponents": dict.fromkeys(NO_WEIGHTS, "it takes no weights"),
    "WordCounts": dict.fromkeys(NO_WEIGHTS, "it takes no weights"),
    "MemoryBoundedTopicModel": dict.fromkeys(NO_WEIGHTS, "it takes no weights"),
    "ExemplarClustering": {"check_clustering": NO_LABELS},
    "StreamGaussianMixture": {EQUIVALENCE[0]: SEEDS},
    "StreamKMeans": {"check_clustering": NO_LABELS, EQUIVALENCE[0]: SEEDS},
    "OnlineKMeans": {"check_clustering": NO_LABELS, EQUIVALENCE[0]: ORDER},
}


def seeded(learner):
    """A copy in which every random state is 0."""
    copy = clone(learner)
    states = [name for name in copy.get_params() if name.rpartition("__")[2] == "random_state"]
    return copy.set_params(**dict.fromkeys(states, 0))
