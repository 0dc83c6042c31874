"""What the benchmarks share: data, a meter for seconds and bytes, the result file, the figure file.

A result is one JSON file in `benchmarks/results`: facts (commit, machine, versions, seed), tables, bars (a target,
the number measured, met or not) and notes. `tables.py` turns the tables into Markdown.
"""

import argparse
import ctypes
import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ["modicum", "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "pyarrow"]
MIB = 2**20
MOST_PICTURE_BYTES = 290_000
os.environ.setdefault("MODICUM_DATA", str(ROOT.parent / "shared" / "data"))  # modicum.datasets reads it too
OURS, PEER, THIRD, GREY, PALE = "#0b6e99", "#d1603d", "#7a9e3a", "#6b7280", "#a9b4c2"


# ---- arguments ---------------------------------------------------------------------------------------


def arguments(doc, **more):
    """The options of every script, and its own as name=dict(for add_argument)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; results/quick")
    parser.add_argument("--seed", type=int, default=0)
    for name, options in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **options)
    return parser.parse_args()


def thread_env(threads):
    """The environment of a process that may use this many threads; numpy reads it when it is imported."""
    pins = {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "NUMBA", "RAYON")}
    return {**os.environ, **pins}


# ---- data --------------------------------------------------------------------------------------------


def data_file(name):
    """A data file of the papers, from the folder MODICUM_DATA."""
    path = Path(os.environ["MODICUM_DATA"]) / name
    if not path.exists():
        sys.exit(f"{name} is not there. Set MODICUM_DATA to the folder that holds it.")
    return np.load(path)


def unit_range(X):
    """Every column between 0 and 1."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1)


def overlapping_gaussians(n, d, seed, components=300):
    """Gaussians that overlap, with Dirichlet weights and spreads of 0.5 to 1.5."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(components, d)) * 1.5
    label = rng.choice(components, size=n, p=rng.dirichlet(np.ones(components)))
    spread = rng.uniform(0.5, 1.5, size=components)
    return (centers[label] + rng.normal(size=(n, d)) * spread[label, None]).astype(np.float32)


def mnist_pca(dims=50, rows=None):
    """MNIST as in gomes2010: minus the training mean, unit norm, the first principal components; train and test.

    The components are those of the second moments about the origin, so the origin stays the training mean.
    """
    raw = data_file("mnist.npz")
    train, test = (raw[name].reshape(-1, 784).astype(np.float32) for name in ("x_train", "x_test"))
    mean = train.mean(axis=0)
    train, test = ((x - mean) / np.linalg.norm(x - mean, axis=1, keepdims=True) for x in (train, test))
    _, vectors = np.linalg.eigh(train.T @ train)
    basis = vectors[:, ::-1][:, :dims]
    return np.ascontiguousarray(train[:rows] @ basis), np.ascontiguousarray(test[:rows] @ basis)


def cifar_images(rows=None):
    """CIFAR-10's test images in a fixed random order: (rows as in gomes2010, pictures).

    Each image is a row of 3,072 numbers, minus its own mean, of unit norm.
    """
    pictures = data_file("cifar10_test.npz")["x"]
    pictures = pictures[np.random.default_rng(0).permutation(len(pictures))[:rows]]
    X = pictures.reshape(len(pictures), -1).astype(np.float32)
    X -= X.mean(axis=1, keepdims=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True), pictures


# ---- scores, the same for all contestants ------------------------------------------------------------


def nearest(X, centers, block=4096):
    """Squared distance of every row to its nearest center, and which one; in float64."""
    centers = np.asarray(centers, np.float64)
    distance, label = np.empty(len(X)), np.empty(len(X), int)
    for start in range(0, len(X), block):
        rows = np.asarray(X[start : start + block], np.float64)
        D = (rows**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1) - 2 * rows @ centers.T
        label[start : start + block] = D.argmin(axis=1)
        distance[start : start + block] = D.min(axis=1)
    return np.maximum(distance, 0), label


def utility(X, centers, phantom):
    """F of eq. 3.6 in gomes2010 on the rows of X, for a phantom exemplar given as a row."""
    to_phantom, _ = nearest(X, np.reshape(phantom, (1, -1)))
    return float(np.maximum(to_phantom - nearest(X, centers)[0], 0).mean())


def rbf(A, B, width):
    """exp(-|a - b|^2 / (2 width^2)), in float64."""
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.exp(np.maximum(squares, 0) / (-2 * width**2))


def log_det(K, regularization=1.0):
    """log det(K + lambda I), from the definition."""
    return float(np.linalg.slogdet(K + regularization * np.eye(len(K)))[1])


def snap(X, centers):
    """Numbers of the rows nearest to the centers, each once."""
    squares = np.einsum("ij,ij->i", X, X)
    return np.unique([int((squares - 2 * X @ center).argmin()) for center in np.asarray(centers, X.dtype)])


# ---- seconds and bytes -------------------------------------------------------------------------------


class Meter:
    """`with Meter() as m: ...` measures m.seconds, m.cpu_seconds, and resident bytes: m.before and m.peak."""

    def __enter__(self):
        try:
            ctypes.CDLL("libc.so.6").malloc_trim(0)  # memory freed before must not hide what is used now
            Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        except OSError:
            pass  # then the peak is that of the whole process
        self.before = resident("VmRSS")
        self._start, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds, self.cpu_seconds = time.perf_counter() - self._start, time.process_time() - self._cpu
        self.peak = resident("VmHWM")

    def facts(self):
        return {
            "seconds": round(self.seconds, 4),
            "cpu_seconds": round(self.cpu_seconds, 4),  # of all threads; much less than seconds: a busy machine
            "peak_bytes": self.peak,
            "bytes_before": self.before,
            "extra_bytes": max(0, self.peak - self.before),
        }


def resident(field="VmRSS"):
    """Resident memory of this process in bytes, now (VmRSS) or at its peak (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024


def warm_up():
    """Compile (or load from numba's cache) what modicum needs, so that it is not timed."""
    from modicum import ExemplarClustering, OnlineKMeans

    for dtype in (np.float32, np.float64):
        X = np.random.default_rng(0).normal(size=(600, 4)).astype(dtype)
        for options in ({}, {"swaps": "one", "confidence": 0.95, "initial": X[:5]}):
            ExemplarClustering(5, n_validation=200, random_state=0, **options).fit(X)
        OnlineKMeans(5).fit(X)


# ---- results -----------------------------------------------------------------------------------------


class Result:
    """Facts, tables, bars and notes of one benchmark; printed and written as JSON."""

    def __init__(self, name, command, args, **facts):
        self.quick = args.quick
        self.content = {
            "name": name,
            "command": command,
            "quick": args.quick,
            "seed": args.seed,
            "date": datetime.date.today().isoformat(),
            "commit": commit(),
            "machine": machine(),
            "versions": versions(PACKAGES),
            **facts,
            "tables": {},
            "bars": [],
            "notes": [],
        }
        self._start = time.perf_counter()

    def table(self, name, columns, rows):
        """Rows are dicts; columns are (key, heading, format) of what is shown of them. Other keys are kept."""
        self.content["tables"][name] = {"columns": columns, "rows": rows}
        print(f"\n{self.content['name']}.{name}\n{align(columns, rows)}", flush=True)

    def bar(self, wish, value, met):
        """A bar to clear. `met` None: unknown."""
        self.content["bars"].append({"wish": wish, "measured": value, "met": None if met is None else bool(met)})
        verdict = "unknown" if met is None else "met" if met else "NOT MET"
        print(f"{verdict:>10}  {wish}: {value}", flush=True)

    def note(self, text):
        self.content["notes"].append(text)
        print("note:", text, flush=True)

    def figure(self, figure, name=None):
        """Save a figure beside the result, below 300 KB."""
        path = self._folder() / f"{name or self.content['name']}.png"
        for dpi in (130, 100, 80, 60):
            figure.savefig(path, dpi=dpi, facecolor="white")
            if path.stat().st_size > MOST_PICTURE_BYTES:
                use_fewer_colors(path)
            if path.stat().st_size <= MOST_PICTURE_BYTES:
                break
        self.content.setdefault("figures", []).append(path.name)

    def write(self):
        self.content["total_seconds"] = round(time.perf_counter() - self._start, 1)
        path = self._folder() / f"{self.content['name']}.json"
        path.write_text(json.dumps(self.content, indent=1, default=_plain) + "\n")
        print(f"\n{path.relative_to(ROOT)} written after {self.content['total_seconds']} s")

    def _folder(self):
        folder = RESULTS / "quick" if self.quick else RESULTS
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def use_fewer_colors(path):
    """256 colors, dithered: photographs as PNG are large."""
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    picture.quantize(palette=picture.quantize(256), dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)


def cell(value, form):
    if value is None:
        return ""
    return value if isinstance(value, str) else format(value, form)


def align(columns, rows):
    """A table for a terminal."""
    lines = [[heading for _, heading, _ in columns]]
    lines += [[cell(row.get(key), form) for key, _, form in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = [isinstance(rows[0].get(key), str) if rows else True for key, _, _ in columns]
    sides = [str.ljust if is_left else str.rjust for is_left in left]
    return "\n".join(
        "  ".join(side(text, w) for side, text, w in zip(sides, line, widths, strict=True)) for line in lines
    )


def _plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item()


def commit():
    """The commit that was measured, with a + if files of the package differ from it."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "status", "--porcelain", "src"], cwd=ROOT, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def machine():
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": int(memory[1]) * 1024,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
    }


def versions(packages):
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


# ---- figures -----------------------------------------------------------------------------------------


def figures():
    """matplotlib in the look of all figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.constrained_layout.use": True,
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#e5e7eb",
            "grid.linewidth": 0.7,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
        }
    )
    return plt


def mosaic(axes, pictures, columns, gap=2):
    """Show pictures (n x height x width x 3) in a grid."""
    n, height, width, _ = pictures.shape
    rows = -(-n // columns)
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, np.uint8)
    for i, picture in enumerate(pictures):
        y, x = i // columns * (height + gap), i % columns * (width + gap)
        sheet[y : y + height, x : x + width] = picture
    axes.imshow(sheet, interpolation="nearest")
    axes.set_anchor("N")
    axes.set_axis_off()
