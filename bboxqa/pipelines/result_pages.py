"""Pages of results, with the pixels of their worst images."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.files import digest_of
from bboxqa.core.text import count, quoted
from bboxqa.core.types import Progress
from bboxqa.formats.choices import as_options, choices
from bboxqa.formats.saved_results import pseudonymous_documents, read_saved
from bboxqa.model.annotations import Source
from bboxqa.model.findings import FoundReport
from bboxqa.model.settings import ValidateSettings
from bboxqa.pipelines.drawing.pictures import fitted, inline, other_size, pictures, thumbnail
from bboxqa.report.findings.page import findings_page, pictured_images
from bboxqa.report.pages.agreement_page import agreement_page, agreement_pages
from bboxqa.report.pages.page_file import (
    PIXELS,
    PageTarget,
    encoded,
    page_folder,
    write_page,
    write_pages,
)
from bboxqa.report.pages.pictures import BLANK_CANVAS, INDEX, Pixels, worst_first
from bboxqa.report.pages.reproduce import validate_command
from bboxqa.report.result_files import manifest

# Longer side of an image in a page, in pixels.
_SIDE = 640
# Room for the sentence on reduced images, in characters.
_SENTENCE = 300


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
    documents = read_saved(folder)
    if pseudonyms is not None:
        documents = pseudonymous_documents(documents, pseudonyms)
    with _fitting(folder):
        return write_result(documents, target, progress)


def write_result(
    documents: Mapping[str, Mapping[str, Any]],
    target: PageTarget,
    progress: Progress | None = None,
) -> tuple[str, ...]:
    """Write the page of the JSON documents of a result, and return notes on its images.

    See `agreement_page` for the documents. `progress` is called as progress("images", done, total)
    after each image.
    """
    worst = worst_first(documents.get("worst_images"), every=target.split)
    shown = worst[: target.top]
    sizes = {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in shown}
    sources = [str(each["name"]) for each in documents["manifest"]["inputs"]]
    shown_as: Any = {"top": target.top, "above": target.above}
    on_size: tuple[str, ...] = ()
    if not target.split:
        pixels = _pixels(sizes, target.images, sources, _inline, "latter", progress)

        def make(pixels: Mapping[str, Pixels]) -> str:
            return agreement_page(documents, pixels, **shown_as)

        page, on_size = _small(make, pixels, target)
        write_page(target.path, page)
    else:
        with page_folder(target.path) as folder:
            pixels = _pixels(sizes, target.images, sources, _file_of(folder), "latter", progress)
            write_pages(folder, agreement_pages(documents, pixels, **shown_as))
    return (*_notes(pixels), *on_size, *_fewer(documents.get("worst_images"), target))


def write_report(
    report: FoundReport,
    target: PageTarget,
    progress: Progress | None = None,
    settings: ValidateSettings | None = None,
    ground_truth: Path | None = None,
) -> tuple[str, ...]:
    """Write the page of a report of `validate`, and return notes as `write_result` does.

    With the settings of `validate`, the page shows how to reproduce it.
    """
    made = _made(report, target.images, settings, ground_truth)
    if not target.split:
        page, notes = _findings(report, target, made, progress)
        write_page(target.path, page)
        return notes
    sizes = pictured_images(report, target.top)
    sources = [file.name for file in report.files]
    with page_folder(target.path) as folder:
        pixels = _pixels(sizes, target.images, sources, _file_of(folder), "former", progress)
        page = findings_page(report, pixels, top=target.top, linked=True, **made)
        write_pages(folder, [(INDEX, page)])
    return _notes(pixels)


def report_page(
    report: FoundReport,
    images: Sequence[Path] = (),
    settings: ValidateSettings | None = None,
    *,
    above: str = "",
) -> str:
    """Return the page of a report of `validate` as one file; `above` as in `PageTarget`."""
    made = _made(report, images, settings)
    page, _ = _findings(report, PageTarget(Path(), images, above=above), made)
    return page


def _made(
    report: FoundReport,
    images: Sequence[Path],
    settings: ValidateSettings | None,
    ground_truth: Path | None = None,
) -> dict[str, Any]:
    """Return how a report was made, for its page; nothing without settings."""
    if settings is None:
        return {}
    names = [file.name for file in report.files]
    files = [path for path in map(Path, names) if path.is_file()]
    sources = [Source(str(path), path.stat().st_size, digest_of(path)) for path in files]
    reading = as_options(choices())
    found = manifest(settings, sources, reading)
    defaults = msgspec.json.decode(msgspec.json.encode(ValidateSettings()))
    given = {"images": [*map(str, images)]} | {name: [text] for name, text in reading.items()}
    given["ground_truth"] = [] if ground_truth is None else [str(ground_truth)]
    command = validate_command(names, found["settings"], defaults, given)
    return {"manifest": found, "command": command}


def _findings(
    report: FoundReport,
    target: PageTarget,
    made: Mapping[str, Any],
    progress: Progress | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the page of a report of `validate` as one file, and notes on it."""
    sizes = pictured_images(report, target.top)
    sources = [file.name for file in report.files]
    pixels = _pixels(sizes, target.images, sources, _inline, "former", progress)

    def make(pixels: Mapping[str, Pixels]) -> str:
        return findings_page(report, pixels, top=target.top, above=target.above, **made)

    page, on_size = _small(make, pixels, target)
    return page, (*_notes(pixels), *on_size)


