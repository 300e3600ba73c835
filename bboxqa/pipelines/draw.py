"""Drawings of an image with its annotations."""

from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Unpack, get_args

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import AnyPath, Progress
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, first_few, nearest, quoted, unknown_name
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.records import AnnotationFile
from bboxqa.formats.sources import as_paths, files_read
from bboxqa.geometry import registry
from bboxqa.geometry.rasters import outline_rings
from bboxqa.geometry.similarity import OUTLINES
from bboxqa.model.annotations import NO_CHOICES, Choices, Dataset
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.pipelines.counting import of_images, similar_pairs, units_of
from bboxqa.pipelines.joint_sigmas import with_sigmas
from bboxqa.pipelines.pictures import other_size, pictures
from bboxqa.pipelines.read import AS_COMPARED, Data, paths_of, read_for, settings_of_keywords
from bboxqa.report.drawing import By, Drawing, Scene, Shape, bounds, scene_figure
from bboxqa.report.plots import page_style
from bboxqa.rules.people import names_hidden

# Pixels of the longer side: 8 inches at 300 dots per inch.
_SIDE = 2400
_EMPTY = "nobody drew a box in this image (--similarity keypoints draws key points)"

Source = Dataset | Data
Folders = AnyPath | Sequence[AnyPath] | None


