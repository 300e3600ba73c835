"""Rings of many vertices that are hard to check."""

import numpy as np


def slanted_comb(n):
    """Return a valid ring of n + 2 vertices whose edges lie side by side, (n + 2, 2) float64."""
    number = np.arange(n)
    y = np.isin(number % 4, (1, 2)) * 300.0
    comb = np.stack([number // 2 / n * 600 + y, y], axis=1)
    return np.concatenate([comb, [[310.0, -5], [-5, -5]]])
