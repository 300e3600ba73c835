"""A reference joined to the data set of the annotators who are compared with it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, first_few, nearest, one_line
from bboxqa.formats.dataset.image_names import join_advice
from bboxqa.model.annotations import Annotations, Dataset, Repeats, Source
from bboxqa.model.selection import join_columns, join_outlines, joints_of, select_annotations
from bboxqa.model.shapes.keypoints import join_keypoints
from bboxqa.pipelines.reference.reference_notes import (
    asked_notes,
    category_notes,
    empty_notes,
    variants,
)

_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The annotators and a reference, in the images of the reference."""

    team: Dataset
    """The annotators without the reference, whose agreement with each other is measured."""
    both: Dataset
    """The images of the reference that annotators were asked about; the reference is the last
    annotator."""
    name: str
    n_images: int
    """All images of the reference."""
    sources: tuple[Source, ...]
    """The files of the reference, if it is not one of the annotators."""
    notes: tuple[str, ...]
    headlines: tuple[str, ...] = ()
    """Notes on the reference, shown before the figures."""


def compared(data: Dataset, reference: str | Dataset) -> Compared:
    """Return annotators and a reference, which is the name of one of them or a data set.

    Raises ConfigError if no annotator has the name. Raises DatasetError if several annotators of
    the reference share images, no image of the data is in it, or images have other sizes.
    """
    if isinstance(reference, Dataset):
        name = _name_of(reference)
        team, own, sources = data, _as_one(reference, name), reference.sources
    else:
        if reference not in data.annotator_names:
            raise unknown_reference(data, reference)
        name, sources = reference, ()
        team, own = _apart(data, data.annotator_names.index(reference))
    both = _joined(team, own, name)
    notes = (
        *empty_notes(both, name),
        *asked_notes(team),
        *category_notes(team, own, name),
    )
    if isinstance(reference, str):
        notes = (f"{one_line(name)} is the reference, and has no part in the other figures", *notes)
    # If the reference is an annotator, its headlines are among those of the data already.
    headlines = () if isinstance(reference, str) else variants(team, own)
    return Compared(team, both, name, len(own.image_names), sources, notes, headlines)


def unknown_reference(data: Dataset, name: str) -> ConfigError:
    """Return the error about a reference that is no annotator."""
    who = first_few(data.annotator_names, _NAMED, lambda each: repr(one_line(each)))
    return ConfigError(
        f"the reference is {name!r}, which is neither an annotator nor a file; expected one of "
        f"the annotators ({who}), or a COCO file{_meant(data, name)}"
    )


def _meant(data: Dataset, name: str) -> str:
    """Return a suggestion for a misspelt annotator, ignoring case."""
    folded = {each.casefold(): each for each in data.annotator_names}
    own = folded.get(name.strip().casefold())
    return nearest(name, data.annotator_names) if own is None else f"; did you mean {own!r}?"


def _name_of(reference: Dataset) -> str:
    """Return the name of the file of a reference, without its folder."""
    names = [Path(source.name).name for source in reference.sources]
    return "data set" if not names else names[0] + " and others" * (len(names) > 1)


def _as_one(reference: Dataset, name: str) -> Dataset:
    """Return a reference as one annotator, asked about all images of the file."""
    of = reference.annotations
    first = np.full(len(reference.image_names), -1, np.int32)
    first[of.image] = of.annotator
    several = np.unique(of.image[first[of.image] != of.annotator])
    if len(several):
        image = one_line(reference.image_names[int(several[0])])
        problem = f"several annotators drew in {count(len(several), 'image')}, such as {image!r}"
        raise DatasetError(
            [f"{name}: {problem}; expected one reference"],
            "Keep the annotations of one of them in the file.",
        )
    return replace(
        reference,
        annotations=replace(of, annotator=np.zeros(len(of), np.int32)),
        annotator_names=(name,),
        assigned=np.ones((len(reference.image_names), 1), np.bool_),
    )


def _apart(data: Dataset, place: int) -> tuple[Dataset, Dataset]:
    """Return a data set without one annotator, and what this annotator drew."""
    of = data.annotations
    own, others = np.flatnonzero(of.annotator == place), np.flatnonzero(of.annotator != place)
    number = np.arange(len(data.annotator_names), dtype=np.int32)
    number[place:] -= 1
    rest = select_annotations(of, others)
    kept = np.delete(np.arange(len(number)), place)
    team = replace(
        data,
        annotator_names=tuple(data.annotator_names[each] for each in kept.tolist()),
        annotations=replace(rest, annotator=number[rest.annotator]),
        assigned=data.assigned[:, kept],
        repeats=_repeats_without(data, place, number),
    )
    images = np.flatnonzero(data.assigned[:, place])
    drawn = _moved(select_annotations(of, own), images, len(data.image_names))
    reference = replace(
        data,
        image_names=tuple(data.image_names[each] for each in images.tolist()),
        image_size=data.image_size[images],
        annotator_names=(data.annotator_names[place],),
        annotations=replace(drawn, annotator=np.zeros(len(drawn), np.int32)),
        assigned=np.ones((len(images), 1), np.bool_),
        repeats=None,
    )
    return team, reference


