"""A messy table in Python: strings, times, gaps and units, learned in one pipeline.

Orders of a shop are clustered by exemplars as they are. The picks are original rows; another part of the data is
merged, the pipeline is saved, and a model learns row by row.
"""

import os

import pyarrow as pa

import modicum
from modicum.datasets import orders
from modicum.pipeline import OneByOne, TableEncoder, final_learner, make_pipeline

n_rows = 6_000 if "MODICUM_QUICK" in os.environ else 100_000
table = pa.concat_tables(orders(n_rows)).drop_columns(["kind"])
first, second = table.slice(0, n_rows // 2), table.slice(n_rows // 2)

# One learner of an encoder and a learner. What was done with each column:
pipeline = make_pipeline(TableEncoder(), modicum.ExemplarClustering(6, budget="2 MiB", random_state=0)).fit(first)
print(pipeline.summary_)
for column, kind, what in pipeline.encoder_.decisions_:
    print(f"  {column:14} {kind:9} {what}")

# The picks are rows of the table, with all columns, ids included.
picks = pipeline.picks()
print(f"\n{len(picks)} of {pipeline.n_seen_:,} orders, in {pipeline.nbytes_:,} bytes:")
for row, position, size in zip(picks.rows.to_pylist(), picks.ids, picks.weights, strict=True):
    print(f"  row {position:6,} stands for {size:7,.0f}: {row['order_id']}, {row['placed']:%a %H:%M}, {row['country']}")

# The second half with the same preparation, then both together.
pipeline.merge(pipeline.branch().fit(second))
pipeline.save("orders.mcm")
again = modicum.load("orders.mcm")
name = type(final_learner(again)).__name__
print(f"\n{again.n_seen_:,} orders after merging and loading; the loss of {name} is {again.loss_:.3f}")

# k-means has centers, which are no orders: their values in the units of the table.
clusters = make_pipeline(TableEncoder(), modicum.StreamKMeans(3, random_state=0)).fit(table)
centers = clusters.encoder_.inverse_transform(clusters.cluster_centers_)
for i in range(3):
    print(f"  center {i}: {centers['amount_cents'][i] / 100:.2f} EUR, {centers['items'][i]:.1f} items")

# Row by row, as they come.
model = OneByOne(make_pipeline(TableEncoder(n_first=200), modicum.StreamKMeans(3, random_state=0)))
for row in second.slice(0, 500).to_pylist():
    model.learn_one(row)
print(f"the next order is of cluster {model.predict_one(second.slice(500, 1).to_pylist()[0])}")
