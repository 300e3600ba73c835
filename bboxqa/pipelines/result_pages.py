"""Pages of results, with the pixels of their worst images."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.arrays import Progress
from bboxqa.core.errors import DatasetError
from bboxqa.core.files import digest_of, write_atomically
from bboxqa.core.text import count, quoted
from bboxqa.formats.saved_results import pseudonymous_documents, read_saved
from bboxqa.model.annotations import NO_CHOICES, Choices, Source
from bboxqa.model.findings import FoundReport
from bboxqa.model.settings import ValidateSettings
from bboxqa.pipelines.pictures import inline, other_size, pictures, thumbnail
from bboxqa.report.agreement_page import agreement_pages
from bboxqa.report.audit import AuditResult, audit_page, pictured_images
from bboxqa.report.finding_formats import findings_page, images_with_boxes
from bboxqa.report.pages import INDEX, PIXELS, PageTarget, encoded, page_folder
from bboxqa.report.pictures import BLANK_CANVAS, Pixels, worst_first
from bboxqa.report.reproduction import validate_command
from bboxqa.report.result_files import manifest

# Longer side of an image in a page, in pixels.
_SIDE = 640


class PageImages(msgspec.Struct, frozen=True):
    """The images of a page: width and height by file name, 0 for unknown.

    They are also looked for beside `sources`, the files of annotations. `drawn_as` is "former" if
    the page draws images in the size of the file, and "latter" if in that of the data.
    """

    sizes: Mapping[str, tuple[int, int]]
    sources: Sequence[str]
    drawn_as: str

    def pixels(
        self, target: PageTarget, progress: Progress | None = None, folder: Path | None = None
    ) -> dict[str, Pixels]:
        """Return the pixels of each image, or why it has none; as files below a folder, if any."""
        if folder is not None:
            (folder / PIXELS).mkdir()
        if not target.images or not self.sizes:
            return {}
        shown = pictures(
            [*self.sizes], target.images, _SIDE, sizes=[*self.sizes.values()],
            sources=self.sources, progress=progress,
        )  # fmt: skip
        found = {}
        for number, (name, picture) in enumerate(zip(self.sizes, shown, strict=True), 1):
            remark = address = ""
            if not picture.problem:
                remark = other_size(picture.size, self.sizes[name], self.drawn_as)
                address = (
                    inline(thumbnail(picture)) if folder is None else f"{PIXELS}/{number}.webp"
                )
                if folder is not None:
                    (folder / address).write_bytes(thumbnail(picture))
            found[name] = Pixels(address, *picture.size, picture.problem, remark)
        return found


def sizes_of(images: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return width and height by file name of images of the document "worst_images"."""
    return {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in images}


def write_saved(
    folder: Path,
    target: PageTarget,
    progress: Progress | None = None,
    pseudonyms: Path | None = None,
) -> tuple[str, ...]:
    """Write the page of a result that ``bboxqa agree --out`` saved to a folder.

    With a key of pseudonyms, these replace names.

    Returns notes, as `write_result` does. Raises DatasetError if the folder holds no such result,
    or there is no folder of images, and OutputError if the page cannot be written.
    """
    from jinja2 import UndefinedError

    documents = read_saved(folder)
    if pseudonyms is not None:
        documents = pseudonymous_documents(documents, pseudonyms)
    try:
        return write_result(documents, target, progress)
    except (LookupError, TypeError, ValueError, AttributeError, UndefinedError) as error:
        raise DatasetError(
            [f"{folder}: its files do not fit together: {type(error).__name__}: {error}"],
            "They may be of another version, or edited: make the result again.",
        ) from error


