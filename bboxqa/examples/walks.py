"""Walk-throughs: steps with checked values, and those from the boxes of an image to alpha."""

import json
import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, zip_longest
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import OK
from bboxqa.agreement.nominal import Alpha, pooled_alpha
from bboxqa.agreement.unit_counts import coincidence_matrix, coincidences, from_units
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.examples import example_file
from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import ReliabilityData, UnitTable
from bboxqa.pipelines.read import read
from bboxqa.report.numbers import decimal, table_lines

WIDTH = 92
"""The longest line of running text; tables may be a little wider, up to 100."""

MISSING = "missing"
"""The table entry of an annotator who was asked and drew nothing."""


class Check(NamedTuple):
    """A computed and an expected value, both as they are printed."""

    what: str
    computed: str
    expected: str

    @property
    def agrees(self) -> bool:
        """Whether both are printed in the same way, with the same rounding."""
        return self.computed == self.expected

    @property
    def verdict(self) -> str:
        """Whether the value is the expected one, in words."""
        return "agrees" if self.agrees else f"DIFFERS: expected {self.expected}"


class Step(msgspec.Struct, frozen=True):
    """One step of a walk-through; its body is a table as text."""

    title: str
    explanation: str
    body: str
    checks: tuple[Check, ...] = ()
    """The values that are compared with expected ones."""
    verdicts_in_body: bool = False
    """Whether the body itself shows the verdicts; then only checks that differ are listed below."""

    def text(self) -> str:
        """Return the step as paragraphs with a blank line between them."""
        listed = [
            hang("- ", f"{one.what} = {one.computed}: {one.verdict}")
            for one in self.checks
            if not (self.verdicts_in_body and one.agrees)
        ]
        title = f"{self.title}\n{'-' * len(self.title)}"
        parts = [title, hang("", self.explanation), textwrap.indent(self.body, "  ")]
        # Self-explanatory tables have no explanation.
        return "\n\n".join(part for part in (*parts, "\n".join(listed)) if part)


class Walk(msgspec.Struct, frozen=True):
    """A worked example, step by step, with the misprints in its source."""

    name: str
    introduction: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all steps."""
        return tuple(one for step in self.steps for one in step.checks)

    @property
    def agrees(self) -> bool:
        """Whether every value is the expected one; false if none was compared."""
        return bool(self.checks) and all(one.agrees for one in self.checks)

    def text(self) -> str:
        """Return the walk-through for a terminal of 100 columns."""
        title, n = f"Worked example: {self.name}", len(self.checks)
        parts = [f"{title}\n{'=' * len(title)}", hang("", self.introduction)]
        parts += [step.text() for step in self.steps]
        if self.notes:
            notes = [hang("- ", note) for note in self.notes]
            parts.append("\n".join(["Misprints in the source of this example:", *notes]))
        end = f"All {n} checks agree with what is expected."
        if differing := sum(not one.agrees for one in self.checks):
            end = f"{differing} of {n} checks DIFFER from what is expected."
        return "\n\n".join([*parts, end]) + "\n"


def digits(value: float) -> str:
    """Return a number with four digits, and zero without a sign.

    Examples
    --------
    >>> digits(2 / 3), digits(-1e-9)
    ('0.6667', '0.0000')
    """
    # Rounded twice, so that the last bit does not decide ties such as -0.40625.
    return decimal(round(value, 12))


def short(value: float) -> str:
    """Return a number with at most four decimals, without trailing zeros.

    Examples
    --------
    >>> short(2.0), short(0.5), short(1200000.0)
    ('2', '0.5', '1200000')
    """
    return f"{value:.4f}".rstrip("0").rstrip(".")


def hang(head: str, text: str) -> str:
    """Return text after a head, wrapped with a hanging indent.

    Examples
    --------
    >>> hang("n = ", "1 + 1")
    'n = 1 + 1'
    """
    return textwrap.fill(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (), gap: int = 2
) -> str:
    """Return rows below their titles; the columns of `left` are words."""
    return "\n".join(table_lines([titles, *rows], left, gap=gap))


def side_by_side(*blocks: str) -> str:
    r"""Return blocks of lines side by side.

    Examples
    --------
    >>> print(side_by_side("a\nb", "c"))
    a     c
    b
    """
    columns = [block.splitlines() for block in blocks]
    widths = [max(map(len, column), default=0) for column in columns]
    return "\n".join(
        "     ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip_longest(*columns, fillvalue="")
    )


class _Scene(NamedTuple):
    """An annotated image: its document, its N annotations by annotator and id, and all IoUs."""

    document: Mapping[str, Any]
    data: Dataset
    iou: FloatArray
    """(N, N) float64."""
    expected: Mapping[str, Any]
    """Its part of `expected.json`."""
    threshold: float
    pairs: tuple[tuple[int, int], ...]
    """The lowest IoU of admissible pairs, and all pairs of annotators."""

    def boxes_of(self, annotator: int) -> IndexArray:
        """Return the indices of one annotator's boxes."""
        return np.flatnonzero(self.data.annotations.annotator == annotator)

    def iou_of(self, first: int, second: int) -> str:
        """Return the IoU of two boxes, named by their ids."""
        ids = self.data.annotations.id
        return digits(self.iou[ids == first, ids == second].item())


