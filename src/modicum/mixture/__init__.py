"""Mixtures whose number of components is found with them."""
