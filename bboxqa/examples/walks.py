"""Walk-throughs of the examples: every step from boxes to alpha, with all numbers."""

import json
import textwrap
from collections.abc import Collection, Sequence
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.nominal import Alpha, pooled_alpha
from bboxqa.agreement.unit_counts import coincidence_matrix, coincidences, from_units
from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import OutputError
from bboxqa.core.files import write_atomically
from bboxqa.examples import example_file, example_picture
from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import ReliabilityData, UnitTable
from bboxqa.pipelines.read import read
from bboxqa.report.numbers import decimal, table_lines

# The longest line of running text; tables may be a little wider, up to 100.
_WIDTH = 92
_MISSING, _NOBODY = "missing", "-"
_THRESHOLD = 0.5


def digits(value: float) -> str:
    """Return a number with four digits, and zero without a sign."""
    # Rounded twice, so that the last bit does not decide ties such as -0.40625.
    return decimal(round(value, 12))


def short(value: float) -> str:
    """Return a number with at most four decimals, without trailing zeros."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def hang(head: str, text: str) -> str:
    """Return text after a head, wrapped with a hanging indent."""
    return textwrap.fill(
        text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (), gap: int = 2
) -> str:
    """Return rows below their titles; the columns of `left` are words."""
    return "\n".join(table_lines([titles, *rows], left, gap=gap))


def side_by_side(*blocks: str) -> str:
    """Return blocks of lines side by side."""
    columns = [block.splitlines() for block in blocks]
    widths = [max(map(len, column), default=0) for column in columns]
    return "\n".join(
        "     ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip_longest(*columns, fillvalue="")
    )


def match_boxes(data: Dataset, matcher: str) -> UnitTable:
    """Match boxes with an IoU of 0.5; see `bboxqa.matching.matchers`."""
    pairs, _ = candidate_pairs(data, "bbox", _THRESHOLD)
    return match(data.annotations, pairs, matcher, _THRESHOLD)


def unit_rows(
    data: Dataset, units: UnitTable, said: Sequence[Any] | None = None
) -> list[list[Any]]:
    """Return the units with the ids of their annotations, a column per annotator; None for none."""
    of = data.annotations
    rows = np.full((len(units), len(data.annotator_names)), None, object)
    rows[units.unit, of.annotator] = of.id.tolist() if said is None else said
    return rows.tolist()


def alpha_of(data: ReliabilityData) -> Alpha:
    """Return alpha over all units; a missing box counts as a category."""
    return pooled_alpha(coincidences(data, "category"))


def matrix_text(data: ReliabilityData, category_names: Sequence[str]) -> str:
    """Return the coincidence matrix as a table with its sums."""
    values, matrix = coincidence_matrix(data, "category")
    names = [[*category_names, _MISSING][value] for value in values]
    cells = np.block([[matrix, matrix.sum(1)[:, None]], [matrix.sum(0), matrix.sum()]]).tolist()
    rows = [[name, *map(short, row)] for name, row in zip([*names, "sum"], cells, strict=True)]
    return table(["", *names, "sum"], rows, left=[0])


def alpha_text(data: ReliabilityData) -> str:
    """Return D_o, D_e and alpha, each with its formula and the numbers filled in."""
    alpha = alpha_of(data)
    _, matrix = coincidence_matrix(data, "category")
    sums = matrix.sum(1)
    n, less = short(sums.sum()), short(sums.sum() - 1)
    agreeing = " + ".join(map(short, matrix.diagonal()))
    by_chance = " + ".join(f"{short(count)}*{short(count - 1)}" for count in sums)
    observed, expected, value = map(digits, (alpha.observed, alpha.expected, alpha.value))
    lines = [
        hang("n     = ", f"{' + '.join(map(short, sums))} = {n}"),
        hang("D_o   = ", f"1 - ({agreeing}) / {n} = {observed}"),
        hang("D_e   = ", f"1 - ({by_chance}) / ({n}*{less}) = {expected}"),
        hang("alpha = ", f"1 - D_o / D_e = 1 - {observed} / {expected} = {value}"),
    ]
    return "\n".join(lines)


# The titles and explanations of the steps from the boxes of an image to alpha.
_STEPS = {
    "1. The boxes":
     "Every annotator was shown the same image and drew a box around each object. x and y are the "
     "left and the upper edge; all lengths are in pixels.",
    "2. How much do the boxes overlap?":
     "The IoU of two boxes is the area that they share, divided by the area that they cover "
     "together: 1 for the same box, 0 for boxes apart. A pair that reaches 0.5 (marked "
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


def walk(name: str) -> str:
    """Return the walk through an example image, for a terminal of 100 columns."""
    data = read(example_file(name), segmentation=False)
    # Tables are in the order of ids, in which units are numbered as well.
    order = np.lexsort((data.annotations.id, data.annotations.annotator))
    data = replace(data, annotations=data.annotations.take(order))
    box = corners(data.annotations.bbox)
    first, second = np.indices((len(box), len(box))).reshape(2, -1)
    iou = bbox_iou(box[first], box[second]).reshape(len(box), len(box))
    units = match_boxes(data, "recursive")
    reliability = from_units(data.annotations, units, data.assigned, len(data.category_names))
    shown = (
        _box_table(data), *_pairs(data, iou), *_units(data, units),
        matrix_text(reliability, data.category_names), alpha_text(reliability),
    )  # fmt: skip
    document = json.loads(example_file(name).read_text("utf-8"))
    title = f"Worked example: {name}"
    parts = [
        f"{title}\n{'=' * len(title)}",
        hang("", f"{document['info']['description']} How far do the annotators agree on what there "
             "is, where it is and what it is called? (bboxqa agree does all of the following at "
             "once.)"),
    ]  # fmt: skip
    for (title, explanation), body in zip(_STEPS.items(), shown, strict=True):
        said = explanation.format(names=data.annotator_names)
        parts += [f"{title}\n{'-' * len(title)}", hang("", said), textwrap.indent(body, "  ")]
    return "\n\n".join(parts) + "\n"


def _box_table(data: Dataset) -> str:
    of = data.annotations
    said = ([names[code] for code in codes.tolist()] for names, codes in (
        (data.annotator_names, of.annotator), (data.category_names, of.category)))  # fmt: skip
    rows = [
        [str(number), annotator, category, *map(short, bbox)]
        for number, annotator, category, bbox in zip(of.id, *said, of.bbox.tolist(), strict=True)
    ]
    return table(["id", "annotator", "category", "x", "y", "width", "height"], rows, left=[1, 2])


def _pairs(data: Dataset, iou: FloatArray) -> tuple[str, str]:
    """Return the IoU of the boxes of each two annotators, and the pairs that are matched."""

    def cell(value: float) -> str:
        if value == 0:
            return "0 "
        return digits(value) + ("*" if value >= _THRESHOLD - TOLERANCE else " ")

    names, ids, tables, blocks = data.annotator_names, data.annotations.id, [], []
    for one, other in combinations(range(len(names)), 2):
        left, right = (np.flatnonzero(data.annotations.annotator == each) for each in (one, other))
        # Eleven columns fit on a line only with a gap of one space; the mark takes another column.
        header = ["", *(f"{ids[column]} " for column in right)]
        rows = [[str(ids[row]), *map(cell, iou[row, right].tolist())] for row in left]
        tables.append(f"{names[one]} and {names[other]}\n{table(header, rows, gap=1)}")
        # The two are matched without the others.
        kept = np.sort(np.concatenate([left, right]))
        both = replace(data, annotations=data.annotations.take(kept))
        matched = unit_rows(both, match_boxes(both, "hungarian"))
        cells = [
            [str(row[one]), str(row[other]), digits(iou[ids == row[one], ids == row[other]].item())]
            for row in matched
            if row[one] and row[other]
        ]
        blocks.append(table([names[one], names[other], "IoU"], cells))
    return "\n\n".join(tables), side_by_side(*blocks)


def _units(data: Dataset, units: UnitTable) -> tuple[str, str]:
    """Return the units with the ids, and with the categories, of their boxes."""
    names, categories = data.annotator_names, data.category_names
    said = [categories[code] for code in data.annotations.category.tolist()]
    drawn, called = (
        [[str(place), *(nobody if each is None else str(each) for each in row)]
         for place, row in enumerate(of, 1)]
        for of, nobody in ((unit_rows(data, units), _NOBODY),
                           (unit_rows(data, units, said), _MISSING))
    )  # fmt: skip
    titles = ["unit", *names]
    return table(titles, drawn), table(titles, called, left=range(1, len(titles)))


def write_example(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the annotations of an example, its pictures and its walk-through."""
    contents = {f"{name}.json": example_file(name).read_bytes()}
    for picture in (name, f"{name}_annotators"):
        contents[f"{picture}.png"] = example_picture(picture).read_bytes()
    contents[f"{name}.txt"] = walk(name).encode()
    new = []
    for file, content in contents.items():
        path = folder / file
        if not path.is_file() or path.read_bytes() != content:
            new.append(file)
            if path.exists() and not force:
                how = "name another folder with --out, or add --force"
                raise OutputError(f"{path}: is another file; {how}")
    for file in new:
        write_atomically(folder / file, contents[file])
    return [folder / file for file in new]
