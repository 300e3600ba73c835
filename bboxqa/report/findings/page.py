"""The page of the findings of `validate`, with pictures of the boxes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle, zip_longest
from pathlib import PurePath
from typing import Any

from bboxqa.core.text import count, first_few
from bboxqa.model.findings import FileReport, Finding, FoundBox, FoundReport
from bboxqa.report.findings.report import (
    Group,
    about_record,
    groups,
    hidden_by,
    named_records,
    next_command,
    place,
    severity_counts,
)
from bboxqa.report.pages.html_document import Data, render
from bboxqa.report.pages.page_file import ONE_FILE, PageTarget
from bboxqa.report.pages.pictures import Pixels, outline_path
from bboxqa.report.pages.reproduce import inputs_table, settings_table

# Boxes are drawn up to this far outside their image, as a share of its side.
_BEYOND = 4.0
# Boxes below this share of the picture are too small to see.
_SMALL = 0.01
_STYLES = ("stroke-series-1", "stroke-series-0 dash-1", "stroke-series-2 dash-2")
_OF_FILE = ("file", "exporter", "images", "annotations", "categories")


def html_lines(report: FoundReport) -> Iterator[str]:
    """Yield the page of a report, with its listed findings and without pixels."""
    yield from findings_page(report).splitlines()


def findings_page(
    report: FoundReport,
    pixels: Mapping[str, Pixels] | None = None,
    target: PageTarget = ONE_FILE,
    *,
    manifest: Mapping[str, Any] | None = None,
    command: str = "",
) -> str:
    """Return the page of a report: its files and the findings of each rule.

    Images have pictures, with their `pixels` by file name. `manifest` and `command` are those of
    the page's section on how to reproduce it.
    """
    found, pixels = groups(report), pixels or {}
    names, files = _with_boxes(found), {file.name for file in report.files}
    validated = PurePath(*files).name if len(files) == 1 else count(len(files), "file")
    number = {name: index for index, name in enumerate(names[: target.top], 1)}
    drawn: set[str] = set()
    return render(
        "findings",
        linked=target.split,
        above=target.above,
        title="Findings of bboxqa validate",
        kicker=f"Validation of {validated}",
        report=report,
        counts=severity_counts(report),
        next_step=next_command(found),
        files=Data("Content", _OF_FILE, [_file(file) for file in report.files]),
        groups=found,
        pictures={
            group.rule.code: [*_pictures(group.listed, number, pixels, drawn)] for group in found
        },
        hidden_by=hidden_by,
        place=place,
        about=about_record,
        records=_records,
        first_few=first_few,
        n_rules=len(report.rules),
        manifest=manifest,
        command=command,
        settings=None if manifest is None else settings_table(manifest),
        inputs=None if manifest is None else inputs_table(manifest["inputs"]),
        n_pictured=len(number),
        n_with_boxes=len(names),
    )


def images_with_boxes(report: FoundReport, top: int) -> dict[str, tuple[int, int]]:
    """Return the file names of images that have pictures, with their size; 0 for unknown.

    The next image with boxes of each rule is taken in turn, until there are `top`.
    """
    sizes = {
        box.image: (int(box.width or 0), int(box.height or 0))
        for finding in report.findings
        for box in finding.boxes
    }
    return {name: sizes[name] for name in _with_boxes(groups(report))[:top] if name}


def _with_boxes(found: Iterable[Group]) -> list[str]:
    """Return the file names of images with boxes: the first of each rule, then the second ones."""
    of_rule = [
        dict.fromkeys(box.image for finding in group.listed for box in finding.boxes)
        for group in found
    ]
    turns = chain.from_iterable(zip_longest(*of_rule))
    return [*dict.fromkeys(name for name in turns if name is not None)]


def _file(file: FileReport) -> list[object]:
    name = f"{file.name}: {file.kind}" if file.kind else file.name
    counts = (file.n_images, file.n_annotations, file.n_categories)
    return [name, file.exporter or "not known", *counts]


def _records(finding: Finding) -> Sequence[str]:
    """Return the records of a summary, all or the first ones."""
    return (named_records(finding) if finding.count > 1 else []) or finding.examples


def _pictures(
    listed: Iterable[Finding],
    number: Mapping[str, int],
    pixels: Mapping[str, Pixels],
    drawn: set[str],
) -> Iterator[dict[str, Any]]:
    """Yield a picture for each finding and numbered image; those `drawn` before by reference."""
    for finding in listed:
        of_image: dict[str, list[FoundBox]] = {}
        for box in finding.boxes:
            if box.image in number:
                of_image.setdefault(box.image, []).append(box)
        for name, boxes in of_image.items():
            caption = ", ".join(filter(None, (about_record(finding), name)))
            yield {
                "caption": caption or finding.pointer,
                "number": number[name],
                "is_repeated": name in drawn and name in pixels and pixels[name].address,
                **_picture(boxes, pixels.get(name)),
            }
            drawn.add(name)


def _picture(boxes: Sequence[FoundBox], found: Pixels | None) -> dict[str, Any]:
    """Return the part of the plane that is drawn, the image and its boxes, and their paths."""
    width, height = boxes[0].width, boxes[0].height
    pixels = found if found is not None and found.address else None
    if pixels is not None:
        # A wrong size in the file must not distort the image.
        width, height = float(pixels.width), float(pixels.height)
    rings = [ring for box in boxes for ring in box.rings]
    x, y = (
        [end for box in boxes for end in (box.bbox[k], box.bbox[k] + box.bbox[k + 2])]
        + [*chain.from_iterable(ring[k::2] for ring in rings)]
        for k in (0, 1)
    )
    width, height = width or max(*x, 1.0), height or max(*y, 1.0)
    styled = [*zip(boxes, cycle(_STYLES))]
    far = _BEYOND * max(width, height)
    left, top = max(min(*x, 0.0), -far), max(min(*y, 0.0), -far)
    right, bottom = min(max(*x, width), far), min(max(*y, height), far)
    return {
        "view": f"{left:.7g} {top:.7g} {right - left:.7g} {bottom - top:.7g}",
        "width": width,
        "height": height,
        "pixels": pixels,
        "note": "" if found is None else found.note,
        "n_boxes": len(boxes),
        "has_outlines": bool(rings),
        # Outlines are thinner than boxes, which would hide them. Boxes that coincide differ.
        "paths": [
            *((outline_path({"rings": box.rings}), f"{style} thin")
              for box, style in styled if box.rings),
            *((_path(box.bbox, max(right - left, bottom - top)), style) for box, style in styled),
        ],
    }  # fmt: skip


def _path(bbox: Sequence[float], side: float) -> str:
    """Return a box as the data of a path, with a ring around one too small to be seen."""
    x, y, w, h = bbox
    outline = outline_path({"bbox": bbox})
    if max(abs(w), abs(h)) > _SMALL * side:
        return outline
    radius = 2 * _SMALL * side
    half = f"a{radius:.7g} {radius:.7g} 0 0 1"
    start = f"M{x + w / 2 - radius:.7g} {y + h / 2:.7g}"
    return f"{outline}{start}{half} {2 * radius:.7g} 0{half} {-2 * radius:.7g} 0"