def _small(
    make: Callable[[Mapping[str, Pixels]], str], pixels: Mapping[str, Pixels], target: PageTarget
) -> tuple[str, tuple[str, ...]]:
    """Return a page with images reduced until it is small enough, and notes on its size.

    `make` returns the page with some pixels.
    """
    page, notes = make(pixels), list[str]()
    over = len(encoded(page)) - target.most_bytes
    held = sum(len(each.address) for each in pixels.values())
    if over > 0 and held:
        # The page says how many are reduced.
        shown = fitted(pixels, held - over - _SENTENCE)
        page = make(shown)
        n_reduced = sum(each.is_reduced for each in shown.values())
        notes.append(
            f"{count(n_reduced, 'image')} reduced further than usual, so that the page has at most "
            f"{target.most_bytes / 1e6:.0f} MB; --split shows up to {_SIDE} pixels of each"
        )
    if (size := len(encoded(page))) > target.most_bytes:
        notes.append(
            f"the page has {size / 1e6:.1f} MB, most of it for what is drawn on images: --top "
            f"{target.top // 2} shows fewer, and --split writes a folder of pages"
        )
    return page, tuple(notes)


def _fewer(worst: Mapping[str, Any] | None, target: PageTarget) -> tuple[str, ...]:
    """Return a note if more images were asked for than a result keeps."""
    kept = 0 if worst is None else len(worst["images"])
    if worst is None or kept >= min(target.n_images or 0, worst["n_images"]):
        return ()
    note = (
        f"--top {target.n_images}: the result keeps its {kept:,} worst images, and no page shows "
        f"more; `bboxqa agree --top {target.n_images}` keeps more, up to 200,000 annotations"
    )
    return (note if target.split else f"{note}; --split writes a folder that opens faster",)


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    """Name the folder in the error if its documents contradict each other."""
    from jinja2 import UndefinedError

    try:
        yield
    except (
        KeyError, TypeError, ValueError, AttributeError, IndexError, UndefinedError,
    ) as error:  # fmt: skip
        raise DatasetError(
            [f"{folder}: its files do not fit together: {type(error).__name__}: {error}"],
            "They may be of another version, or edited: make the result again.",
        ) from error


def _pixels(
    sizes: Mapping[str, tuple[int, int]],
    folders: Sequence[Path],
    sources: Sequence[str],
    address_of: Callable[[int, bytes], str],
    drawn_as: str,
    progress: Progress | None = None,
) -> dict[str, Pixels]:
    """Return the pixels of each image, or why it has none.

    `sizes` are width and height by file name, 0 for unknown; images are also looked for beside
    `sources`, the files of annotations; `address_of` returns the URL of the
    n-th image, given its WebP. `drawn_as` is "former" if the page draws images in the size of the
    file, and "latter" if in that of the data.
    """
    if not folders or not sizes:
        return {}
    found = {}
    shown = pictures(
        [*sizes], folders, _SIDE, sizes=[*sizes.values()], sources=sources,
        progress=progress,
    )  # fmt: skip
    for number, (name, picture) in enumerate(zip(sizes, shown, strict=True), 1):
        if picture.problem:
            found[name] = Pixels("", *picture.size, problem=picture.problem)
        else:
            remark = other_size(picture.size, sizes[name], drawn_as)
            address = address_of(number, thumbnail(picture))
            found[name] = Pixels(address, *picture.size, remark=remark)
    return found


def _notes(found: Mapping[str, Pixels]) -> tuple[str, ...]:
    """Return numbers of images that are not shown or of another size, with the first reason."""
    lacking = [each.problem for each in found.values() if each.problem]
    other = [f"{quoted(name)}: {each.remark}" for name, each in found.items() if each.remark]
    reasons_by_kind = {
        BLANK_CANVAS: lacking,
        "of another size than the data say": other,
    }
    return tuple(
        f"{len(reasons):,} of {count(len(found), 'image')} {what}, see the page; "
        f"the first: {reasons[0]}"
        for what, reasons in reasons_by_kind.items()
        if reasons
    )


def _inline(_number: int, content: bytes) -> str:
    return inline(content)


def _file_of(folder: Path) -> Callable[[int, bytes], str]:
    """Return a function that writes images below a folder, and returns their relative addresses."""
    (folder / PIXELS).mkdir()

    def written(number: int, content: bytes) -> str:
        (folder / PIXELS / f"{number}.webp").write_bytes(content)
        return f"{PIXELS}/{number}.webp"

    return written