def draw(
    source: Source,
    image: str | int,
    *,
    images: Folders = None,
    by: By | None = None,
    side_by_side: bool = False,
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
    by : {"annotator", "category", "unit"}, optional
        What colours stand for: the annotator (default; labels name the category), the category (the
        default if fewer than two annotators are named), or the matched unit.
    side_by_side : bool
        Whether each annotator has a panel of its own.
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
    return draw_with(
        source, image, settings_of_keywords(settings), images=images, by=by,
        side_by_side=side_by_side, choices=given(),
    )  # fmt: skip


def draw_with(
    source: Source,
    image: str | int,
    settings: AgreeSettings,
    *,
    images: Folders = None,
    by: By | None = None,
    side_by_side: bool = False,
    pseudonyms: Path | None = None,
    choices: Choices = NO_CHOICES,
    progress: Progress | None = None,
) -> Drawing:
    """Draw an image with checked settings; see `draw`, and `read` for `pseudonyms`."""
    if by is not None and by not in get_args(By):
        raise ConfigError(unknown_name(by, get_args(By)), "by")
    of_id: dict[str, set[str]] = {}

    def note_ids(files: Sequence[AnnotationFile], _: Attribution) -> None:
        for each in (each for file in files for each in file.images):
            of_id.setdefault(str(each.id), set()).add(each.label)

    # No checks: a drawing should show defects as well.
    reading = replace(
        AS_COMPARED, digest=False, min_annotators=1, by_files="typed", outlines=True,
        choices=choices, pseudonyms=pseudonyms, progress=progress, check=note_ids,
    )  # fmt: skip
    with names_hidden(pseudonyms, paths_of(source), settings.filter, choices):
        data = source if isinstance(source, Dataset) else read_for(source, settings, reading)
        name = chosen_image(image, data.image_names, of_id)
        is_one = len(data.annotator_names) < 2
        by = by or ("category" if is_one or not data.attribution else "annotator")
        scene = data_scene(data, name, settings if by == "unit" else None)
    notes = [*data.left_out, *([] if scene.shapes else [_EMPTY])]
    scene, of_canvas, files = _on_canvas(scene, images, [each.name for each in data.sources])
    with page_style():
        figure = scene_figure(scene, by, side_by_side=side_by_side)
    read = (*files_read(paths_of(source)), *map(Path, files))
    return Drawing(scene.name, by, figure, tuple(figure.axes), (*of_canvas, *notes), read)


def _on_canvas(
    scene: Scene, images: Folders, sources: Sequence[str]
) -> tuple[Scene, list[str], list[str]]:
    """Return a scene with its pixels and a size, notes on them, and the file of the pixels."""
    notes, files = [], []
    if images is not None:
        folders, size = list(map(Path, as_paths(images))), (int(scene.width), int(scene.height))
        picture = next(pictures([scene.name], folders, _SIDE, sizes=[size], sources=sources))
        files = [picture.file] * bool(picture.file)
        if picture.problem:
            notes = [f"drawn on a blank canvas: {picture.problem}"]
        else:
            notes = [note] if (note := other_size(picture.size, size)) else []
            width, height = picture.size if 0 in size else size
            scene = replace(scene, width=width, height=height, pixels=picture.pixels)
    if scene.width > 0 and scene.height > 0:
        return scene, notes, files
    if not scene.shapes:
        raise DatasetError(
            [f"image {scene.name!r}: has neither a width and height nor annotations to draw"],
            "With --images DIR its file is drawn.",
        )
    right, bottom = np.maximum(bounds(scene.shapes)[:, 2:].max(0), 1).tolist()
    notes.append("width and height of the image are not known: the canvas ends at the annotations")
    return replace(scene, width=right, height=bottom), notes, files


def data_scene(data: Dataset, name: str, settings: AgreeSettings | None) -> Scene:
    """Return an image of a data set as a scene; with settings its annotations have units."""
    place = data.image_names.index(name)
    found = np.flatnonzero(data.annotations.image == place)
    # The unit of each annotation, from 1 on; 0 for crowds.
    rows, units = found.tolist(), np.zeros(len(found), np.int64)
    if settings is not None:
        if len(settings.iou_threshold) != 1:
            raise ConfigError("units are drawn at one threshold; give one --iou")
        (threshold,) = settings.iou_threshold
        data = with_sigmas(data, settings)
        of = data.annotations
        needs = registry.similarity(settings.similarity).needs
        outlines = of.segmentation if needs in OUTLINES else None
        turned = of.rotated_box if needs == "rotated boxes" else None
        data = replace(data, annotations=replace(of, segmentation=outlines, rotated_box=turned))
        image, compared = of_images(data, np.array([place])), ~of.iscrowd[rows]
        image = replace(image, annotations=image.annotations.take(np.flatnonzero(compared)))
        pairs, _ = similar_pairs(image, settings, threshold)
        units[compared] = units_of(image.annotations, pairs, settings, threshold).unit + 1
    width, height = data.image_size[place].tolist()
    return Scene(
        name,
        width,
        height,
        tuple(_shape(data, row, unit) for row, unit in zip(rows, units.tolist(), strict=True)),
        annotators=data.annotator_names,
        categories=data.category_names,
        asked=tuple(compress(data.annotator_names, data.assigned[place])),
    )


def _shape(data: Dataset, row: int, unit: int) -> Shape:
    of, joints, points = data.annotations, data.annotations.keypoints, None
    left, top, width, height = of.bbox[row].tolist()
    if joints is not None:
        part = slice(int(joints.start[row]), int(joints.stop[row]))
        points = np.column_stack([joints.xy[part], joints.visibility[part]])
    return Shape(
        bbox=(left, top, width, height),
        rings=tuple(outline_rings(of, row)),
        points=points,
        limbs=data.limbs[of.category[row]] if data.limbs else (),
        annotator=data.annotator_names[of.annotator[row]],
        category=data.category_names[of.category[row]],
        unit=unit,
    )


def chosen_image(
    wanted: str | int, names: Sequence[str], of_id: Mapping[str, Collection[str]]
) -> str:
    """Return the image name that matches a name or an id; names are tried first."""
    if isinstance(wanted, str) and wanted in names:
        return wanted
    found = sorted({*of_id.get(str(wanted), ())} & {*names})
    if len(found) == 1:
        return found[0]
    if found:
        problem = f"several images have the id {wanted}: {', '.join(map(repr, found))}"
        raise DatasetError([problem], "Name the image by its file.")
    such = nearest(str(wanted), names) or f": {first_few(names, 5, quoted)}"
    raise DatasetError([f"there is no image {wanted!r} among {count(len(names), 'image')}{such}"])
