"""Tables to numbers: TableEncoder against scikit-learn's ColumnTransformer and skrub's TableVectorizer, and pipelines.

    python benchmarks/speed/encode.py [--quick]

Encoding: 1,000,000 rows of ten columns of numbers, 1,000,000 messy orders (`modicum.datasets.orders`: times, a
category, a boolean, numbers with gaps, ids), and 100,000 sentences of 6 to 14 words. One thread; all contestants in one
process, in turn, 15 rounds, ratios of medians. Timed, in seconds of the CPU: `transform` of a table in memory, by
encoders that were fitted on its first 20,000 rows. Peers are given pandas frames, which they are made for, without the
column of ids, which skrub would take for text; modicum is given the whole table, in Arrow and as a pandas frame.

ColumnTransformer has SimpleImputer with indicators and StandardScaler for numbers, OneHotEncoder for categories, the
same five numbers as ours for times, and HashingVectorizer of words and pairs for texts. TableVectorizer decides itself;
it leaves numbers as they are, and its texts are TF-IDF of characters in 30 principal components. What has taken 15 s in
all is not repeated.

End to end: from Parquet files through `stream(raw=True)` to the fitted pipeline, after a pass over one file that
compiles what is compiled; three rounds. One thread for the work; a second one reads ahead.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, THIRD, Meter, Result, arguments, figures, versions
from peers import PEER_OPTIONS, interpreters, run_worker

COMMAND = "python benchmarks/speed/encode.py"
FITTED = 20_000  # rows that the encoders are fitted on
WIDTH = 10  # columns of numbers
N_FILES = 20
ROUNDS = 5  # of encoding for each of a pipeline: they are short, and times of some peers vary twofold
ENOUGH = 15  # seconds of one contestant
ARROW, FRAME = "modicum, Arrow table", "modicum, pandas frame"
TRANSFORMER, VECTORIZER = "ColumnTransformer", "skrub TableVectorizer"
NUMBERS = ["amount_cents", "weight_g", "items", "delivery_days", "rating"]


# ---- tables ---------------------------------------------------------------------------------------------------


def number_tables(n, seed):
    """Arrow tables of normal columns with different units, in parts."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    for part in np.array_split(np.arange(n), N_FILES):
        yield pa.table({f"x{j}": 10.0**j * rng.normal(j, 1, len(part)) for j in range(WIDTH)})


