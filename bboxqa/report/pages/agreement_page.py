"""The page of an agreement: the verdict, who and what in a line each, sections, worst images."""

from collections.abc import Iterator, Mapping
from typing import Any

from bboxqa.core.text import count
from bboxqa.model.review import MOST_REVIEWED
from bboxqa.report.methods import prose
from bboxqa.report.numbers import measure_of
from bboxqa.report.pages.html_document import render
from bboxqa.report.pages.page_file import ONE_FILE, PageTarget
from bboxqa.report.pages.pictures import (
    INDEX,
    Pixels,
    ShownImages,
    image_address,
    image_pages,
    shown_images,
    worst_first,
)
from bboxqa.report.pages.reproduce import command, inputs_table, settings_table
from bboxqa.report.pages.sections import (
    Documents,
    annotator_lines,
    annotators_section,
    categories_section,
    causes_section,
    figures_section,
    model_section,
    reference_section,
    repeats_section,
    table_rows,
    time_section,
    tracks_section,
)
from bboxqa.report.pages.verdict import is_by_chance, verdict

_SECTIONS = (
    causes_section, annotators_section, categories_section, reference_section, model_section,
    repeats_section, time_section, tracks_section,
)  # fmt: skip


def agreement_pages(
    documents: Documents,
    pixels: Mapping[str, Pixels] | None = None,
    target: PageTarget = ONE_FILE,
) -> Iterator[tuple[str, str]]:
    """Yield the page of a result of `agree` with its name, "index.html".

    Every number on it comes from the documents. Of a folder, style, script and pixels are files in
    it, and the pages of `image_pages` follow, to which its images link.

    `documents` are "summary" and "manifest", and "diagnosis" and "worst_images" if they exist: what
    ``bboxqa agree --out`` writes. `pixels` are those of images by file name.
    """
    people = [row["name"] for row in documents.get("diagnosis", {}).get("annotators", ())]
    worst = documents.get("worst_images")
    shown = worst_first(worst, every=target.split)[: target.top]
    images = shown_images(worst, shown, pixels or {}, people)
    yield INDEX, _page(documents, images, target)
    if target.split:
        yield from image_pages(images)


def _page(documents: Documents, images: ShownImages, target: PageTarget) -> str:
    summary, manifest = documents["summary"], documents["manifest"]
    diagnosis, part = documents.get("diagnosis"), summary["thresholds"][0]
    measure, title = measure_of(summary["similarity"]), _title(summary)
    told = verdict(summary, manifest["settings"], diagnosis)
    made = [
        figures_section(documents, told.sentences, measure),
        *(section for make in _SECTIONS if (section := make(documents)) is not None),
    ]
    reference = part["reference"]["name"] if "reference" in part else None
    n_images = f" on {count(summary['n_images'], 'image')}" if summary["n_images"] else ""
    anchors = {section.name: section.title for section in made}
    return render(
        "agreement",
        linked=target.split,
        above=target.above,
        title=title,
        kicker=title + n_images,
        verdict=told,
        people=annotator_lines(diagnosis),
        send_back=_send_back(documents, reference),
        anchors=anchors
        | ({"images": "Images"} if images.pictures else {})
        | {"reproduce": "How to reproduce"},
        sections=made,
        measure=measure,
        images=images,
        images_printed=target.n_images is not None,
        address_of=image_address if target.split else None,
        command=command(manifest, reference),
        citation=prose(summary, manifest),
        settings=settings_table(manifest),
        inputs=inputs_table(manifest["inputs"]),
    )


def _title(summary: Mapping[str, Any]) -> str:
    people = f"Agreement of {count(summary['n_annotators'], 'annotator')}"
    part = summary["thresholds"][0]
    alone = "reference" in part and not summary["n_images"]
    return f"{people} with {part['reference']['name']}" if alone else people


def _send_back(documents: Documents, reference: str | None) -> tuple[str, str] | None:
    """Return how much is to be looked at again, and the command that sends it to each annotator."""
    manifest, diagnosis = documents["manifest"], documents.get("diagnosis")
    rows = [] if diagnosis is None else table_rows(diagnosis["tables"]["review_images"])
    # Only the command line knows the tool.
    target = ("--send-back", "again", "--to", manifest.get("tool", "cvat"))
    send = command(manifest, reference, target)
    if not rows or not send or is_by_chance(documents["summary"]["thresholds"][0]):
        return None
    n_objects = sum(row["n_objects"] for row in rows)
    where = f"in {count(len(rows), 'image')}"
    if n_objects > MOST_REVIEWED:
        where = f"of {n_objects:,}, those that cost most"
    objects = count(min(n_objects, MOST_REVIEWED), "object")
    return f"{objects} {where}, a file for each annotator", send
