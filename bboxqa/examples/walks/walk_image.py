"""An example image, from the boxes of its annotators to their alpha."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import from_units
from bboxqa.examples import read_expected
from bboxqa.examples.walks.walk_alpha import alpha_of, alpha_text, matrix_text, matrix_values
from bboxqa.examples.walks.walk_parts import (
    MISSING,
    Check,
    Step,
    Walk,
    check,
    digits,
    short,
    side_by_side,
    table,
)
from bboxqa.examples.walks.walk_scene import Scene, load_scene
from bboxqa.examples.walks.walk_units import NOBODY, Row, braces, match_boxes, unit_rows
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.model.units import UnitTable


def walk_image(name: str, expected: Mapping[str, Any] | None = None) -> Walk:
    """Walk through an example image."""
    scene = load_scene(name, read_expected() if expected is None else expected)
    units = match_boxes(scene.data, "recursive", scene.threshold)
    return Walk(
        name=name,
        introduction=(
            f"{scene.description} How far do the annotators agree on what there is, "
            "where it is and what it is called? (bboxqa agree does all of the following at once.)"
        ),
        steps=(
            _boxes_step(scene),
            _iou_step(scene),
            _hungarian_step(scene),
            _units_step(scene, units),
            _labels_step(scene, units),
            *_alpha_steps(scene, units),
        ),
    )


def _boxes_step(scene: Scene) -> Step:
    data, annotations = scene.data, scene.data.annotations
    rows = [
        [
            str(annotations.id[index]),
            data.annotator_names[annotations.annotator[index]],
            data.category_names[annotations.category[index]],
            *map(short, annotations.bbox[index].tolist()),
        ]
        for index in range(len(annotations))
    ]
    header = ["id", "annotator", "category", "x", "y", "width", "height"]
    return Step(
        title="1. The boxes",
        explanation=(
            "Every annotator was shown the same image and drew a box around each object. x and y "
            "are the left and the upper edge; all lengths are in pixels."
        ),
        body=table(header, rows, left=[1, 2]),
    )


def _iou_step(scene: Scene) -> Step:
    expected = scene.expected.get("bbox_iou", {})
    return Step(
        title="2. How much do the boxes overlap?",
        explanation=(
            "The IoU of two boxes is the area that they share, divided by the area that they "
            "cover together: 1 for the same box, 0 for boxes apart. A pair that reaches "
            f"{scene.threshold:g} (marked *) may show the same object; categories play no part "
            "in this. Rows are the boxes of the first annotator, columns those of the second."
        ),
        body="\n\n".join(_iou_table(scene, *pair) for pair in scene.pairs()),
        checks=tuple(_iou_check(scene, pair, value) for pair, value in expected.items()),
    )


def _iou_table(scene: Scene, first: int, second: int) -> str:
    def cell(iou: float) -> str:
        if iou == 0:
            return "0 "
        return digits(iou) + ("*" if iou >= scene.threshold - TOLERANCE else " ")

    names, ids = scene.data.annotator_names, scene.data.annotations.id
    columns = scene.boxes_of(second)
    rows = [
        [str(ids[row]), *map(cell, scene.iou[row, columns].tolist())]
        for row in scene.boxes_of(first)
    ]
    # Eleven columns fit on a line only with a gap of one space; the mark takes another column.
    header = ["", *(f"{ids[column]} " for column in columns)]
    text = table(header, rows, gap=1)
    return f"{names[first]} and {names[second]}\n{text}"


def _iou_check(scene: Scene, pair: str, expected: float) -> Check:
    first, second = map(int, pair.split("-"))
    return check(
        f"IoU of {first} and {second}", digits(scene.iou_of(first, second)), digits(expected)
    )


def _hungarian_step(scene: Scene) -> Step:
    names = scene.data.annotator_names
    blocks, checks = [], []
    for first, second in scene.pairs():
        chosen = _hungarian_pairs(scene, first, second)
        rows = [[str(a), str(b), digits(scene.iou_of(a, b))] for a, b in chosen]
        blocks.append(table([names[first], names[second], "IoU"], rows))
        expected = scene.expected["hungarian_pairs"][f"{names[first]}-{names[second]}"]
        checks.append(
            check(f"pairs of {names[first]} and {names[second]}", braces(chosen), braces(expected))
        )
    return Step(
        title="3. Two annotators at a time: Hungarian matching",
        explanation=(
            "Of the marked pairs, those are chosen whose IoUs have the greatest sum while no box "
            "is in two pairs. A box in no pair has no counterpart with that annotator."
        ),
        body=side_by_side(*blocks),
        checks=tuple(checks),
    )


def _hungarian_pairs(scene: Scene, first: int, second: int) -> list[tuple[int, int]]:
    """Match two of the annotators, without the others."""
    kept = np.sort(np.concatenate([scene.boxes_of(first), scene.boxes_of(second)]))
    data = replace(scene.data, annotations=scene.data.annotations.take(kept))
    rows = unit_rows(data, match_boxes(data, "hungarian", scene.threshold))
    ends = [(row[first], row[second]) for row in rows]
    return [(a, b) for a, b in ends if a is not None and b is not None]


def _units_step(scene: Scene, units: UnitTable) -> Step:
    names = scene.data.annotator_names
    rows = unit_rows(scene.data, units)
    return Step(
        title="4. All annotators: recursive matching",
        explanation=(
            f"Each box of {names[0]} opens a unit: one object, as far as the annotators agree that "
            f"it is one. {names[1]} is matched to {names[0]} as above and joins those units; boxes "
            f"without a counterpart open units of their own. {names[2]} is matched to {names[0]} "
            f"first; the boxes that are left are matched to those of {names[1]} in units that "
            f"{names[2]} is not in yet. A hyphen marks who did not draw the object."
        ),
        body=table(["unit", *names], [_numbered(place, row) for place, row in enumerate(rows, 1)]),
        checks=(check("units", braces(rows), braces(scene.expected["recursive_units"])),),
    )


def _numbered(place: int, row: Row) -> list[str]:
    return [str(place), *(NOBODY if number is None else str(number) for number in row)]


def _labels_step(scene: Scene, units: UnitTable) -> Step:
    data, names = scene.data, scene.data.category_names
    # By id, so that the rows have the order of the previous table.
    category = dict(
        zip(data.annotations.id.tolist(), data.annotations.category.tolist(), strict=True)
    )
    rows = [
        [
            str(place),
            *(MISSING if one is None else names[category[one]] for one in row),
        ]
        for place, row in enumerate(unit_rows(data, units), 1)
    ]
    titles = ["unit", *data.annotator_names]
    return Step(
        title="5. The reliability data",
        explanation=(
            "Each box is replaced by its category. Where an annotator did not draw the object, "
            f'the value is "{MISSING}", which counts as a category of its own, so that a missed '
            "object lowers the agreement."
        ),
        body=table(titles, rows, left=range(1, len(titles))),
    )


def _alpha_steps(scene: Scene, units: UnitTable) -> tuple[Step, Step]:
    data, names = scene.data, scene.data.category_names
    reliability = from_units(data.annotations, units, data.assigned, len(names))
    alpha = digits(alpha_of(reliability).value)
    return (
        Step(
            title="6. The coincidence matrix",
            explanation=(
                "Within a unit of m values, each value is paired with each of the others, and each "
                "pair counts 1/(m-1), so that every value counts once. Pairs of equal values "
                "stand on the diagonal, disagreements beside it."
            ),
            body=matrix_text(reliability, names),
            checks=_matrix_checks(scene, *matrix_values(reliability, names)),
        ),
        Step(
            title="7. Krippendorff's alpha",
            explanation=(
                "D_o is the share of pairs that disagree, D_e the share that would if the same "
                "values were dealt out by chance. alpha is 1 for full agreement, 0 for agreement "
                "no better than chance, and negative for less than that. All digits are kept "
                "in computing; four are shown."
            ),
            body=alpha_text(reliability),
            checks=(check("alpha", alpha, digits(scene.expected["alpha"])),),
        ),
    )


def _matrix_checks(scene: Scene, names: list[str], matrix: list[list[float]]) -> tuple[Check, ...]:
    """Compare the rows of the matrix with the expected rows, if any, in the order of `names`."""
    expected = scene.expected.get("coincidence_matrix")
    if expected is None:
        return ()
    expected_names = [scene.category_ids.get(value, value) for value in expected["values"]]
    cells = {
        (row_name, column_name): cell
        for row_name, row in zip(expected_names, expected["matrix"], strict=True)
        for column_name, cell in zip(expected_names, row, strict=True)
    }
    return tuple(
        check(
            f"row {name}",
            " ".join(map(short, row)),
            " ".join(short(cells.get((name, other), 0)) for other in names),
        )
        for name, row in zip(names, matrix, strict=True)
    )
