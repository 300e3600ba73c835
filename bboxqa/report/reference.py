"""Agreement of annotators with a reference, as lines of text and as a JSON record."""

from collections.abc import Iterator
from typing import Any

from bboxqa.core.text import count, one_line
from bboxqa.model.results import ReferenceAgreement, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.numbers import json_figure
from bboxqa.report.text_table import table_lines

_COUNTS = ("n_images", "n", "n_reference", "n_matched")
_FIGURES = ("precision", "recall", "f1", "class_share", "mean_similarity")
_MOST = 10


def reference_lines(
    part: ThresholdResult, width: int | None = None, *, offsets: bool = False
) -> Iterator[str]:
    """Yield the agreement of annotators with the reference, the lowest F1 first.

    With `offsets`, a second table has the offsets of edges, in the same order.
    """
    found = part.reference
    if found is None:
        return
    people = sorted(
        enumerate(found.annotators.records()),
        key=lambda row: (row[1]["f1"] is None, row[1]["f1"]),
    )
    shown = people[:_MOST]
    yield ""
    yield f"Annotators against the reference {one_line(found.name)} at {part.threshold_label}"
    yield f" {_images(found)}"
    rows = [
        ["annotator", "precision", "recall", "F1", "class", part.measure],
        *(
            [one_line(row["annotator"]), *(_cell(row, name) for name in _FIGURES)]
            for _, row in shown
        ),
    ]
    yield from _in_parts(rows, width, 4, " Of what matches the reference")
    if len(people) > len(shown):
        more = count(len(people) - len(shown), "more annotator")
        yield f" … and {more} (in reference.csv of --out DIR)"
    if offsets and "measure" in found.offsets.columns:
        yield from _rotation_lines(found.offsets, [place for place, _ in shown], width)
    elif offsets and len(found.offsets):
        yield from _offset_lines(found.offsets, [place for place, _ in shown], width)


def _images(found: ReferenceAgreement) -> str:
    """Return the number of images that count, and the objects of the reference in them."""
    text = f"{found.n_images:,} of its {count(found.n_reference_images, 'image')}, "
    text += f"{count(found.n_annotations, 'object')}"
    if found.n_empty_images:
        text += f"; {count(found.n_empty_images, 'image')} without any: all drawn there is wrong"
    return text


def _offset_lines(table: Table, places: list[int], width: int | None) -> Iterator[str]:
    """Yield the offsets of edges from those of the reference, in px."""
    edges = table.records()
    rows = [edges[4 * place : 4 * (place + 1)] for place in places]
    yield ""
    yield "Edges of boxes against those of the reference, in px to the right, or down"
    head = ["annotator", *(edge["edge"] for edge in edges[:4])]
    cells = [
        [one_line(row[0]["annotator"]), *(_cell(edge, "offset_px", 1) for edge in row)]
        for row in rows
    ]
    yield from _in_parts([head, *cells], width, 3)


def _rotation_lines(table: Table, places: list[int], width: int | None) -> Iterator[str]:
    """Yield the offsets of rotated boxes from those of the reference."""
    by_annotator = _by_annotator(table)
    head = ["annotator", *(row["measure"] for row in by_annotator[places[0]])] if places else []
    cells = [
        [one_line(by_annotator[place][0]["annotator"])]
        + [_cell(row, "offset", 1) for row in by_annotator[place]]
        for place in places
    ]
    yield ""
    yield "Boxes against those of the reference, in px to the right or down, and degrees clockwise"
    yield from _in_parts([head, *cells], width, 4)


def _by_annotator(table: Table) -> list[list[dict[str, Any]]]:
    """Return the rows of each annotator; all have the same number of consecutive rows."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.records():
        found.setdefault(row["annotator"], []).append(row)
    return [*found.values()]


def _in_parts(
    rows: list[list[str]], width: int | None, place: int, title: str = ""
) -> Iterator[str]:
    """Yield a table, or, if it is too wide, the columns before a place and then the others."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if width is None or sum(widths) + 2 * len(widths) < width:
        yield from _lines(rows, width)
    else:
        yield from _lines([row[:place] for row in rows], width)
        yield from ("", title) if title else ("",)
        yield from _lines([[row[0], *row[place:]] for row in rows], width)


def _lines(rows: list[list[str]], width: int | None) -> Iterator[str]:
    """Yield a table with figures aligned at their first digits, and shortened names."""
    names, *columns = zip(*rows, strict=True)
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    shown = list(zip(names, *padded, strict=True))
    for line in table_lines(shown, left=(0,), width=width and width - 1):
        yield f" {line}"


def _cell(row: dict[str, Any], name: str, digits: int = 2) -> str:
    """Return a figure with its interval."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        return _plain(value, digits)
    return f"{_plain(value, digits)} [{_plain(low, digits)}, {_plain(high, digits)}]"


def _plain(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:z.{digits}f}"


def reference_record(found: ReferenceAgreement) -> dict[str, Any]:
    """Return the reference, and a record of the figures of each annotator."""
    is_rotated = "measure" in found.offsets.columns
    people = found.annotators.records()
    offsets = _by_annotator(found.offsets) or [[] for _ in people]
    return {
        "name": found.name,
        "n_images": found.n_images,
        "n_reference_images": found.n_reference_images,
        "n_empty_images": found.n_empty_images,
        "n_annotations": found.n_annotations,
        "annotators": [
            {
                "name": row["annotator"],
                **{name: row[name] for name in _COUNTS},
                **{name: json_figure(row, name) for name in _FIGURES},
                **(_rotated(of_boxes) if is_rotated else _edges(of_boxes)),
            }
            for row, of_boxes in zip(people, offsets, strict=True)
        ],
    }


def _edges(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"offset_px": [json_figure(row, "offset_px") for row in rows]}


def _rotated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("measure", "unit", "systematic")
    found = [{**{name: row[name] for name in names}, **json_figure(row, "offset")} for row in rows]
    return {"offset_px": [], "rotated_offsets": found}
