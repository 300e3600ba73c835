"""Agreement weights: the partial agreement of two different values."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import MOST_VALUES, FloatArray
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name

WEIGHTS = ("identity", "linear", "quadratic")


def agreement_weights(
    weights: str | Sequence[Sequence[float]] | FloatArray,
    n_values: int,
    numbers: FloatArray | None = None,
) -> FloatArray | None:
    """Return the agreement of each pair of values, (K, K) from 0 to 1; None for identity.

    Linear weights are 1 − |x_k − x_l| / (x_max − x_min), quadratic ones 1 − the square of that
    [1]_ [2]_, with x the values as numbers, or their ranks 0 to K − 1 if some value is not a
    number.

    Parameters
    ----------
    weights : {"identity", "linear", "quadratic"} or (K, K) array
        A matrix holds agreements with 1 on the diagonal, or disagreements with 0 there; these are
        divided by the largest, which changes no kappa. Rows are the values of the first annotator
        of a pair, so that the order matters if the matrix is not symmetric. Coefficients that do
        not distinguish annotators then use the mean of both directions.
    n_values : int
    numbers : (K,) float64, optional

    Raises
    ------
    ConfigError
        If the name is unknown, or the matrix has another shape or other numbers.

    References
    ----------
    .. [1] J. Cohen (1968), Weighted kappa, Psychological Bulletin 70(4), doi:10.1037/h0026256.
    .. [2] J. L. Fleiss and J. Cohen (1973), The equivalence of weighted kappa and the intraclass
           correlation coefficient as measures of reliability, Educational and Psychological
           Measurement 33(3), doi:10.1177/001316447303300309.

    Examples
    --------
    >>> agreement_weights("linear", 3).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    >>> agreement_weights([[0, 1], [2, 0]], 2).tolist()
    [[1.0, 0.5], [0.0, 1.0]]
    """
    if isinstance(weights, str):
        return _named(weights, n_values, numbers)
    try:
        own = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            f"weights are not numbers; expected {', '.join(WEIGHTS)}, or "
            f"{n_values} x {n_values} numbers"
        ) from None
    if own.shape != (n_values, n_values):
        found = " x ".join(map(str, own.shape)) or repr(weights)
        raise ConfigError(
            f"weights is {found}; expected {n_values} x {n_values}, one row per value"
        )
    if not np.isfinite(own).all() or (own < 0).any():
        raise ConfigError("weights: expected finite numbers, 0 or more")
    diagonal = np.diagonal(own)
    largest = float(own.max(initial=0))
    if (diagonal == 1).all() and largest <= 1:
        return own
    if (diagonal == 0).all() and largest > 0:
        own /= -largest
        own += 1
        return own
    raise ConfigError(
        "weights: expected agreements from 0 to 1 with 1 on the diagonal, "
        "or disagreements with 0 on the diagonal"
    )


def _named(weights: str, n_values: int, numbers: FloatArray | None) -> FloatArray | None:
    if weights not in WEIGHTS:
        raise ConfigError(f"weights {unknown_name(weights, WEIGHTS)}")
    if weights == "identity":
        return None
    if n_values > MOST_VALUES:
        raise ConfigError(
            f"weights: {n_values:,} different values are too many for {weights} weights "
            f"(at most {MOST_VALUES:,}); for measurements use Krippendorff's alpha of intervals"
        )
    place = np.arange(n_values, dtype=np.float64) if numbers is None else numbers
    distance = np.abs(place[:, None] - place)
    distance /= max(float(distance.max(initial=0)), np.finfo(np.float64).tiny)
    agreement: FloatArray = 1 - (distance if weights == "linear" else distance**2)
    return agreement
