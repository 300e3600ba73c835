"""The page of what `validate` found, with pictures of the boxes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from bboxqa.core.text import one_line
from bboxqa.model.findings import FileReport, Finding, FoundBox, FoundReport
from bboxqa.report.findings.phrases import (
    Group,
    groups,
    hidden_by,
    labelled,
    place,
    severity_counts,
    subject,
)
from bboxqa.report.pages.html_document import render
from bboxqa.report.pages.pictures import Pixels

# Boxes may lie this far outside of their image, as a share of it, to be drawn.
_BEYOND = 4.0


@dataclass(frozen=True, slots=True)
class FoundPicture:
    """The boxes of a finding on their image."""

    caption: str
    view: str
    """The part of the plane that is drawn, as the viewBox of an svg: the image and its boxes."""
    width: float
    height: float
    pixels: Pixels | None
    note: str
    """Why there are no pixels, or what is wrong with them; may be empty."""
    paths: Sequence[str]


def findings_page(
    report: FoundReport,
    pixels: Mapping[str, Pixels] | None = None,
    *,
    linked: bool = False,
    above: str = "",
) -> str:
    """Return the page of a report: its files, what each rule found, and where.

    Parameters
    ----------
    report : FoundReport
    pixels : mapping of str to Pixels, optional
        The pixels of images by file name; others are blank.
    linked : bool
        Whether style and script are files beside the page.
    above : str
        The address of a page that this one leads back to; empty for none.
    """
    found = groups(report)
    return render(
        "findings",
        linked=linked,
        above=above,
        title="Findings of bboxqa validate",
        report=report,
        counts=severity_counts(report),
        next_step=_next_step(found),
        files=[_file(file) for file in report.files],
        groups=[_group(report, group, pixels or {}) for group in found],
        n_rules=len(report.rules),
    )


def _next_step(found: Sequence[Group]) -> str:
    """Return what to do about the rule that is listed first; empty where nothing was found."""
    if not found:
        return ""
    rule, fixes = found[0].rule, {finding.fix for finding in found[0].worst}
    if "safe" in fixes:
        how = "bboxqa validate … --fix mends it."
    elif "unsafe" in fixes:
        how = "bboxqa validate … --unsafe-fixes --diff shows how it could be mended."
    else:
        how = f"mend it where the file comes from; bboxqa explain {rule.code} says how."
    return f"Begin with {labelled(rule)}: {how}"


def pictured_images(report: FoundReport) -> dict[str, tuple[int, int]]:
    """Return the file names of images with pictured boxes, with their size; 0 for unknown."""
    return {
        box.image: (int(box.width or 0), int(box.height or 0))
        for finding in report.findings
        for box in finding.boxes
        if box.image
    }


def _file(file: FileReport) -> list[object]:
    name = f"{file.name}: {file.kind}" if file.kind else file.name
    return [
        name, file.exporter or "not known", file.n_images, file.n_annotations, file.n_categories
    ]  # fmt: skip


def _group(report: FoundReport, group: Group, pixels: Mapping[str, Pixels]) -> dict[str, object]:
    return {
        "rule": group.rule,
        "severity": group.severity,
        "total": group.total,
        "fix": ", ".join(dict.fromkeys(finding.fix or "none" for finding in group.listed))
        or "none",
        "rows": [_row(finding) for finding in group.listed],
        "more": group.total - len(group.listed),
        "hidden": hidden_by(report, group.rule.code),
        "pictures": [*_pictures(group.listed, pixels)],
    }


def _row(finding: Finding) -> dict[str, str]:
    return {
        "place": place(finding),
        "subject": subject(finding.ids) or finding.pointer or "whole file",
        "message": one_line(finding.message),
        "examples": ", ".join(finding.examples),
        "fix": finding.fix or "none",
    }


def _pictures(listed: Iterable[Finding], pixels: Mapping[str, Pixels]) -> Iterable[FoundPicture]:
    """Yield a picture for each finding and image that has boxes to show."""
    for finding in listed:
        of_image: dict[str, list[FoundBox]] = {}
        for box in finding.boxes:
            of_image.setdefault(box.image, []).append(box)
        for name, boxes in of_image.items():
            caption = ", ".join(filter(None, (subject(finding.ids), name)))
            yield _picture(caption or finding.pointer, boxes, pixels.get(name))


def _picture(caption: str, boxes: Sequence[FoundBox], found: Pixels | None) -> FoundPicture:
    width, height = boxes[0].width, boxes[0].height
    pixels = found if found is not None and found.address else None
    if pixels is not None:
        # A wrong size in the file must not distort the image.
        width, height = float(pixels.width), float(pixels.height)
    right = max(max(x, x + w) for x, _, w, _ in (box.bbox for box in boxes))
    bottom = max(max(y, y + h) for _, y, _, h in (box.bbox for box in boxes))
    width, height = width or max(right, 1.0), height or max(bottom, 1.0)
    left, top = inf, inf
    far = _BEYOND * max(width, height)
    for x, y, w, h in (box.bbox for box in boxes):
        left, top = min(left, x, x + w), min(top, y, y + h)
    left, top = max(min(left, 0.0), -far), max(min(top, 0.0), -far)
    right, bottom = min(max(right, width), far), min(max(bottom, height), far)
    return FoundPicture(
        caption=caption,
        view=f"{left:.7g} {top:.7g} {right - left:.7g} {bottom - top:.7g}",
        width=width,
        height=height,
        pixels=pixels,
        note="" if found is None else found.note,
        paths=[
            f"M{x:.7g} {y:.7g}h{w:.7g}v{h:.7g}H{x:.7g}z" for x, y, w, h in (b.bbox for b in boxes)
        ],
    )
