"""Numerical building blocks: linear algebra, distances, moments, bounds and threads."""
