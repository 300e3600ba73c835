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
    time_section,
    tracks_section,
)
from bboxqa.report.verdict import headline, is_by_chance, next_step

_SECTIONS = (
    causes_section, annotators_section, categories_section, reference_section, model_section,
    repeats_section, time_section, tracks_section,
)  # fmt: skip


def agreement_pages(
    files: Mapping[str, Mapping[str, Any]],
    pixels: Mapping[str, Pixels] | None = None,
    target: PageTarget = ONE_FILE,
) -> Iterator[tuple[str, str]]:
    """Yield the page of a result of `agree` with its name, "index.html".

    Every number on it comes from the files. Of a folder, style, script and pixels are files in it,
    and the pages of `image_pages` follow, to which its images link.

    `files` are "summary" and "manifest", and "diagnosis" and "worst_images" if they exist: what
    ``bboxqa agree --out`` writes. `pixels` are those of images by file name.
    """
    of = Documents(files)
    shown = worst_first(of.worst, every=target.split)[: target.top]
    images = shown_images(of.worst, shown, pixels or {}, [row["name"] for row in of.people])
    yield INDEX, _page(of, images, target)
    if target.split:
        yield from image_pages(images)


def _page(of: Documents, images: ShownImages, target: PageTarget) -> str:
    summary, manifest = of.summary, of.manifest
    measure, title = measure_of(summary["similarity"]), _title(of)
    status, told, *sentences = headline(summary["thresholds"], manifest["settings"])
    made = [
        figures_section(of, sentences, measure),
        *(section for make in _SECTIONS if (section := make(of)) is not None),
    ]
    reference = of.part["reference"]["name"] if "reference" in of.part else None
    n_images = f" on {count(summary['n_images'], 'image')}" if summary["n_images"] else ""
    anchors = {section.name: section.title for section in made}
    return render(
        "agreement",
        linked=target.split,
        above=target.above,
        title=title,
        kicker=title + n_images,
        status=status,
        verdict=told,
        next_step=next_step(of.part, of.diagnosis),
        people=annotator_lines(of),
        send_back=_send_back(of, reference),
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


def _title(of: Documents) -> str:
    people = f"Agreement of {count(of.summary['n_annotators'], 'annotator')}"
    alone = "reference" in of.part and not of.summary["n_images"]
    return f"{people} with {of.part['reference']['name']}" if alone else people


def _send_back(of: Documents, reference: str | None) -> tuple[str, str] | None:
    """Return how much is to be looked at again, and the command that sends it to each annotator."""
    rows = of.rows("review_images")
    # Only the command line knows the tool.
    target = ("--send-back", "again", "--to", of.manifest.get("tool", "cvat"))
    send = command(of.manifest, reference, target)
    if not rows or not send or is_by_chance(of.part):
        return None
    n_objects = sum(row["n_objects"] for row in rows)
    where = f"in {count(len(rows), 'image')}"
    if n_objects > MOST_REVIEWED:
        where = f"of {n_objects:,}, those that cost most"
    objects = count(min(n_objects, MOST_REVIEWED), "object")
    return f"{objects} {where}, a file for each annotator", send
