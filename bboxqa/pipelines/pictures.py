"""Pictures of images for drawings, and pages of results with those of their worst images."""

import warnings
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import ByteArray, FrozenArrays, Progress
from bboxqa.core.errors import DatasetError
from bboxqa.core.files import digest_of, write_atomically
from bboxqa.core.image_opening import MOST_PIXELS, MOST_WHOLE, SIDEWAYS, opened, reason_of, turn_of
from bboxqa.core.text import as_written, count, quoted
from bboxqa.model.annotations import NO_CHOICES, Choices, Source
from bboxqa.model.findings import FoundReport
from bboxqa.model.settings import ValidateSettings
from bboxqa.report.agreement_page import agreement_pages
from bboxqa.report.finding_formats import findings_by_image, page_values
from bboxqa.report.pages import INDEX, PIXELS, PageTarget, encoded, page_folder, render
from bboxqa.report.pictures import BLANK_CANVAS, Pixels, shown_images, worst_first
from bboxqa.report.result_files import manifest, read_saved
from bboxqa.rules.pictures import ImageSearch, ImageState, Place, check_folders

# Percentiles of images of more than 8 bits that are shown as black and white.
_PERCENTILES = (2, 98)
_UNKNOWN = "it is not an image of a known format, or its header is broken"
# Pillow's transpose method for each EXIF orientation other than 1.
_TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270",
    7: "TRANSVERSE", 8: "ROTATE_90",
}  # fmt: skip
_QUALITY = 80


class Picture(FrozenArrays, frozen=True, eq=False):
    """The pixels of an image file, upright and reduced where necessary."""

    pixels: ByteArray
    """(H, W, 3) uint8. Red, green and blue; (0, 0, 3) where the file cannot be shown."""
    size: tuple[int, int]
    """Width and height of the whole image, upright; (0, 0) for unknown."""
    problem: str = ""
    """Why the image cannot be shown; "" if it can."""
    file: str = ""
    """The path of the file; "" if it was not found."""


_NO_PIXELS: ByteArray = np.zeros((0, 0, 3), np.uint8)


def pictures(
    names: Sequence[str],
    folders: Sequence[Path],
    side: int,
    *,
    sizes: Sequence[tuple[int, int]] | None = None,
    sources: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[Picture]:
    """Yield the picture of each file name, which is also looked for beside `sources`."""
    check_folders(folders)
    known = sizes or [(0, 0)] * len(names)
    places = _places(names, folders, [*map(Path, sources)])
    for done, (name, place, size) in enumerate(zip(names, places, known, strict=True), 1):
        if place.state == ImageState.FOUND:
            found = read_pixels(Path(place.file), side, size)
            problem = f"{quoted(name)}: {found.problem}" if found.problem else ""
            yield replace(found, problem=problem, file=place.file)
        else:
            where = ", ".join(map(str, folders))
            problem = f"there is no file {quoted(name)} in {where}"
            if place.state == ImageState.OUTSIDE:
                problem = f"{quoted(name)} leads out of the folder of images; it was not opened"
            elif place.problem:
                problem = f"{quoted(name)}: {place.problem}"
            yield Picture(_NO_PIXELS, (0, 0), problem)
        if progress is not None:
            progress("images", done, len(names))


def other_size(found: tuple[int, int], said: tuple[int, int]) -> str:
    """Return a note if the size of an image in the data is not that of its file; else ""."""
    if 0 in said or found == said:
        return ""
    in_file, in_data = (f"{width:,} × {height:,}" for width, height in (found, said))
    return f"the file has {in_file} pixels, the data say {in_data}"


def read_pixels(path: Path, side: int, size: tuple[int, int] = (0, 0)) -> Picture:
    """Return the pixels of a regular file, or why it cannot be shown."""
    from PIL import UnidentifiedImageError

    try:
        # Warnings of decoders do not matter for a drawing.
        with (
            path.open("rb") as file,
            warnings.catch_warnings(action="ignore"),
            opened(file) as image,
        ):
            stored = (int(image.width), int(image.height))
            n_pixels = image.width * image.height
            if image.format in ("JPEG", "MPO"):
                # JPEG decodes far faster at a lower resolution, but not if it is progressive.
                image.draft("RGB", (side, side))
            n_decoded = image.width * image.height
            n_decoded = n_pixels if image.info.get("progressive") else n_decoded
            if n_decoded > MOST_WHOLE or n_pixels > MOST_PIXELS:
                problem = f"it is too large to be decoded: {stored[0]:,} × {stored[1]:,} pixels"
                return Picture(_NO_PIXELS, stored, problem)
            # The metadata of PNG may follow the pixels.
            image.load()
            # Pillow turns TIFF itself.
            turn = 1 if image.format == "TIFF" else turn_of(image)
            shown = stored[::-1] if turn in SIDEWAYS else stored
            if size == stored != shown:
                turn, shown = 1, stored
            return Picture(_upright(image, turn, side), shown)
    except UnidentifiedImageError:
        return Picture(_NO_PIXELS, (0, 0), _UNKNOWN)
    # Decoders raise any exception for broken files.
    except Exception as error:  # noqa: BLE001
        return Picture(_NO_PIXELS, (0, 0), f"it cannot be decoded: {reason_of(error)}")


def _upright(image: Any, turn: int, side: int) -> ByteArray:
    """Return the pixels of an open image in colour on white, turned and reduced."""
    from PIL import Image

    if image.mode.startswith("I;") or image.mode in ("I", "F"):
        values = np.asarray(image).astype(np.float32)
        finite = values[np.isfinite(values)]
        low, high = np.percentile(finite, _PERCENTILES) if finite.size else (0, 1)
        share = (np.nan_to_num(values, nan=low) - low) / max(high - low, 1e-9)
        image = Image.fromarray((np.clip(share, 0, 1) * 255).round().astype(np.uint8))
    elif image.has_transparency_data:
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    image = image.convert("RGB")
    image.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=2)
    if turn in _TURNS:
        image = image.transpose(Image.Transpose[_TURNS[turn]])
    return np.asarray(image)