NOBODY = "-"
"""The entry of an annotator without an annotation."""


def match_boxes(data: Dataset, matcher: str, iou_threshold: float) -> UnitTable:
    """Match boxes that reach a threshold; see `bboxqa.matching.matchers`."""
    pairs, _ = candidate_pairs(data, "bbox", iou_threshold)
    return match(data.annotations, pairs, matcher, iou_threshold)


def unit_rows(
    data: Dataset, units: UnitTable, said: Sequence[Any] | None = None
) -> list[list[Any]]:
    """Return the units with the ids of their annotations, a column per annotator; None for none.

    With `said`, they have this for each annotation.
    """
    of = data.annotations
    rows = np.full((len(units), len(data.annotator_names)), None, object)
    rows[units.unit, of.annotator] = of.id.tolist() if said is None else said
    return rows.tolist()


def braces(rows: Sequence[Sequence[Any]]) -> str:
    """Return units in one line.

    Examples
    --------
    >>> braces([(1, 6), (2, None)])
    '{1,6} {2,-}'
    """
    units = (",".join(NOBODY if one is None else str(one) for one in row) for row in rows)
    return " ".join(f"{{{unit}}}" for unit in units)


# In all worked examples, a missing box counts as a category of its own.
_MISSING = "category"


def alpha_of(data: ReliabilityData) -> Alpha:
    """Return alpha over all units; a missing box counts as a category."""
    return pooled_alpha(coincidences(data, _MISSING))


def matrix_text(data: ReliabilityData, category_names: Sequence[str]) -> str:
    """Return the coincidence matrix as a table with its sums."""
    values, matrix = coincidence_matrix(data, _MISSING)
    names = [[*category_names, MISSING][value] for value in values]
    cells = np.block([[matrix, matrix.sum(1)[:, None]], [matrix.sum(0), matrix.sum()]]).tolist()
    rows = [[name, *map(short, row)] for name, row in zip([*names, "sum"], cells, strict=True)]
    return table(["", *names, "sum"], rows, left=[0])


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
    parts = f"1 - D_o / D_e = 1 - {digits(alpha.observed)} / {digits(alpha.expected)} = "
    value = digits(alpha.value)
    shown = parts + value if alpha.status == OK else f"{value} ({alpha.status}, so D_e is 0)"
    return "\n".join([*lines, hang("alpha = ", shown)])


