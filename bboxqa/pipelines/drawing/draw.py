"""From files and images to drawings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

import msgspec

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.json_values import document_bytes
from bboxqa.core.text import count, unknown_name
from bboxqa.core.types import AnyPath, Progress
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.document import RawDocument
from bboxqa.formats.registry import document_of
from bboxqa.formats.scanner import read_bytes
from bboxqa.formats.sources import as_paths, files_read, list_files
from bboxqa.model.annotations import Dataset
from bboxqa.model.choices import NO_CHOICES, Choices
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.pipelines.drawing.pictures import other_size, pictures
from bboxqa.pipelines.drawing.scenes import chosen_image, data_scene, finding_scene
from bboxqa.pipelines.read import AS_COMPARED, Data, is_document, paths_of, read_for
from bboxqa.pipelines.settings import settings_of_keywords
from bboxqa.report.charts.axes import fonts_for, missing_note, page_style
from bboxqa.report.drawing.drawing import Drawing, bounds, draw_scene, drawn_texts, scene_figure
from bboxqa.report.drawing.scene import By, Scene
from bboxqa.rules.facts.document import Document
from bboxqa.rules.people import names_hidden, people_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pixels of the longer side: 8 inches at 300 dots per inch.
_SIDE = 2400
_EMPTY = "nobody drew a box in this image (--similarity keypoints draws key points)"
_INSTEAD = "; --by category --side-by-side shows categories as colours, annotators as panels"

Source = Dataset | Data
Folders = AnyPath | Sequence[AnyPath] | None


def draw(
    source: Source,
    image: str | int,
    *,
    images: Folders = None,
    by: By | None = None,
    side_by_side: bool = False,
    ax: "Axes | None" = None,
    **settings: Unpack[AgreeKeywords],
) -> Drawing:
    """Draw an image with its annotations.

    Parameters
    ----------
    source : Dataset, or what `read` takes
        What `read` returns, or what it reads; the files may name no annotators.
    image : str or int
        File name or id of the image; ids are looked for in files and documents only.
    images : path or sequence of paths, optional
        Folders of the images; nothing outside them is opened. Without it, or where the file is not
        there, the annotations are drawn on a blank canvas.
    by : {"annotator", "category", "unit", "finding"}, optional
        What colours stand for: the annotator (default; labels name the category), the category (the
        default if fewer than two annotators are named), the matched unit, or the severity of the
        findings of `validate`. "finding" draws only annotations with findings, and needs a file or
        a document.
    side_by_side : bool
        Whether each annotator has a panel of its own.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a figure of its own.
    **settings
        As for `agree`; those of matching decide the units.

    Returns
    -------
    Drawing

    Raises
    ------
    ConfigError
        If a setting is not known, has a wrong type, or contradicts another.
    DatasetError
        If there is no such image, or the files cannot be read.

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> drawing = draw(example_file("fruits"), "fruits.png")
    >>> len(drawing.axes), drawing.notes
    (1, ())
    """
    checked = settings_of_keywords(settings)
    return draw_with(
        source,
        image,
        checked,
        images=images,
        by=by,
        side_by_side=side_by_side,
        ax=ax,
        choices=given(),
    )


def draw_with(
    source: Source,
    image: str | int,
    settings: AgreeSettings,
    *,
    images: Folders = None,
    by: By | None = None,
    side_by_side: bool = False,
    ax: "Axes | None" = None,
    pseudonyms: Path | None = None,
    choices: Choices = NO_CHOICES,
    progress: Progress | None = None,
) -> Drawing:
    """Draw an image with checked settings; see `draw`, and `read` for `pseudonyms`."""
    if by is not None and by not in get_args(By):
        raise ConfigError(unknown_name(by, get_args(By)), "by")
    if ax is not None and side_by_side:
        raise ConfigError("side_by_side draws a figure of its own; leave it or ax out")
    reading = replace(
        AS_COMPARED, digest=False, min_annotators=1, by_files="typed", outlines=True,
        choices=choices, pseudonyms=pseudonyms, progress=progress,
    )  # fmt: skip
    with names_hidden(pseudonyms, paths_of(source), settings.filter, choices):
        if by == "finding":
            documents = [*map(Document, _readings(source, settings.filter, choices))]
            if not documents:
                raise DatasetError(["there is no file in which rules could find anything"])
            scene, notes = finding_scene(documents, image, people_of(documents, pseudonyms))
            sources = [each.reading.name for each in documents]
        else:
            scene, by, notes, sources = _scene(source, image, settings, by, reading)
            notes += [] if scene.shapes else [_EMPTY]
    scene, of_pixels, file = _with_pixels(scene, images, sources)
    scene, of_size = _with_size(scene, "findings" if by == "finding" else "annotations")
    texts = drawn_texts(scene, by, side_by_side=side_by_side)
    with page_style(), fonts_for(texts) as missing:
        if ax is None:
            drawn, n_hidden = scene_figure(scene, by, side_by_side=side_by_side)
            axes = tuple(drawn.axes)
        else:
            n_hidden = draw_scene(ax, scene, by)
            axes = (ax,)
    figure: Any = axes[0].figure
    if n_hidden:
        instead = "" if side_by_side else _INSTEAD
        notes.append(f"there was no room for {count(n_hidden, 'label')}{instead}")
    if missing:
        notes.append(missing_note(missing))
    read = (*files_read(paths_of(source)), *map(Path, file))
    return Drawing(scene.name, by, figure.figure, axes, (*of_pixels, *of_size, *notes), read)


def _scene(
    source: Source, image: str | int, settings: AgreeSettings, by: By | None, reading: Reading
) -> tuple[Scene, By, list[str], list[str]]:
    """Return an image of a data set, the meaning of its colours, notes, and the files read."""
    if isinstance(source, Dataset):
        data = source
    else:
        # No checks: a drawing should show defects as well.
        data = read_for(source, msgspec.structs.replace(settings, checks=False), reading)

    def records() -> Iterator[object]:
        if not isinstance(source, Dataset):
            for document in _readings(source, settings.filter, reading.choices):
                yield from document.images

    try:
        name = chosen_image(image, data.image_names, records)
    except DatasetError as error:
        # The image may be in a file that is left out.
        raise error.with_advice(data.left_out) from None
    is_one = len(data.annotator_names) < 2
    chosen: By = by or ("category" if is_one or not data.attribution else "annotator")
    scene = data_scene(data, name, settings if chosen == "unit" else None)
    return scene, chosen, [*data.left_out], [each.name for each in data.sources]


def _readings(source: Source, pattern: str | None, choices: Choices) -> Iterator[RawDocument]:
    """Yield the raw documents of the COCO files of a source, even of broken files."""
    if isinstance(source, Dataset):
        raise ConfigError("by 'finding' needs the file; a Dataset has only what was read of it")
    if is_document(source):
        yield read_bytes(document_bytes(source), "document")
        return
    for file in list_files(paths_of(source), pattern, choices=choices):
        if (document := document_of(file, choices)) is not None:
            yield document


def _with_pixels(
    scene: Scene, images: Folders, sources: Sequence[str]
) -> tuple[Scene, list[str], list[str]]:
    """Return a scene with its pixels, a note on missing or resized ones, and their file."""
    if images is None:
        return scene, [], []
    folders = [Path(each) for each in as_paths(images)]
    size = (int(scene.width), int(scene.height))
    picture = next(pictures([scene.name], folders, _SIDE, sizes=[size], sources=sources))
    file = [picture.file] if picture.file else []
    if picture.problem:
        return scene, [f"drawn on a blank canvas: {picture.problem}"], file
    note = other_size(picture.size, size)
    width, height = picture.size if 0 in size else size
    notes = [note] if note else []
    return replace(scene, width=width, height=height, pixels=picture.pixels), notes, file


def _with_size(scene: Scene, drawn: str) -> tuple[Scene, list[str]]:
    """Return a scene with a size; without one in the data, the bounds of its annotations."""
    if scene.width > 0 and scene.height > 0:
        return scene, []
    if not scene.shapes:
        raise DatasetError(
            [f"image {scene.name!r}: has neither a width and height nor {drawn} to draw"],
            "With --images DIR its file is drawn.",
        )
    corners = bounds([(shape.bbox, shape.rings) for shape in scene.shapes])
    right, bottom = corners[:, 2:].max(0).tolist()
    note = "width and height of the image are not known: the canvas ends at the annotations"
    return replace(scene, width=max(right, 1), height=max(bottom, 1)), [note]
