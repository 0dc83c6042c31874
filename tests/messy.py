"""A table as people have them: ids, units, gaps, times, categories, text."""

import numpy as np
import pandas as pd


def orders(n=2000, seed=0):
    """Rows as people have them."""
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2024-01-01")
    return pd.DataFrame(
        {
            "order_id": [f"{seed:04x}-{i:08x}-{rng.integers(2**32):08x}" for i in range(n)],
            "row": np.arange(n),
            "amount": rng.lognormal(3, 0.5, n),
            "grams": rng.normal(1e5, 3e4, n),
            "country": rng.choice(["de", "fr", "us", "jp"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "when": start + pd.to_timedelta(rng.uniform(0, 365 * 86_400, n), unit="s"),
            "gift": rng.random(n) < 0.2,
            "score": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "note": [" ".join(rng.choice(["late", "fast", "good", "bad", "box", "red", "blue"], 5)) for _ in range(n)],
            "shop": ["north"] * n,
        }
    )