def order_tables(n, seed):
    from modicum.datasets import orders

    return (table.drop_columns(["kind"]) for table in orders(n, chunk_size=-(-n // N_FILES), random_state=seed))


def sentence_tables(n, seed):
    """Sentences of words that are as frequent as in a language: 1 / rank."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(20_000)])
    share = 1 / np.arange(1, len(words) + 1)
    lengths = rng.integers(6, 15, n)
    drawn = words[rng.choice(len(words), lengths.sum(), p=share / share.sum())]
    yield pa.table({"text": [" ".join(some) for some in np.split(drawn, lengths.cumsum()[:-1])]})


TABLES = {"numbers": number_tables, "orders": order_tables, "sentences": sentence_tables}
N_ROWS = {"numbers": 1_000_000, "orders": 1_000_000, "sentences": 100_000}


# ---- encoders -------------------------------------------------------------------------------------------------


def five_numbers(times):
    """Points on the circles of a day and a week, and the trend."""
    days = times.to_numpy().astype("datetime64[us]").astype(np.float64) / 86_400e6
    angles = 2 * np.pi * np.hstack([days, days / 7])
    return np.hstack([np.sin(angles), np.cos(angles), days / 365])


def column_transformer(kind):
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    if kind == "sentences":
        return ColumnTransformer([("text", HashingVectorizer(n_features=2**16, ngram_range=(1, 2)), "text")])
    scale = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    if kind == "numbers":
        return ColumnTransformer([("numbers", scale, [f"x{j}" for j in range(WIDTH)])])
    return ColumnTransformer(
        [
            ("numbers", scale, NUMBERS),
            ("category", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["country"]),
            ("boolean", "passthrough", ["express"]),
            ("time", FunctionTransformer(five_numbers), ["placed"]),
        ]
    )


def table_vectorizer(kind):
    from skrub import TableVectorizer

    return TableVectorizer()


def table_encoder(kind):
    from modicum.pipeline import TableEncoder

    return TableEncoder()


ENCODERS = {ARROW: table_encoder, FRAME: table_encoder, TRANSFORMER: column_transformer, VECTORIZER: table_vectorizer}


# ---- workers: each prints one line of JSON ------------------------------------------------------------------------


def encode(kind, n, rounds, seed):
    """All contestants in turn; {contestant: runs}."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    table = pa.concat_tables(TABLES[kind](n, seed)).combine_chunks()
    frame = table.to_pandas()
    bare = frame.drop(columns="order_id", errors="ignore")
    given = {ARROW: table, FRAME: frame, TRANSFORMER: bare, VECTORIZER: bare}
    encoders, runs = {}, {name: [] for name in ENCODERS}
    for name, make in ENCODERS.items():
        try:
            encoders[name] = make(kind).fit(given[name][:FITTED])
        except ImportError as error:
            print(f"{name}: {error}", file=sys.stderr)
    for turn in range(rounds):
        for name, encoder in encoders.items():
            if sum(run["seconds"] for run in runs[name]) < ENOUGH:
                with Meter() as meter:
                    made = encoder.transform(given[name])
                runs[name].append({**meter.facts(), "width": made.shape[1]})
                del made
                print(f"{kind}, round {turn + 1}, {name}: {meter.seconds:.2f} s", file=sys.stderr, flush=True)
    return runs


def exemplars():
    from modicum import ExemplarClustering

    return ExemplarClustering(100, random_state=0)


def means():
    from modicum import StreamKMeans

    return StreamKMeans(10, random_state=0)


PIPELINES = {  # name: (tables, learner)
    "StreamKMeans(10), ten numbers": ("numbers", means),
    "StreamKMeans(10), orders": ("orders", means),
    "ExemplarClustering(100), orders": ("orders", exemplars),
}


def end_to_end(name, n, rounds, seed):
    """Parquet files to a fitted pipeline; and the share of the time that encoding alone takes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from modicum import stream
    from modicum.pipeline import TableEncoder, make_pipeline

    pa.set_cpu_count(1)
    kind, learner = PIPELINES[name]
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for i, table in enumerate(TABLES[kind](n, seed)):
            pq.write_table(table, f"{folder}/{i:02}.parquet")
        for turn in range(rounds + 1):
            pipeline = make_pipeline(TableEncoder(), learner(), random_state=0)
            with Meter() as meter:
                pipeline.learn(stream(folder if turn else f"{folder}/00.parquet", raw=True))
            runs.append({**meter.facts(), "rows": pipeline.n_seen_, "held_bytes": pipeline.nbytes_})
            print(f"{name}, round {turn}: {meter.seconds:.2f} s", file=sys.stderr, flush=True)
        encoder, taken = pipeline.encoder_, 0.0
        for chunk in stream(folder, raw=True):
            start = time.thread_time()
            encoder.transform(chunk.X)
            taken += time.thread_time() - start
    return {"runs": runs[1:], "encoding_seconds": taken}


def worker(name, n, rounds, seed):
    answer = {"runs": encode(name, n, ROUNDS * rounds, seed)} if name in TABLES else end_to_end(name, n, rounds, seed)
    print(json.dumps(answer))


# ---- results --------------------------------------------------------------------------------------------------


ENCODE_COLUMNS = [
    ("contestant", "contestant", ""),
    ("cpu_seconds", "CPU seconds", ".2f"),
    ("per_second", "rows per second", ",.0f"),
    ("cells", "million cells per second", ".2f"),
    ("ratio", "times as fast as ColumnTransformer", ".2f"),
    ("fastest_ratio", "by the fastest rounds", ".2f"),
    ("width", "columns out", ",d"),
    ("extra_mib", "extra MiB", ",.0f"),
    ("status", "", ""),
]
LEARN_COLUMNS = [
    ("pipeline", "pipeline", ""),
    ("per_second", "rows per second", ",.0f"),
    ("seconds", "seconds", ".2f"),
    ("cpu_seconds", "CPU seconds", ".2f"),
    ("encoding", "of these encoding, %", ".0f"),
    ("extra_mib", "extra MiB", ",.0f"),
    ("held_mib", "holds, MiB", ".1f"),
]


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def encode_table(n, n_columns, runs):
    rows = []
    for name, found in runs.items():
        if not found:
            rows.append({"contestant": name, "status": "not installed"})
            continue
        row = {"contestant": name, "all_cpu_seconds": [run["cpu_seconds"] for run in found], "width": found[0]["width"]}
        row |= {key: median(found, key) for key in ("seconds", "cpu_seconds", "extra_bytes")}
        rate = n / row["cpu_seconds"]
        rows.append({**row, "per_second": rate, "cells": rate * n_columns / 1e6, "extra_mib": row["extra_bytes"] / MIB})
    return with_ratios(rows)


def with_ratios(rows):
    """Rows with ratios to ColumnTransformer: of medians, and of the fastest rounds, which load disturbs least."""
    peer = next(row for row in rows if row["contestant"] == TRANSFORMER)
    for row in rows:
        if "cpu_seconds" in row:
            row["ratio"] = peer["cpu_seconds"] / row["cpu_seconds"]
            row["fastest_ratio"] = min(peer["all_cpu_seconds"]) / min(row["all_cpu_seconds"])
    return rows


def learn_row(name, run):
    runs = run["runs"]
    seconds = median(runs, "seconds")
    return {
        "pipeline": name,
        "seconds": seconds,
        "cpu_seconds": median(runs, "cpu_seconds"),
        "all_seconds": [found["seconds"] for found in runs],
        "per_second": runs[0]["rows"] / seconds,
        "encoding": 100 * run["encoding_seconds"] / median(runs, "cpu_seconds"),
        "extra_mib": median(runs, "extra_bytes") / MIB,
        "held_mib": runs[0]["held_bytes"] / MIB,
    }


def plot(result, tables):
    plt = figures()
    colors = {ARROW: OURS, FRAME: OURS, TRANSFORMER: PEER, VECTORIZER: THIRD}
    figure, panels = plt.subplots(1, len(tables), figsize=(4.2 * len(tables), 2.4))
    for axes, (title, rows) in zip(panels, tables.items(), strict=True):
        rows = [row for row in rows if "cells" in row][::-1]
        names = [row["contestant"] for row in rows]
        axes.barh(names, [row["per_second"] / 1000 for row in rows], color=[colors[name] for name in names], height=0.6)
        axes.set(title=title, xlabel="thousand rows per second")
        axes.tick_params(axis="y", labelsize=7.5)
    figure.supxlabel("tables to numbers, one thread", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(
        __doc__, repeat={"type": int, "default": 3}, **(PEER_OPTIONS | {"limit": {"type": float, "default": 600.0}})
    )
    args.repeat = 1 if args.quick else args.repeat
    n_rows = {kind: n // 40 if args.quick else n for kind, n in N_ROWS.items()}
    result = Result("encode", COMMAND, args, n=n_rows, repeat=args.repeat, fitted_rows=FITTED)
    result.content["versions"] |= versions(["pandas", "skrub"])

    def ask(name, n):
        sizes, pythons = (n, args.repeat, args.seed), interpreters(args.peer_python)
        run = run_worker(__file__, name, "modicum", sizes, threads=1, limit=args.limit, pythons=pythons)
        print(f"{name}: {run['status']}", file=sys.stderr, flush=True)
        return run if run["status"] == "ok" else sys.exit(f"{name}: {run['status']}")

    n_columns = {kind: next(iter(make(N_FILES, 0))).num_columns for kind, make in TABLES.items()}
    tables = {}
    for kind, n in n_rows.items():
        tables[kind] = encode_table(n, n_columns[kind], ask(kind, n)["runs"])
        result.table(kind, ENCODE_COLUMNS, tables[kind])
    rows = [learn_row(name, ask(name, n_rows[kind])) for name, (kind, _) in PIPELINES.items()]
    result.table("pipelines", LEARN_COLUMNS, rows)
    cells = tables["numbers"][0]["cells"]
    result.bar("numbers: at least 1 million cells per second and core", f"{cells:.1f} million", cells >= 1)
    rate = rows[0]["per_second"]
    result.bar(f"{rows[0]['pipeline']}, from Parquet: at least 300,000 rows per second", f"{rate:,.0f}", rate >= 3e5)
    if (load := result.content["machine"]["load_before"]) > 1:
        result.note(f"The machine was busy: its load was {load} before.")
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