# The titles and explanations of the steps from the boxes of an image to alpha.
_STEPS = {
    "1. The boxes":
     "Every annotator was shown the same image and drew a box around each object. x and y are the "
     "left and the upper edge; all lengths are in pixels.",
    "2. How much do the boxes overlap?":
     "The IoU of two boxes is the area that they share, divided by the area that they cover "
     "together: 1 for the same box, 0 for boxes apart. A pair that reaches {threshold:g} (marked "
     "*) may show the same object; categories play no part in this. Rows are the boxes of the "
     "first annotator, columns those of the second.",
    "3. Two annotators at a time: Hungarian matching":
     "Of the marked pairs, those are chosen whose IoUs have the greatest sum while no box is in "
     "two pairs. A box in no pair has no counterpart with that annotator.",
    "4. All annotators: recursive matching":
     "Each box of {names[0]} opens a unit: one object, as far as the annotators agree that it is "
     "one. {names[1]} is matched to {names[0]} as above and joins those units; boxes without a "
     "counterpart open units of their own. {names[2]} is matched to {names[0]} first; the boxes "
     "that are left are matched to those of {names[1]} in units that {names[2]} is not in yet. A "
     "hyphen marks who did not draw the object.",
    "5. The reliability data":
     "Each box is replaced by its category. Where an annotator did not draw the object, the value "
     'is "missing", which counts as a category of its own, so that a missed object lowers the '
     "agreement.",
    "6. The coincidence matrix":
     "Within a unit of m values, each value is paired with each of the others, and each pair "
     "counts 1/(m-1), so that every value counts once. Pairs of equal values stand on the "
     "diagonal, disagreements beside it.",
    "7. Krippendorff's alpha":
     "D_o is the share of pairs that disagree, D_e the share that would if the same values were "
     "dealt out by chance. alpha is 1 for full agreement, 0 for agreement no better than chance, "
     "and negative for less than that. All digits are kept in computing; four are shown.",
}  # fmt: skip

_Shown = tuple[str, Sequence[Check]]
"""The table of a step, and the values that are compared with expected ones."""


def walk_image(name: str, expected: Mapping[str, Any]) -> Walk:
    """Walk through an example image."""
    own = expected["images"][name]
    data = read(example_file(name), segmentation=False)
    # Tables are in the order of ids, in which units are numbered as well.
    order = np.lexsort((data.annotations.id, data.annotations.annotator))
    data = replace(data, annotations=data.annotations.take(order))
    box = corners(data.annotations.bbox)
    first, second = np.indices((len(box), len(box))).reshape(2, -1)
    scene = _Scene(
        json.loads(example_file(name).read_text("utf-8")), data,
        bbox_iou(box[first], box[second]).reshape(len(box), len(box)), own,
        float(own["iou_threshold"]), tuple(combinations(range(len(data.annotator_names)), 2)),
    )  # fmt: skip
    units = match_boxes(data, "recursive", scene.threshold)
    shown = (
        (_box_table(data), ()), _overlaps(scene), _pairs(scene), *_units(scene, units),
        *_coincidences_and_alpha(scene, units),
    )  # fmt: skip
    said = {"threshold": scene.threshold, "names": data.annotator_names}
    return Walk(
        name=name,
        introduction=(
            f"{scene.document['info']['description']} How far do the annotators agree on what "
            "there is, where it is and what it is called? (bboxqa agree does all of the following "
            "at once.)"
        ),
        steps=tuple(
            Step(title, explanation.format(**said), body, tuple(checks))
            for (title, explanation), (body, checks) in zip(_STEPS.items(), shown, strict=True)
        ),
    )


def _box_table(data: Dataset) -> str:
    of = data.annotations
    said = ([names[code] for code in codes.tolist()] for names, codes in (
        (data.annotator_names, of.annotator), (data.category_names, of.category)))  # fmt: skip
    rows = [
        [str(number), annotator, category, *map(short, bbox)]
        for number, annotator, category, bbox in zip(of.id, *said, of.bbox.tolist(), strict=True)
    ]
    return table(["id", "annotator", "category", "x", "y", "width", "height"], rows, left=[1, 2])


