"""A page of a result, with the pixels of its worst images."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.formats.saved_results import read_saved
from bboxqa.model.findings import FoundReport
from bboxqa.pipelines.pictures import pictures, thumbnail
from bboxqa.report.pages.agreement_page import TOP, agreement_page
from bboxqa.report.pages.findings_page import findings_page, pictured_images
from bboxqa.report.pages.pictures import Pixels

# Pixels of the longer side of an image in a page.
_SIDE = 640


def saved_page(folder: Path, images: Sequence[Path] = (), *, top: int = TOP) -> str:
    """Return the page of a result that ``bboxqa agree --out`` saved.

    Raises DatasetError if the folder holds no such result, or there is no folder of `images`.

    Parameters
    ----------
    folder : Path
    images : sequence of Path
        Folders of image files; nothing outside them is opened.
    top : int
        How many of the worst images the page shows.
    """
    from jinja2 import UndefinedError

    documents = read_saved(folder)
    try:
        return result_page(documents, images, top=top)
    except (
        KeyError, TypeError, ValueError, AttributeError, IndexError, UndefinedError,
    ) as error:  # fmt: skip
        raise DatasetError(
            [f"{folder}: its files do not fit together: {type(error).__name__}: {error}"],
            "They may be of another version, or edited: make the result again.",
        ) from error


def result_page(
    documents: Mapping[str, Mapping[str, Any]], images: Sequence[Path] = (), *, top: int = TOP
) -> str:
    """Return the page of the json documents of a result; see `agreement_page` and `saved_page`."""
    worst = documents.get("worst_images")
    shown = [] if worst is None else worst["images"][:top]
    sizes = {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in shown}
    return agreement_page(documents, _pixels(sizes, images), top=top)


def report_page(report: FoundReport, images: Sequence[Path] = ()) -> str:
    """Return the page of what `validate` found; nothing outside of `images` is opened."""
    return findings_page(report, _pixels(pictured_images(report), images))


def _pixels(sizes: Mapping[str, tuple[int, int]], folders: Sequence[Path]) -> dict[str, Pixels]:
    """Return the pixels of each image that can be shown, as a part of the page.

    `sizes` are width and height by file name, 0 for unknown.
    """
    if not folders or not sizes:
        return {}
    found = {}
    shown = pictures([*sizes], folders, _SIDE, sizes=[*sizes.values()])
    for name, picture in zip(sizes, shown, strict=True):
        if not picture.problem:
            data = b64encode(thumbnail(picture)).decode()
            found[name] = Pixels(f"data:image/webp;base64,{data}", *picture.size)
    return found
