"""Linear algebra, distances, moments and bounds, and threads to compute them."""
