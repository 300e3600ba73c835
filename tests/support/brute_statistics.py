"""Slow twins of the coefficients: exact fractions from the definitions, pair by pair."""

from collections import Counter
from fractions import Fraction
from itertools import permutations


def nominal(c, k, values, numbers):
    return Fraction(c != k)


def ordinal(c, k, values, numbers):
    low, high = min(c, k), max(c, k)
    between = sum(low <= value <= high for value in values)
    ends = Fraction(values.count(c) + values.count(k), 2)
    return (between - ends) ** 2 if c != k else Fraction(0)


def interval(c, k, values, numbers):
    return (Fraction(numbers[c]) - Fraction(numbers[k])) ** 2


def ratio(c, k, values, numbers):
    total = Fraction(numbers[c]) + Fraction(numbers[k])
    return ((Fraction(numbers[c]) - Fraction(numbers[k])) / total) ** 2 if total else Fraction(0)


def absolute(c, k, values, numbers):
    return abs(Fraction(numbers[c]) - Fraction(numbers[k]))


DISTANCES = {
    "nominal": nominal,
    "ordinal": ordinal,
    "interval": interval,
    "ratio": ratio,
    "absolute": absolute,
}


def alpha(units, level="nominal", numbers=None):
    """Return alpha, D_o and D_e of lists of codes; None where there is nothing to compare.

    Alpha is None where no disagreement is possible.
    """
    units = [unit for unit in units if len(unit) >= 2]
    values = [value for unit in units for value in unit]
    if not values:
        return None
    n, of = len(values), Counter(values)
    known = {(c, k): DISTANCES[level](c, k, values, numbers) for c in of for k in of}
    # The same units come again and again in draws.
    observed = sum(
        n_units * sum(known[pair] for pair in permutations(unit, 2)) / (len(unit) - 1)
        for unit, n_units in Counter(map(tuple, units)).items()
    )
    # Values are at no distance from themselves.
    expected = sum(of[c] * of[k] * distance for (c, k), distance in known.items())
    observed, expected = Fraction(observed) / n, Fraction(expected) / (n * (n - 1))
    return (1 - observed / expected if expected else None), observed, expected


def unit_agreement(units, weights):
    """Return the mean over units of two ratings or more of the agreement of their pairs."""
    shares = [
        Fraction(sum(weights[a][b] for a, b in permutations(unit, 2)))
        / (len(unit) * (len(unit) - 1))
        for unit in units
        if len(unit) >= 2
    ]
    return sum(shares) / len(shares) if shares else None


def corrected(observed, expected):
    """Return (p_o − p_e) / (1 − p_e), or None where chance leaves nothing."""
    return None if expected == 1 else (observed - expected) / (1 - expected)


def unit_shares(units, n_values):
    """Return the share of each value: that of a unit, on average over rated units."""
    rated = [unit for unit in units if unit]
    return [
        sum(Fraction(unit.count(value), len(unit)) for unit in rated) / len(rated)
        for value in range(n_values)
    ]


def fleiss_of_value(units, value):
    """Return Fleiss' kappa of one value against all others; None where it is undefined."""
    codes = [[int(code == value) for code in unit] for unit in units]
    identity = [[1, 0], [0, 1]]
    observed = unit_agreement(codes, identity)
    if observed is None:
        return None
    return corrected(observed, expected_agreement("fleiss", codes, identity))


def expected_agreement(kind, units, weights):
    """Return the agreement expected by chance, by the definition of each coefficient."""
    n_values = len(weights)
    codes = range(n_values)
    share, total = unit_shares(units, n_values), sum(map(sum, weights))
    if kind == "none":
        return Fraction(0)
    if kind == "uniform":
        return Fraction(total) / n_values**2
    if kind == "gwet":
        return Fraction(total) * sum(p * (1 - p) for p in share) / (n_values * (n_values - 1))
    return sum(weights[a][b] * share[a] * share[b] for a in codes for b in codes)


def kappa(answers, weights):
    """Return observed and expected agreement and kappa of pairs of codes, by the cross table."""
    n, codes = len(answers), range(len(weights))
    observed = sum(Fraction(weights[a][b]) for a, b in answers) / n
    first = [Fraction(sum(a == value for a, _ in answers), n) for value in codes]
    second = [Fraction(sum(b == value for _, b in answers), n) for value in codes]
    expected = sum(weights[a][b] * first[a] * second[b] for a in codes for b in codes)
    if observed == 1:
        return observed, expected, Fraction(1)
    return observed, expected, corrected(observed, expected)
