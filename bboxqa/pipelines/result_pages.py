"""Pages of results, with the pixels of their worst images."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.formats.saved_results import read_saved
from bboxqa.model.findings import FoundReport
from bboxqa.pipelines.pictures import pictures, thumbnail
from bboxqa.report.pages.agreement_page import agreement_page, agreement_pages
from bboxqa.report.pages.findings_page import findings_page, pictured_images
from bboxqa.report.pages.image_pages import INDEX
from bboxqa.report.pages.page_file import PIXELS, PageTarget, page_folder, write_page, write_pages
from bboxqa.report.pages.pictures import Pixels

# Pixels of the longer side of an image in a page.
_SIDE = 640


def write_saved(folder: Path, target: PageTarget) -> None:
    """Write the page of a result that ``bboxqa agree --out`` saved to a folder.

    Raises DatasetError if the folder holds no such result, or there is no folder of images, and
    OutputError if the page cannot be written.
    """
    documents = read_saved(folder)
    with _fitting(folder):
        write_result(documents, target)


def write_result(documents: Mapping[str, Mapping[str, Any]], target: PageTarget) -> None:
    """Write the page of the json documents of a result; see `agreement_page`."""
    worst = documents.get("worst_images")
    shown = [] if worst is None else worst["images"][: target.top]
    sizes = {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in shown}
    if not target.split:
        pixels = _pixels(sizes, target.images, _inline)
        write_page(target.path, agreement_page(documents, pixels, top=target.top))
        return
    with page_folder(target.path) as folder:
        pixels = _pixels(sizes, target.images, _file_of(folder))
        write_pages(folder, agreement_pages(documents, pixels, top=target.top))


def write_report(report: FoundReport, target: PageTarget) -> None:
    """Write the page of what `validate` found."""
    if not target.split:
        write_page(target.path, report_page(report, target.images))
        return
    with page_folder(target.path) as folder:
        pixels = _pixels(pictured_images(report), target.images, _file_of(folder))
        write_pages(folder, [(INDEX, findings_page(report, pixels, linked=True))])


def report_page(report: FoundReport, images: Sequence[Path] = ()) -> str:
    """Return the page, of one file, of what `validate` found."""
    return findings_page(report, _pixels(pictured_images(report), images, _inline))


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    """Say of which folder the documents are if they do not fit together."""
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
    address_of: Callable[[int, bytes], str],
) -> dict[str, Pixels]:
    """Return the pixels of each image that can be shown.

    `sizes` are width and height by file name, 0 for unknown; `address_of` returns where the page
    finds the n-th image, from its WebP.
    """
    if not folders or not sizes:
        return {}
    found = {}
    shown = pictures([*sizes], folders, _SIDE, sizes=[*sizes.values()])
    for number, (name, picture) in enumerate(zip(sizes, shown, strict=True), 1):
        if not picture.problem:
            found[name] = Pixels(address_of(number, thumbnail(picture)), *picture.size)
    return found


def _inline(_number: int, content: bytes) -> str:
    """Return an image as a part of the page."""
    return f"data:image/webp;base64,{b64encode(content).decode()}"


def _file_of(folder: Path) -> Callable[[int, bytes], str]:
    """Return a function that writes images below a folder, and returns their relative addresses."""
    (folder / PIXELS).mkdir()

    def written(number: int, content: bytes) -> str:
        (folder / PIXELS / f"{number}.webp").write_bytes(content)
        return f"{PIXELS}/{number}.webp"

    return written