def _places(names: Sequence[str], folders: Sequence[Path], sources: Sequence[Path]) -> list[Place]:
    """Return the place of the file of each name below folders; see `ImageSearch`."""
    search = ImageSearch([folder.resolve() for folder in folders], sources)
    places = search.find(names)
    for number, name in enumerate(names):
        if places[number].state != ImageState.FOUND:
            spelled = [as_written(name), normalize("NFC", name), normalize("NFD", name)]
            found = [each for each in search.find(spelled) if each.state == ImageState.FOUND]
            if len({each.file.lower() for each in found}) == 1:
                places[number] = found[0]
    return places


def thumbnail(picture: Picture) -> bytes:
    """Return a picture as WebP."""
    from PIL import Image

    content = BytesIO()
    Image.fromarray(picture.pixels).save(content, "WEBP", quality=_QUALITY, method=4)
    return content.getvalue()


# Longer side of an image in a page, in pixels.
_SIDE = 640


def sizes_of(images: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return width and height by file name of images of the document "worst_images"."""
    return {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in images}


def write_saved(
    folder: Path, target: PageTarget, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write the page of a result that ``bboxqa agree --out`` saved to a folder."""
    from jinja2 import UndefinedError

    documents = read_saved(folder)
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
    """Write the page of the JSON documents of a result, and return notes on its images."""
    worst = documents.get("worst_images")
    shown = worst_first(worst, every=target.split)[: target.top]
    sizes = sizes_of(shown)
    inputs = [str(each["name"]) for each in documents["manifest"]["inputs"]]
    pages = partial(agreement_pages, documents, target=target)
    return write_with_pixels(target, sizes, inputs, pages, progress)


def write_report(
    report: FoundReport,
    target: PageTarget,
    progress: Progress | None,
    settings: ValidateSettings,
    choices: Choices = NO_CHOICES,
    command: str = "",
) -> tuple[str, ...]:
    """Write the page of a report of `validate`, and return notes as `write_result` does."""
    every, names = findings_by_image(report), [file.name for file in report.files]
    files = [path for path in map(Path, names) if path.is_file()]
    sources = [Source(str(path), path.stat().st_size, digest_of(path)) for path in files]
    made = manifest(settings, sources, choices)
    values = page_values(report, target, manifest=made, command=command)
    return write_images_page(
        "findings", target, every[: target.top], len(every), names, progress, styles={}, **values
    )


def write_images_page(
    template: str,
    target: PageTarget,
    images: Sequence[Mapping[str, Any]],
    n_images: int,
    sources: Sequence[str],
    progress: Progress | None = None,
    every: Sequence[str] = (),
    styles: Mapping[str, str] | None = None,
    **values: Any,
) -> tuple[str, ...]:
    """Write a page of a template with values and images, and return notes on its images."""

    def page(pixels: Mapping[str, Pixels]) -> str:
        worst = {"n_images": n_images, "measure": "IoU"}
        shown = shown_images(worst, images, pixels, every, styles)
        return render(template, linked=target.split, images=shown, **values)

    return write_with_pixels(target, sizes_of(images), sources, page, progress)


def write_with_pixels(
    target: PageTarget,
    sizes: Mapping[str, tuple[int, int]],
    sources: Sequence[str],
    made: Callable[[Mapping[str, Pixels]], str | Iterator[tuple[str, str]]],
    progress: Progress | None,
) -> tuple[str, ...]:
    """Write a page, or several with their names, that show some pixels, and return notes."""
    pixels: dict[str, Pixels] = {}
    with page_folder(target.path) if target.split else nullcontext() as folder:
        if folder is not None:
            (folder / PIXELS).mkdir()
        names = [*sizes] if target.images else []
        shown = pictures(
            names, target.images, _SIDE, sizes=[*sizes.values()], sources=sources,
            progress=progress,
        ) if names else ()  # fmt: skip
        for number, (name, picture) in enumerate(zip(names, shown, strict=True), 1):
            remark = address = ""
            if not picture.problem:
                remark, content = other_size(picture.size, sizes[name]), thumbnail(picture)
                address = f"{PIXELS}/{number}.webp"
                if folder is None:
                    address = "data:image/webp;base64," + b64encode(content).decode()
                else:
                    (folder / address).write_bytes(content)
            pixels[name] = Pixels(address, *picture.size, picture.problem, remark)
        found = made(pixels)
        if folder is not None:
            for name, page in [(INDEX, found)] if isinstance(found, str) else found:
                (folder / name).write_bytes(encoded(page))
    if not target.split:
        page = found if isinstance(found, str) else next(found)[1]
        write_atomically(target.path, encoded(page))
    lacking = [each.problem for each in pixels.values() if each.problem]
    other = [f"{quoted(name)}: {each.remark}" for name, each in pixels.items() if each.remark]
    kinds = ((BLANK_CANVAS, lacking), ("of another size than the data say", other))
    return tuple(
        f"{len(reasons):,} of {count(len(pixels), 'image')} {what}, see the page; the first: "
        f"{reasons[0]}"
        for what, reasons in kinds
        if reasons
    )
