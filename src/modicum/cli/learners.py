"""The learners of `modicum fit`, by what one wants. Plain data: listing them loads none of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

ALWAYS_ESSENTIAL = ("budget", "random_state")


@dataclass(frozen=True)
class Entry:
    """A learner in the list: what it does, its short names, and what most people set beside its first parameter."""

    summary: str
    aliases: tuple[str, ...] = ()
    essentials: tuple[str, ...] = ()
    example: str = ""  # options that the examples give
    examples: tuple[str, ...] = ()  # instead of those


WISHES: Mapping[str, Mapping[str, Entry]] = {
    "Classify": {
        "StreamSVC": Entry(
            "Classes of rows, by a maximum-margin classifier.",
            ("svm", "svc"),
            ("C", "kernel", "class_weight"),
            "--target rooms",
        ),
    },
    "Regress": {
        "SparseGPRegressor": Entry(
            "Numbers and how certain they are, by a Gaussian process with few active rows.",
            ("gp",),
            ("kernel", "noise"),
            "--target area -k 20",
        ),
        "KRLS": Entry(
            "Numbers, by kernel least squares with few rows kept.", (), ("kernel", "regularization"), "--target area"
        ),
        "PrototypeRegressor": Entry(
            "Numbers, by similarities to prototypes.",
            (),
            ("n_prototypes", "kernel"),
            "--target area",
        ),
    },
    "Cluster": {
        "ExemplarClustering": Entry(
            "Clusters around rows of the source, by any dissimilarity.", ("exemplars",), ("dissimilarity",), "-k 10"
        ),
        "StreamKMeans": Entry("k-means of all rows, in one pass.", ("kmeans",), (), "-k 5"),
        "OnlineKMeans": Entry("k-means where each row moves its nearest center.", (), (), "-k 5"),
        "StreamGaussianMixture": Entry(
            "A Gaussian mixture with a given number of components.", ("gmm",), ("covariance_type",), "-k 3"
        ),
        "MemoryBoundedMixture": Entry(
            "A mixture that finds the number of its components.", ("mixture",), ("concentration",), "--budget 200"
        ),
        "RIM": Entry(
            "Clusters that a linear classifier tells apart; their number is found, and some labels may help.",
            (),
            ("n_clusters", "regularization", "features"),
            examples=(
                "modicum fit rim flats.csv --columns area,rooms -o rim.mcm --report rim.html",
                "modicum fit rim flats.csv -k 4 --columns area,visits --features diffusion -o rim.mcm",
            ),
        ),
        "KernelRIM": Entry(
            "The same in the space of a kernel, for clusters of any shape.",
            (),
            ("n_clusters", "regularization", "kernel"),
            '--kernel "rbf(0.5)"',
        ),
        "MemoryBoundedTopicModel": Entry(
            "Topics of texts, pictures or other groups of rows; their number is found.",
            ("topics",),
            ("max_topics",),
            examples=(
                "modicum fit topics texts -o topics.mcm --report topics.html",
                "modicum fit topics flats.csv --document rooms --columns area,visits -o topics.mcm",
            ),
        ),
    },
    "Summarise": {
        "Reservoir": Entry("A uniform sample of all rows, or one by weight.", ("sample",), (), "-k 50"),
        "KMeansCoreset": Entry(
            "Weighted points to fit k-means to.", (), ("n_clusters", "method"), "--n-points 50 -k 5"
        ),
        "MixtureCoreset": Entry(
            "Weighted points to fit Gaussian mixtures to.", (), ("n_components",), "--n-points 50 -k 3"
        ),
    },
    "Select": {
        "BalancedSelection": Entry(
            "As many rows of each group as of any other.",
            (),
            ("learner", "quotas"),
            '--target rooms --learner "reservoir(12)"',
        ),
        "OnlineGreedy": Entry("Rows that differ as much as possible.", (), ("kernel",), "-k 20"),
        "BlockGreedy": Entry(
            "The same by blocks of similar rows: faster for hundreds of them.", (), ("kernel", "neighbors"), "-k 20"
        ),
        "StreamGreedy": Entry(
            "Rows that are best by an objective, by swaps.", (), ("objective",), "-k 20 --objective variance"
        ),
        "SieveStreaming": Entry(
            "Rows in any order of the source, with a guarantee.", (), ("objective", "epsilon"), "-k 20"
        ),
        "SieveStreamingPlusPlus": Entry(
            "The same guarantee with less in memory.", (), ("objective", "epsilon"), "-k 20"
        ),
        "ThreeSieves": Entry("One set of rows and one threshold: the fastest.", (), ("objective", "patience"), "-k 20"),
    },
}
ENTRIES = {learner: entry for learners in WISHES.values() for learner, entry in learners.items()}


def command_name(learner: str) -> str:
    """The name of a learner as the command line has it.

    >>> command_name("OnlineKMeans"), command_name("SparseGPRegressor"), command_name("KernelRIM")
    ('online-kmeans', 'sparse-gp-regressor', 'kernel-rim')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z])", "-", learner).lower()


NAMES = {command_name(learner): learner for learner in ENTRIES}
ALIASES = {alias: command_name(learner) for learner, entry in ENTRIES.items() for alias in entry.aliases}


def names_like(text: str) -> list[str]:
    """Names of learners that a text may mean: the one that it or its alias names, or all of which it is a part.

    >>> names_like("svm"), names_like("online-g"), names_like("sieve")
    (['stream-svc'], ['online-greedy'], ['sieve-streaming', 'sieve-streaming-plus-plus', 'three-sieves'])
    """
    if text in NAMES or text in ALIASES:
        return [ALIASES.get(text, text)]
    return [name for name in NAMES if text.replace("-", "") in name.replace("-", "")]


def command_named(text: str) -> str:
    """The name of the learner that a text means; a ValueError with those it may mean."""
    alike = names_like(text) if text else []
    if len(alike) != 1:
        names = alike or get_close_matches(text, [*NAMES, *ALIASES], cutoff=0.5) or list(NAMES)
        raise ValueError(f"no learner {text!r}; there are {', '.join(names)}.")
    return alike[0]


def essentials(learner: str, parameters: list[str]) -> list[str]:
    """The parameters that help shows first, in the order of the constructor."""
    entry = ENTRIES.get(learner, Entry(""))
    return [name for name in parameters if name in {parameters[0], *ALWAYS_ESSENTIAL, *entry.essentials}]


def fit_examples(name: str) -> list[str]:
    """Commands that fit a learner."""
    entry = ENTRIES[NAMES[name]]
    if entry.examples:
        return list(entry.examples)
    short = (*entry.aliases, name)[0]
    columns = "rooms,visits" if "--target area" in entry.example else "area,visits"
    return [
        f"modicum fit {short} flats.csv {entry.example} -o {short}.mcm",
        f"modicum fit {short} flats.csv {entry.example} --columns {columns} -o {short}.mcm --report {short}.html",
    ]
