"""The page of an audit, with the worst images first."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bboxqa.core.text import first_few
from bboxqa.model.audit import WORTH, AuditResult
from bboxqa.report.audit import MEANINGS, title
from bboxqa.report.pages.html_document import render
from bboxqa.report.pages.pictures import Pixels, line_style, outline_path
from bboxqa.report.pages.reproduce import inputs_table, settings_table
from bboxqa.report.result_files import manifest

# The size of letters as a share of the longer side of an image.
_LETTER = 1 / 44
_STYLES = {kind: line_style(place) for place, kind in enumerate(MEANINGS)}


def shown_images(result: AuditResult, top: int) -> dict[str, tuple[int, int]]:
    """Return at most `top` images with places worth a look, and their sizes, 0 for unknown."""
    kept = set(result.suspects["image"][np.asarray(result.suspects["score"]) >= WORTH])
    size = dict(zip(result.labels.image_names, result.labels.image_size.tolist(), strict=True))
    names = [name for name in result.images["image"] if name in kept][:top]
    return {name: (size[name][0], size[name][1]) for name in names}


def audit_page(
    result: AuditResult, pixels: Mapping[str, Pixels], top: int, command: str, *, linked: bool
) -> str:
    """Return the page of an audit; of a `linked` one, style and script are files beside it."""
    found = manifest(result.settings, result.sources, result.labels.reading)
    rows = [[kind, MEANINGS[kind], look, of] for kind, look, of, _ in result.kinds.rows()]
    return render(
        "audit",
        linked=linked,
        title=title(result),
        labels=first_few(result.sources, 3, lambda each: each.name),
        basis=result.basis,
        kinds={"columns": ["kind", "what", "look at", "of"], "rows": rows},
        notes=result.notes,
        legend=_STYLES.items(),
        images=[*_images(result, shown_images(result, top), pixels)],
        n_images=len(result.images),
        command=command,
        settings=settings_table(found),
        inputs=inputs_table(found["inputs"]),
    )


def _images(
    result: AuditResult, sizes: Mapping[str, tuple[int, int]], pixels: Mapping[str, Pixels]
) -> Iterator[dict[str, Any]]:
    """Yield the template's values of each image."""
    table, of = result.suspects, result.labels.annotations
    is_shown = (np.asarray(table["score"]) >= WORTH) & np.isin(table["image"], [*sizes])
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in sizes}
    for row in table.take(np.flatnonzero(is_shown)).records():
        row["bbox"] = [row[side] for side in ("x", "y", "width", "height")]
        rows[row["image"]].append(row)
    for name, own in rows.items():
        boxes = of.bbox[of.image == result.labels.image_names.index(name)].tolist()
        ends = [[int(row["bbox"][k] + row["bbox"][k + 2]) + 1 for row in own] for k in (0, 1)]
        width, height = (side or max(end) for side, end in zip(sizes[name], ends, strict=True))
        letter, found = round(max(width, height) * _LETTER, 2), pixels.get(name)
        yield {
            "name": name, "width": width, "height": height, "letter": letter,
            "pixels": found if found is not None and found.address else None,
            "note": "" if found is None else found.note,
            "labels": [outline_path({"bbox": box}) for box in boxes],
            "rows": [row | {"path": outline_path(row), "style": _STYLES[row["kind"]],
                            "y": max(row["y"] - letter / 6, letter)} for row in own],
        }  # fmt: skip
