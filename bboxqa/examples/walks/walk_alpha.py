"""Alpha of reliability data, as formulas with the numbers filled in."""

from collections.abc import Sequence

from bboxqa.agreement.alpha.nominal import Alpha, pooled_alpha
from bboxqa.agreement.counts.unit_counts import coincidence_matrix, coincidences
from bboxqa.agreement.uncertainty.estimator import OK
from bboxqa.examples.walks.walk_parts import MISSING, digits, hang, short, table
from bboxqa.model.units import ReliabilityData

# In all worked examples, a missing box counts as a category of its own.
_MISSING = "category"


def alpha_of(data: ReliabilityData) -> Alpha:
    """Return alpha over all units; a missing box counts as a category."""
    return pooled_alpha(coincidences(data, _MISSING))


def matrix_values(
    data: ReliabilityData, category_names: Sequence[str]
) -> tuple[list[str], list[list[float]]]:
    """Return the names of the values that occur, and their coincidence matrix."""
    values, matrix = coincidence_matrix(data, _MISSING)
    names = [*category_names, MISSING]
    return [names[value] for value in values], matrix.tolist()


def matrix_text(data: ReliabilityData, category_names: Sequence[str]) -> str:
    """Return the coincidence matrix as a table with its sums."""
    names, matrix = matrix_values(data, category_names)
    rows = [
        [name, *map(short, row), short(sum(row))] for name, row in zip(names, matrix, strict=True)
    ]
    sums = [short(sum(column)) for column in zip(*matrix, strict=True)]
    total = short(sum(map(sum, matrix)))
    return table(["", *names, "sum"], [*rows, ["sum", *sums, total]], left=[0])


def alpha_text(data: ReliabilityData) -> str:
    """Return D_o, D_e and alpha, each with its formula and the numbers filled in."""
    alpha = alpha_of(data)
    _, matrix = coincidence_matrix(data, _MISSING)
    sums = matrix.sum(1)
    n = short(sums.sum())
    less = short(sums.sum() - 1)
    agreeing = " + ".join(map(short, matrix.diagonal()))
    by_chance = " + ".join(f"{short(count)}*{short(count - 1)}" for count in sums)
    lines = [
        hang("n     = ", f"{' + '.join(map(short, sums))} = {n}" if len(sums) > 1 else n),
        hang("D_o   = ", f"1 - ({agreeing}) / {n} = {digits(alpha.observed)}"),
        hang("D_e   = ", f"1 - ({by_chance}) / ({n}*{less}) = {digits(alpha.expected)}"),
    ]
    if alpha.status == OK:
        parts = f"{digits(alpha.observed)} / {digits(alpha.expected)}"
        lines.append(f"alpha = 1 - D_o / D_e = 1 - {parts} = {digits(alpha.value)}")
    else:
        lines.append(hang("alpha = ", f"{digits(alpha.value)} ({alpha.status}, so D_e is 0)"))
    return "\n".join(lines)
