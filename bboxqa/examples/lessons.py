"""Worked examples: IoU by hand, matching, and Krippendorff's tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bboxqa.agreement.unit_counts import from_table, from_units
from bboxqa.core.errors import OutputError
from bboxqa.core.files import write_atomically
from bboxqa.examples import SCENES, example_file, example_picture, read_expected
from bboxqa.examples.walks import (
    NOBODY,
    Check,
    Step,
    Walk,
    alpha_of,
    alpha_text,
    braces,
    digits,
    hang,
    match_boxes,
    matrix_text,
    short,
    side_by_side,
    table,
    unit_rows,
    walk_image,
)  # fmt: skip
from bboxqa.geometry.boxes import bbox_iou, corners, overlap
from bboxqa.geometry.rasters import draw_inclusive, raster_areas
from bboxqa.model.annotations import Annotations, Dataset

# What each example shows.
_INTRODUCTIONS = {
    "iou":
     "Intersection over union (IoU) says how well two shapes coincide: the area that both cover, "
     "divided by the area that at least one covers. It is 1 for the same shape and 0 for shapes "
     "that do not overlap, whatever their size.",
    "matching":
     "Before agreement can be counted, the boxes of several annotators have to be matched: those "
     "that show the same object are a unit. Each case below takes some of 28 boxes; two boxes may "
     "be one object where their IoU is 0.5 or more. The way from units to alpha is shown step by "
     "step in the example fruits.",
    "krippendorff":
     "Two annotators, A and B, put objects (units) into categories 1, 2, 3 and so on. Where one of "
     'them drew nothing ("-"), that counts as a category called "missing". For each table: the '
     "matrix of coincidences, in which every pair of values within a unit is counted in both "
     "directions; n, the number of values; D_o, the share of pairs that disagree; D_e, the share "
     "that would if the same values were dealt out by chance; and alpha = 1 - D_o / D_e, 1 for "
     "full agreement and 0 for chance.",
}  # fmt: skip
# The titles and explanations of steps.
_STEPS = {
    "1. Boxes":
     "A box is given as x, y, width, height. The intersection is a box, too: it reaches from the "
     "larger of the two left edges to the smaller of the two right ones, and in the same way from "
     "top to bottom. union = area of A + area of B - intersection.",
    "2. Polygons, as pixels":
     "A polygon is drawn on a grid of pixels, its boundary included, and pixels are counted: a "
     "square from 0 to 3 covers 4 by 4 of them. (bboxqa compares polygons exactly by default; "
     "these are the figures of --similarity pixel.)",
    "1. The boxes":
     "Who drew each box, the number of its category, and where it is, in pixels. Many coincide on "
     "purpose: a case takes the same, a similar or a distant box.",
    "2. Two annotators: Hungarian matching":
     "Pairs are chosen so that the sum of their IoUs is the greatest while no box is in two pairs; "
     "a box without a partner is a unit of its own. In the table, {1,2} is a unit of box 1 of A "
     "and box 2 of B, and {9,-} one that B did not draw.",
    "3. Three annotators: recursive matching":
     "The boxes of A open units; B is matched to A, then C to A and what is left of C to B, each "
     "time as above. What nobody else drew opens a unit. No annotator is in a unit twice.",
}  # fmt: skip
_NOTES = {
    "iou": (
        ("Boxes 5: the source states an IoU of 0.6667 for a B that is shifted both across and "
         "down. That is the IoU of a B shifted across alone, pair 4; pair 5 shares 16 of 34 px, "
         "0.4706."),
        ("Boxes 10: the source counts a shared square of 10 by 10 px, as in pair 9. Its A begins "
         "5 px further down, so that 10 by 15 px are shared: 150 of 4850, 0.0309."),
        "Boxes 11: 129000 / 271000 is 0.4760; the source has one zero too many, 0.0476.",
        ("Polygons: the source has two sections on partial overlap, above and below an IoU of "
         "0.5, and their headings are exchanged."),
    ),
    "krippendorff": (
        "Table 5: the source has alpha without its sign. D_o / D_e is 1.2, and 1 - 1.2 = -0.2.",
    ),
}  # fmt: skip


def _iou_steps(expected: Mapping[str, Any]) -> list[Step]:
    pairs = expected["bbox_iou"], expected["polygon_iou_pixel_inclusive"]
    return [_boxes_step(pairs[0]), _polygons_step(pairs[1])]


def _boxes_step(pairs: Sequence[Mapping[str, Any]]) -> Step:
    a, b = (corners(np.array([pair[side] for pair in pairs], np.float64)) for side in "ab")
    shared = overlap(a, b)
    union = sum(np.prod(box[:, 2:] - box[:, :2], axis=1) for box in (a, b)) - shared
    iou = bbox_iou(a, b)
    rows, checks = [], []
    for place, pair in enumerate(pairs):
        one = Check(f"IoU of boxes {place + 1}", digits(iou[place]), digits(pair["iou"]))
        cells = (" ".join(map(short, pair["a"])), " ".join(map(short, pair["b"])),
                 short(shared[place]), short(union[place]))  # fmt: skip
        rows.append([str(place + 1), *cells, one.computed, one.verdict])
        checks.append(one)
    header = ["", "A", "B", "intersection", "union", "IoU", ""]
    return _step("1. Boxes", table(header, rows, left=[1, 2, 6]), checks)


def _polygons_step(pairs: Sequence[Mapping[str, Any]]) -> Step:
    lines, checks = [], []
    for place, pair in enumerate(pairs, 1):
        a, b = (np.array(pair[side], np.float64).reshape(-1, 2) for side in "ab")
        shared, union = raster_areas([a], [b], (0, 0), draw_inclusive)
        figures = {"intersection_px": shared, "union_px": union, "iou": shared / union}
        # The pixel count is compared only if the source gives one.
        stated = {key: found if pair[key] is None else pair[key] for key, found in figures.items()}
        computed, expected = (
            f"{short(of['intersection_px'])} px / {short(of['union_px'])} px = {digits(of['iou'])}"
            for of in (figures, stated)
        )
        checks.append(Check(f"IoU of polygons {place}", computed, expected))
        for head, points in ((f"{place:2}  A  ", a), ("    B  ", b)):
            text = " ".join(f"({short(x)},{short(y)})" for x, y in points.tolist())
            lines.append(hang(head, text))
        lines += [f"    IoU = {computed}: {checks[-1].verdict}", ""]
    return _step("2. Polygons, as pixels", "\n".join(lines[:-1]), checks)


def _step(title: str, body: str, checks: Sequence[Check] = ()) -> Step:
    """Return a step whose table has the verdicts."""
    return Step(title, _STEPS[title], body, tuple(checks), verdicts_in_body=True)


_IOU_THRESHOLD = 0.5

_Boxes = Mapping[str, Mapping[str, Any]]
_Case = Mapping[str, Any]


def _matching_steps(expected: Mapping[str, Any]) -> list[Step]:
    """Return the boxes, and units and alpha of the cases of two and of three annotators."""
    matching = expected["matching"]
    boxes: _Boxes = matching["boxes"]
    cells = [
        [number, box["annotator"], str(box["category_id"]), *map(short, box["bbox"])]
        for number, box in boxes.items()
    ]
    header = ["box", "by", "category", "x", "y", "width", "height"]
    half = (len(cells) + 1) // 2
    both = side_by_side(table(header, cells[:half]), table(header, cells[half:]))
    steps, cases = [_step("1. The boxes", both)], list(enumerate(matching["cases"], 1))
    for title, matcher, n in (
        ("2. Two annotators: Hungarian matching", "hungarian", 2),
        ("3. Three annotators: recursive matching", "recursive", 3),
    ):
        rows, checks = [], list[Check]()
        for place, case in (each for each in cases if len(each[1]["annotators"]) == n):
            data = _dataset(case, boxes)
            units = match_boxes(data, matcher, _IOU_THRESHOLD)
            found = from_units(data.annotations, units, data.assigned, len(data.category_names))
            rows_of_units, alpha = unit_rows(data, units), digits(alpha_of(found).value)
            pair = (
                Check(f"units of case {place}", braces(rows_of_units), braces(case["units"])),
                Check(f"alpha of case {place}", alpha, digits(case["alpha"])),
            )
            verdict = "agrees" if all(one.agrees for one in pair) else "DIFFERS"
            chosen = " ".join(map(str, case["box_ids"]))
            rows.append([str(place), chosen, *(one.computed for one in pair), verdict])
            checks += pair
        columns = ["case", "boxes", "units", "alpha", ""]
        steps.append(_step(title, table(columns, rows, left=[1, 2, 4]), checks))
    return steps


def _dataset(case: _Case, boxes: _Boxes) -> Dataset:
    """Return the boxes of a case as one image that all its annotators were shown."""
    annotators: list[str] = case["annotators"]
    ids = sorted(case["box_ids"], key=lambda number: (boxes[str(number)]["annotator"], number))
    chosen = [boxes[str(number)] for number in ids]
    n_categories = max(box["category_id"] for box in chosen)
    return Dataset(
        image_names=("case",),
        image_size=np.zeros((1, 2), np.int32),
        category_names=tuple(str(number) for number in range(1, n_categories + 1)),
        annotator_names=tuple(annotators),
        annotations=Annotations(
            id=np.array(ids, np.int64),
            image=np.zeros(len(ids), np.int32),
            annotator=np.array([annotators.index(box["annotator"]) for box in chosen], np.int32),
            category=np.array([box["category_id"] - 1 for box in chosen], np.int32),
            bbox=np.array([box["bbox"] for box in chosen], np.float64),
            iscrowd=np.zeros(len(ids), np.bool_),
        ),
        assigned=np.ones((1, len(annotators)), np.bool_),
    )


def _krippendorff_steps(expected: Mapping[str, Any]) -> list[Step]:
    """Return a step for each table of reliability data, of increasing size."""
    steps = []
    for place, case in enumerate(expected["krippendorff"], 1):
        rows: list[list[int | None]] = case["annotators_x_units"]
        categories = sorted({value for row in rows for value in row if value is not None})
        index = {None: -1} | {value: place for place, value in enumerate(categories)}
        values = np.array([[index[value] for value in row] for row in rows], np.int32)
        data = from_table(values, np.ones(values.shape, np.bool_), len(categories))
        header = ["unit", *map(str, range(1, len(rows[0]) + 1))]
        shown = [
            [annotator, *(NOBODY if value is None else str(value) for value in row)]
            for annotator, row in zip("AB", rows, strict=True)
        ]
        matrix, alpha = matrix_text(data, [*map(str, categories)]), digits(alpha_of(data).value)
        body = "\n\n".join([table(header, shown, left=[0]), matrix, alpha_text(data)])
        check = Check(f"alpha of table {place}", alpha, digits(case["alpha"]))
        steps.append(Step(f"{place}. {case['name'].capitalize()}", "", body, (check,)))
    return steps


_LESSONS = {"matching": _matching_steps, "iou": _iou_steps, "krippendorff": _krippendorff_steps}


def walk(name: str, expected: Mapping[str, Any]) -> Walk:
    """Walk through an example, whose values are compared with the expected results of all."""
    if name in SCENES:
        return walk_image(name, expected)
    steps = tuple(_LESSONS[name](expected))
    return Walk(name, _INTRODUCTIONS[name], steps, _NOTES.get(name, ()))


EXAMPLES = {name: lambda name=name: walk(name, read_expected()) for name in (*SCENES, *_LESSONS)}
"""Worked examples by name; calling one computes all values and compares them."""

_PICTURES = {
    **{scene: (scene, f"{scene}_annotators") for scene in SCENES},
    "matching": ("matching_hungarian", "matching_recursive"),
    "iou": ("iou",),
    "krippendorff": (),
}


def write_example(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write an example: its annotations, if any, its pictures, and its walk-through.

    Return the files that were written, without those that exist already. Raises OutputError if a
    file of that name has another content, unless `force`.
    """
    if name not in EXAMPLES:
        raise ValueError(f"no example is called {name!r}; choose one of {', '.join(EXAMPLES)}")
    contents = {f"{name}.json": example_file(name).read_bytes()} if name in SCENES else {}
    for picture in _PICTURES[name]:
        contents[f"{picture}.png"] = example_picture(picture).read_bytes()
    contents[f"{name}.txt"] = EXAMPLES[name]().text().encode()
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