def _overlaps(scene: _Scene) -> _Shown:
    def cell(iou: float) -> str:
        if iou == 0:
            return "0 "
        return digits(iou) + ("*" if iou >= scene.threshold - TOLERANCE else " ")

    names, ids, tables = scene.data.annotator_names, scene.data.annotations.id, []
    for first, second in scene.pairs:
        columns = scene.boxes_of(second)
        # Eleven columns fit on a line only with a gap of one space; the mark takes another column.
        header = ["", *(f"{ids[column]} " for column in columns)]
        rows = [
            [str(ids[row]), *map(cell, scene.iou[row, columns].tolist())]
            for row in scene.boxes_of(first)
        ]
        tables.append(f"{names[first]} and {names[second]}\n{table(header, rows, gap=1)}")
    expected = [(*pair.split("-"), iou) for pair, iou in scene.expected.get("bbox_iou", {}).items()]
    checks = [
        Check(f"IoU of {one} and {other}", scene.iou_of(int(one), int(other)), digits(value))
        for one, other, value in expected
    ]
    return "\n\n".join(tables), checks


def _pairs(scene: _Scene) -> _Shown:
    names, blocks, checks = scene.data.annotator_names, [], []
    for first, second in scene.pairs:
        # The two are matched without the others.
        kept = np.sort(np.concatenate([scene.boxes_of(first), scene.boxes_of(second)]))
        data = replace(scene.data, annotations=scene.data.annotations.take(kept))
        rows = unit_rows(data, match_boxes(data, "hungarian", scene.threshold))
        chosen = [(row[first], row[second]) for row in rows if row[first] and row[second]]
        cells = [[str(a), str(b), scene.iou_of(a, b)] for a, b in chosen]
        blocks.append(table([names[first], names[second], "IoU"], cells))
        expected = scene.expected["hungarian_pairs"][f"{names[first]}-{names[second]}"]
        what = f"pairs of {names[first]} and {names[second]}"
        checks.append(Check(what, braces(chosen), braces(expected)))
    return side_by_side(*blocks), checks


def _units(scene: _Scene, units: UnitTable) -> tuple[_Shown, _Shown]:
    data, names = scene.data, scene.data.annotator_names
    said = [data.category_names[code] for code in data.annotations.category.tolist()]
    rows = unit_rows(data, units)
    drawn, called = (
        [[str(place), *(nobody if each is None else str(each) for each in row)]
         for place, row in enumerate(of, 1)]
        for of, nobody in ((rows, NOBODY), (unit_rows(data, units, said), MISSING))
    )  # fmt: skip
    check = Check("units", braces(rows), braces(scene.expected["recursive_units"]))
    words = range(1, len(names) + 1)
    return (
        (table(["unit", *names], drawn), [check]),
        (table(["unit", *names], called, left=words), []),
    )


def _coincidences_and_alpha(scene: _Scene, units: UnitTable) -> tuple[_Shown, _Shown]:
    data, names = scene.data, scene.data.category_names
    reliability = from_units(data.annotations, units, data.assigned, len(names))
    alpha, checks = digits(alpha_of(reliability).value), []
    if expected := scene.expected.get("coincidence_matrix"):
        # The expected rows may be in another order.
        names_of = {str(each["id"]): each["name"] for each in scene.document["categories"]}
        said = [names_of.get(value, value) for value in expected["values"]]
        cells = {
            (name, other): cell
            for name, row in zip(said, expected["matrix"], strict=True)
            for other, cell in zip(said, row, strict=True)
        }
        values, matrix = coincidence_matrix(reliability, _MISSING)
        occurring = [[*names, MISSING][value] for value in values]
        for name, row in zip(occurring, matrix.tolist(), strict=True):
            wanted = " ".join(short(cells.get((name, other), 0)) for other in occurring)
            checks.append(Check(f"row {name}", " ".join(map(short, row)), wanted))
    is_expected = Check("alpha", alpha, digits(scene.expected["alpha"]))
    return (matrix_text(reliability, names), checks), (alpha_text(reliability), [is_expected])
