"""Compiled loops and nothing else: arrays in, arrays written or a scalar returned."""
