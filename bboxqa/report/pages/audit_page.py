"""The page of an audit, with the worst images first."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bboxqa.core.text import count, first_few
from bboxqa.model.audit import WORTH, AuditResult
from bboxqa.report.audit import MEANINGS
from bboxqa.report.pages.html_document import render
from bboxqa.report.pages.pictures import Pixels, line_style, outline_path
from bboxqa.report.pages.reproduce import inputs_table, settings_table
from bboxqa.report.result_files import manifest

# The size of letters as a share of the longer side of an image.
_LETTER = 1 / 44
_NAMED = 3


def shown_images(result: AuditResult, top: int) -> dict[str, tuple[int, int]]:
    """Return at most `top` images with places worth a look, and their sizes, 0 for unknown."""
    table = result.suspects
    kept = set(table["image"][np.asarray(table["score"]) >= WORTH])
    names = [name for name in result.images["image"] if name in kept][:top]
    size = dict(zip(result.labels.image_names, result.labels.image_size.tolist(), strict=True))
    return {name: (size[name][0], size[name][1]) for name in names}


def audit_page(
    result: AuditResult, pixels: Mapping[str, Pixels], top: int, command: str, *, linked: bool
) -> str:
    """Return the page of an audit; of a `linked` one, style and script are files beside it."""
    sizes = shown_images(result, top)
    worth, n = (int(result.kinds[name].sum()) for name in ("n_worth_a_look", "n"))
    found = manifest(result.settings, result.sources, result.reading)
    rows = [[kind, MEANINGS[kind], *figures] for kind, *figures in result.kinds.rows()]
    return render(
        "audit",
        linked=linked,
        title=f"Look at {worth:,} of {count(n, 'place')}",
        labels=first_few(result.sources, _NAMED, lambda each: each.name),
        basis=result.basis,
        kinds={"columns": ["kind", "what", "look at", "of", "errors at most"], "rows": rows},
        notes=result.notes,
        legend=[(kind, line_style(place)) for place, kind in enumerate(MEANINGS)],
        images=_images(result, sizes, pixels),
        n_images=len(result.images),
        command=command,
        settings=settings_table(found),
        inputs=inputs_table(found["inputs"]),
    )


def _images(
    result: AuditResult, sizes: Mapping[str, tuple[int, int]], pixels: Mapping[str, Pixels]
) -> list[dict[str, Any]]:
    """Return the template's values of each image."""
    table, labels = result.suspects, result.labels
    is_shown = (np.asarray(table["score"]) >= WORTH) & np.isin(table["image"], [*sizes])
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in sizes}
    for row in table.take(np.flatnonzero(is_shown)).records():
        rows[row["image"]].append(row)
    place = {name: number for number, name in enumerate(labels.image_names)}
    first = np.searchsorted(labels.annotations.image, np.arange(len(place) + 1))
    shown = []
    for name, own in rows.items():
        start, stop = first[place[name]], first[place[name] + 1]
        boxes = labels.annotations.bbox[start:stop].tolist()
        found = pixels.get(name)
        width, height = sizes[name]
        if not (width and height):
            width, height = _bounds([*boxes, *map(_box, own)], found)
        letter = round(max(width, height) * _LETTER, 2)
        shown.append({
            "name": name, "width": width, "height": height, "letter": letter,
            "pixels": found if found is not None and found.address else None,
            "note": "" if found is None else found.note,
            "labels": [outline_path({"bbox": box}) for box in boxes],
            "rows": [row | _drawn(row, letter) for row in own],
        })  # fmt: skip
    return shown


def _box(row: Mapping[str, Any]) -> list[float]:
    return [row[side] for side in ("x", "y", "width", "height")]


def _bounds(boxes: list[list[float]], found: Pixels | None) -> tuple[int, int]:
    if found is not None and found.address:
        return found.width, found.height
    right, bottom = (max(box[k] + box[k + 2] for box in boxes) for k in (0, 1))
    return max(int(right) + 1, 1), max(int(bottom) + 1, 1)


def _drawn(row: Mapping[str, Any], letter: float) -> dict[str, Any]:
    """Return the path of a place, its style, and where its number stands."""
    style = line_style([*MEANINGS].index(row["kind"]))
    x, y = round(max(row["x"], 0.0), 1), round(max(row["y"] - letter / 6, letter), 1)
    return {"path": outline_path({"bbox": _box(row)}), "style": style, "x": x, "y": y}