def _repeats_without(data: Dataset, place: int, number: IntArray) -> Repeats | None:
    """Return the repeats of the other annotators; None if they have none."""
    repeats = data.repeats
    if repeats is None:
        return None
    kept = np.flatnonzero(repeats.annotator != place)
    if not len(kept):
        return None
    whole = repeats.sessions
    sessions = replace(
        whole,
        image_names=tuple(whole.image_names[each] for each in kept.tolist()),
        image_size=whole.image_size[kept],
        annotations=_moved(whole.annotations, kept, len(whole.image_names)),
        assigned=whole.assigned[kept],
    )
    return Repeats(sessions, repeats.image[kept], number[repeats.annotator[kept]])


def _joined(team: Dataset, reference: Dataset, name: str) -> Dataset:
    """Return the images of the reference that annotators were asked about, with all annotations."""
    place = {image: number for number, image in enumerate(team.image_names)}
    in_team = np.array([place.get(image, -1) for image in reference.image_names], np.int64)
    known = np.flatnonzero(in_team >= 0)
    known = known[team.assigned[in_team[known]].any(1)]
    known = known[np.argsort(in_team[known], kind="stable")]
    images = in_team[known]
    if not len(images):
        raise _nothing_shared(team, reference, name)
    _check_sizes(team, reference, images, known, name)
    categories = (*team.category_names, *_only(reference.category_names, team.category_names))
    number = {category: code for code, category in enumerate(categories)}
    codes = np.array([number[each] for each in reference.category_names], np.int32)
    drawn = _moved(team.annotations, images, len(team.image_names))
    expected = _moved(reference.annotations, known, len(reference.image_names))
    last = np.full(len(expected), len(team.annotator_names), np.int32)
    expected = replace(expected, category=codes[expected.category], annotator=last)
    size = team.image_size[images]
    joints = joints_of(categories, [team, reference])
    return Dataset(
        image_names=tuple(team.image_names[each] for each in images.tolist()),
        image_size=np.where(size > 0, size, reference.image_size[known]),
        category_names=categories,
        annotator_names=(*team.annotator_names, name),
        annotations=_together([drawn, expected]),
        assigned=np.column_stack([team.assigned[images], np.ones(len(images), np.bool_)]),
        joint_names=joints.names,
        limbs=joints.limbs,
    )


def _only(names: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """Return the names that are not among the others, each once."""
    return [name for name in dict.fromkeys(names) if name not in set(others)]


def _moved(of: Annotations, images: IndexArray, n_images: int) -> Annotations:
    """Return the annotations of some images, with the images renumbered."""
    number = np.full(n_images, -1, np.int32)
    number[images] = np.arange(len(images))
    kept = select_annotations(of, np.flatnonzero(number[of.image] >= 0))
    return replace(kept, image=number[kept.image])


def _together(parts: list[Annotations]) -> Annotations:
    """Return the annotations of all parts without crowds, ordered by image, then annotator."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("id", "image", "annotator", "category", "bbox", "iscrowd")
    }
    outlines = [part.segmentation for part in parts if part.segmentation is not None]
    joined = None
    if len(outlines) == len(parts):
        joined = join_outlines(outlines, [np.arange(len(part)) for part in parts])
    joints = [part.keypoints for part in parts if part.keypoints is not None]
    if len(joints) == len(parts):
        every = [np.arange(len(part)) for part in parts]
        columns["keypoints"] = join_keypoints(joints, every)
    order = np.lexsort((columns["annotator"], columns["image"]))
    order = order[~columns["iscrowd"][order]]
    rotated = join_columns([part.rotated_box for part in parts])
    together = Annotations(**columns, segmentation=joined, rotated_box=rotated)
    return select_annotations(together, order)


def _nothing_shared(team: Dataset, reference: Dataset, name: str) -> DatasetError:
    if not reference.image_names:
        return DatasetError(
            [f"{name}: has no images"], "Name a file with the images that its author annotated."
        )
    found = join_advice([set(team.image_names), set(reference.image_names)])
    return DatasetError(
        [f"{name}: no annotator was asked about any of its {len(reference.image_names):,} images"],
        f"Images are joined by file_name{f': {found}' if found else '; check the names.'}",
    )


def _check_sizes(
    team: Dataset, reference: Dataset, images: IndexArray, known: IndexArray, name: str
) -> None:
    """Refuse a reference with images of other sizes: its boxes have another pixel scale."""
    first, second = team.image_size[images], reference.image_size[known]
    differ = np.flatnonzero((first > 0).all(1) & (second > 0).all(1) & (first != second).any(1))
    if not len(differ):
        return
    row = int(differ[0])
    (width, height), (other_width, other_height) = first[row].tolist(), second[row].tolist()
    image = one_line(team.image_names[int(images[row])])
    problem = f"{name}: image {image!r} is {other_width} × {other_height}"
    said = f"the annotators' record of it says {width} × {height}"
    raise DatasetError(
        [f"{problem}; {said} ({count(len(differ), 'such image')})"],
        "Boxes can be compared in the same pixels only: scale one of the files.",
    )
