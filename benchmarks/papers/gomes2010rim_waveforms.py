"""Spike waveforms of a tetrode, gomes2010rim, section 5.7.1 and Figures 5.5 and 5.6, on made-up recordings.

    python benchmarks/papers/gomes2010rim_waveforms.py [--quick]

The thesis clusters 319,209 waveforms of 4 x 38 samples from 100 categories in 12 minutes on four cores, and finds 33
clusters; its recording is not public. Here 300,000 waveforms come from 33 templates: spikes that peak at the 13th
sample, with a random amplitude on each electrode, rates by a power law, varying amplitudes, and noise that is
correlated in time and between electrodes. Its level was set, on other recordings, so that k-means given the number has
an ARI of about .80. Each column minus its mean is divided by its standard deviation (the thesis writes "variance",
which would make the loudest samples the quietest).

RIM starts from 100 categories, fits a sample of 18,000 rows, and is polished on all rows. The regularisation is chosen
without labels, by the rule. For comparison, the number of clusters is given.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from modicum import RIM

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Meter, Result, arguments, figures

COMMAND = "python benchmarks/papers/gomes2010rim_waveforms.py"
ELECTRODES, SAMPLES, PEAK = 4, 38, 12
TEMPLATES, CATEGORIES, SAMPLE, RECORDINGS = 33, 100, 10_000, 3
VARIATION, RATE = 0.05, 0.6  # of amplitudes; exponent of the power law
AMPLITUDES = 0.1, 2.0
NOISE, SMOOTH, SHARED = 0.05, 0.7, 0.3  # relative to the median peak; correlation in time; between electrodes


def waveforms(n, seed):
    """Rows of four times 38 samples in float32, and the templates they come from."""
    rng = np.random.default_rng(seed)
    shapes = templates(rng)
    rates = np.arange(1, TEMPLATES + 1) ** -RATE
    label = rng.choice(TEMPLATES, n, p=rates / rates.sum())
    rows = shapes[label] * rng.normal(1, VARIATION, n).astype(np.float32)[:, None, None]
    noise = rng.standard_normal((n, ELECTRODES, SAMPLES), np.float32)
    noise += np.sqrt(SHARED / (1 - SHARED)) * rng.standard_normal((n, 1, SAMPLES), np.float32)
    noise *= np.sqrt(1 - SHARED)
    for t in range(1, SAMPLES):  # an autoregression of variance 1
        noise[:, :, t] = SMOOTH * noise[:, :, t - 1] + np.sqrt(1 - SMOOTH**2) * noise[:, :, t]
    rows += NOISE * np.median(shapes.max(axis=(1, 2))) * noise
    return rows.reshape(n, -1).astype(np.float32), label


def templates(rng):
    """A sharp peak and a slow undershoot, with an amplitude on each electrode."""
    t = np.arange(SAMPLES)
    out = np.empty((TEMPLATES, ELECTRODES, SAMPLES), np.float32)
    for shape in out:
        width, slow, delay = rng.uniform(1.5, 4.5), rng.uniform(3, 9), rng.uniform(6, 16)
        spike = np.exp(-(((t - PEAK) / width) ** 2) / 2)
        spike -= rng.uniform(0.1, 0.9) * np.exp(-(((t - PEAK - delay) / slow) ** 2) / 2)
        shape[:] = rng.uniform(*AMPLITUDES, (ELECTRODES, 1)) * spike
    return out


def standardized(X):
    """Columns of mean 0 and the same variance, so that the total variance is 1."""
    scale = X.std(axis=0, dtype=np.float64) * np.sqrt(X.shape[1])
    return ((X - X.mean(axis=0, dtype=np.float64)) / scale).astype(np.float32)


def measured(X, y, method, seed):
    """A line of the table, and the model."""
    with Meter() as meter:
        if method == "k-means, number given":
            model = KMeans(TEMPLATES, n_init=3, random_state=seed).fit(X[:SAMPLE])
        else:
            number = TEMPLATES if method == "RIM, number given" else None
            model = RIM(CATEGORIES, n_clusters=number, random_state=seed).fit(X)
        labels = model.predict(X)
    found = {"method": method, "clusters": len(np.unique(labels)), "ari": adjusted_rand_score(y, labels)}
    found["regularization"] = getattr(model, "regularization_", None)
    return {**found, **meter.facts()}, model


def plot(result, rows, Z, model):
    plt = figures()
    figure, panels = plt.subplots(2, 3, figsize=(10.5, 5.2), sharex=True)
    entropy, label = model.conditional_entropy(Z), model.predict(Z)
    t = np.arange(rows.shape[1])
    pictures = {"average waveform": rows.mean(axis=0), "most uncertain waveform": rows[entropy.argmax()]}
    for axes, (title, values) in zip(panels[:, 0], pictures.items(), strict=True):
        axes.plot(t, values, color=OURS)
        axes.set_title(title)
    for k, (top, bottom) in zip(np.argsort(-np.bincount(label))[[0, 4]], panels.T[1:], strict=True):
        members = rows[label == k]
        top.plot(t, members[:60].T, color=GREY, lw=0.3, alpha=0.4)
        top.plot(t, members.mean(axis=0), color=PEER)
        top.set_title(f"a cluster of {len(members):,}")
        bottom.plot(t, model.coef_[k], color=OURS)
        bottom.set_title("its weights")
    for axes in panels.ravel():
        axes.set_xticks(np.arange(0, len(t) + 1, SAMPLES))
    for axes in panels[1]:
        axes.set_xlabel("4 electrodes x 38 samples")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n = 20_000 if args.quick else 300_000
    result = Result("gomes2010rim_waveforms", COMMAND, args, rows=n, paper="gomes2010rim, section 5.7.1")
    lines = []
    for recording in range(1 if args.quick else RECORDINGS):
        rows, y = waveforms(n, args.seed + recording)
        Z = standardized(rows)
        for method in ("RIM", "RIM, number given", "k-means, number given"):
            line, model = measured(Z, y, method, args.seed)
            lines.append({"recording": recording, **line})
            if recording == 0 and method == "RIM":
                plot(result, rows[:50_000], Z[:50_000], model)
    columns = [
        ("recording", "recording", "d"),
        ("method", "method", ""),
        ("clusters", "clusters", "d"),
        ("regularization", "regularization", ".1e"),
        ("ari", "ARI", ".3f"),
        ("seconds", "seconds", ".1f"),
        ("cpu_seconds", "CPU seconds", ".1f"),
    ]
    result.table("waveforms", columns, lines)
    ours = [line for line in lines if line["method"] == "RIM"]
    slowest, ari = max(line["seconds"] for line in ours), np.mean([line["ari"] for line in ours])
    result.bar("all rows under 3 minutes on 2 cores", f"{slowest:.0f} s", slowest < 180)
    result.bar("ARI at least .83, on average, lambda by the rule", f"{ari:.3f}", ari >= 0.83)
    result.write()


if __name__ == "__main__":
    main()