def write_result(
    documents: Mapping[str, Mapping[str, Any]], target: PageTarget, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write the page of the JSON documents of a result, and return notes on its images.

    See `agreement_pages` for the documents. `progress` is called as progress("images", done, total)
    after each image.
    """
    worst = documents.get("worst_images")
    shown = worst_first(worst, every=target.split)[: target.top]
    sizes = sizes_of(shown)
    inputs = [str(each["name"]) for each in documents["manifest"]["inputs"]]

    def pages(pixels: Mapping[str, Pixels]) -> Iterator[tuple[str, str]]:
        return agreement_pages(documents, pixels, target)

    notes = write_with_pixels(target, PageImages(sizes, inputs, "latter"), pages, progress)
    kept = 0 if worst is None else len(worst["images"])
    if worst is not None and kept < min(target.n_images or 0, worst["n_images"]):
        note = (
            f"--top {target.n_images}: the result keeps its {kept:,} worst images; `bboxqa agree "
            f"--top {target.n_images}` keeps more, up to 200,000 annotations"
        )
        notes = (*notes, note)
    return notes


def write_report(
    report: FoundReport,
    target: PageTarget,
    progress: Progress | None = None,
    settings: ValidateSettings | None = None,
    ground_truth: Path | None = None,
    choices: Choices = NO_CHOICES,
) -> tuple[str, ...]:
    """Write the page of a report of `validate`, and return notes as `write_result` does.

    With the settings of `validate`, the page shows how to reproduce it.
    """
    made = _made(report, target.images, settings, choices, ground_truth)
    sizes = images_with_boxes(report, target.top)
    images = PageImages(sizes, [file.name for file in report.files], "former")

    def page(pixels: Mapping[str, Pixels]) -> str:
        return findings_page(report, pixels, target, **made)

    return write_with_pixels(target, images, page, progress)


def write_audit_page(
    result: AuditResult, target: PageTarget, command: str, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write the page of an audit, made by a command, and return notes as `write_result` does."""
    pictures = pictured_images(result, target.top)
    images = PageImages(sizes_of(pictures), [each.name for each in result.sources], "latter")

    def page(pixels: Mapping[str, Pixels]) -> str:
        return audit_page(result, pictures, pixels, target, command)

    return write_with_pixels(target, images, page, progress)


def write_with_pixels(
    target: PageTarget,
    images: PageImages,
    made: Callable[[Mapping[str, Pixels]], str | Iterator[tuple[str, str]]],
    progress: Progress | None,
) -> tuple[str, ...]:
    """Write a page, or several with their names, that show some pixels, and return notes."""
    notes: list[str] = []
    if target.split:
        with page_folder(target.path) as folder:
            found = made(pixels := images.pixels(target, progress, folder))
            for name, page in [(INDEX, found)] if isinstance(found, str) else found:
                (folder / name).write_bytes(encoded(page))
    else:
        found = made(pixels := images.pixels(target, progress))
        content = encoded(found if isinstance(found, str) else next(found)[1])
        write_atomically(target.path, content)
        if len(content) > target.most_bytes:
            notes.append(
                f"the page has {len(content) / 1e6:.1f} MB: --top {target.top // 2} shows fewer "
                "images, --split writes a folder of pages"
            )
    lacking = [each.problem for each in pixels.values() if each.problem]
    other = [f"{quoted(name)}: {each.remark}" for name, each in pixels.items() if each.remark]
    kinds = ((BLANK_CANVAS, lacking), ("of another size than the data say", other))
    shown = [
        f"{len(reasons):,} of {count(len(pixels), 'image')} {what}, see the page; the first: "
        f"{reasons[0]}"
        for what, reasons in kinds
        if reasons
    ]
    return (*shown, *notes)


def _made(
    report: FoundReport,
    images: Sequence[Path],
    settings: ValidateSettings | None,
    choices: Choices,
    ground_truth: Path | None = None,
) -> dict[str, Any]:
    """Return how a report was made, for its page; nothing without settings."""
    if settings is None:
        return {}
    names = [file.name for file in report.files]
    files = [path for path in map(Path, names) if path.is_file()]
    sources = [Source(str(path), path.stat().st_size, digest_of(path)) for path in files]
    found = manifest(settings, sources, choices)
    given = {"images": [*map(str, images)]} | {
        name: [text] for name, text in found["reading"].items()
    }
    given["ground_truth"] = [] if ground_truth is None else [str(ground_truth)]
    command = validate_command(names, found["settings"], given)
    return {"manifest": found, "command": command}
