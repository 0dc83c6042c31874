"""A chaotic series, forecast by regression on a budget: the next value with an interval, and a free run of a hundred.

python examples/forecast.py    writes forecast.png
"""

# %% The Mackey-Glass series, measured with noise. A row holds forty values, its target is the next one.
import os

import numpy as np
from matplotlib.figure import Figure

from modicum import BlockGreedy, PrototypeRegressor, SparseGPRegressor, stream
from modicum.kernels import RBF

QUICK = bool(os.environ.get("MODICUM_QUICK"))
ORDER, AHEAD = 40, 100


def mackey_glass(n: int, delay: int = 17) -> np.ndarray:
    x = np.full(n + 500 + delay, 1.2)
    for t in range(delay, len(x) - 1):
        x[t + 1] = 0.9 * x[t] + 0.2 * x[t - delay] / (1 + x[t - delay] ** 10)
    return x[-n:]


n_train, n_test = (800, 200) if QUICK else (4000, 500)
clean = mackey_glass(n_train + n_test + ORDER)
series = clean + np.random.default_rng(0).normal(0, 0.01, len(clean))
windows = np.lib.stride_tricks.sliding_window_view(series, ORDER + 1)
X, y = windows[:, :ORDER], windows[:, ORDER]
past = stream(X[:n_train], target=y[:n_train], chunk_size=200)

# %% Two learners in one pass each: similarities to prototypes that differ most, and a Gaussian process.
models = {
    "prototypes": PrototypeRegressor(BlockGreedy(100, kernel=RBF(2.0), random_state=0), random_state=0),
    "Gaussian process": SparseGPRegressor(50, kernel="rbf", random_state=0),
}
for name, model in models.items():
    model.fit(past)
    error = np.mean((model.predict(X[n_train:]) - y[n_train:]) ** 2) / np.var(y)
    print(f"{name:17} {model.nbytes_:9,} bytes, next value: {error:.5f} of the variance is not explained")
    assert error < 0.05

# %% The Gaussian process says how sure it is: how many of the true values lie within its 95% intervals?
mean, std = models["Gaussian process"].predict(X[n_train:], return_std=True)
inside = np.abs(y[n_train:] - mean) < 1.96 * std
print(f"{inside.mean():.1%} of {len(inside)} values lie within intervals made for 95%")


# %% A free run: each prediction is used as the next value. Chaos limits it whatever the learner.
def free_run(model: PrototypeRegressor | SparseGPRegressor, start: np.ndarray) -> np.ndarray:
    window = start.copy()
    path = np.empty(AHEAD)
    for t in range(AHEAD):
        path[t] = model.predict(window[None])[0]
        window = np.append(window[1:], path[t])
    return path


paths = {name: free_run(model, X[n_train]) for name, model in models.items()}
for name, path in paths.items():
    error = np.mean((path - y[n_train:][:AHEAD]) ** 2) / np.var(y)
    print(f"{name:17} {AHEAD} steps ahead: normalized squared error {error:.4f}")

# %% The figure.
figure = Figure(figsize=(10, 5.5), dpi=110, layout="constrained")
top, bottom = figure.subplots(2, 1, sharex=True)
steps = np.arange(AHEAD)
top.fill_between(steps, (mean - 1.96 * std)[:AHEAD], (mean + 1.96 * std)[:AHEAD], alpha=0.3, label="95% interval")
top.set_title("The next value, one step ahead", loc="left")
for name, path in paths.items():
    bottom.plot(steps, path, label=name)
bottom.set_title("A free run from step 0", loc="left")
for axes in (top, bottom):
    axes.plot(steps, y[n_train:][:AHEAD], "k.", markersize=4, label="measured")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
figure.savefig("forecast.png")
print("see forecast.png")
