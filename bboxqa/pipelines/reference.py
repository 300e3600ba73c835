"""Comparison of each annotator with a reference."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray, Progress, distinct, rows, run_starts
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.diagnostics.against_reference import (
    against_reference,
    reference_confusion_matrix,
    reference_confusions,
    reference_offsets,
)
from bboxqa.formats.choices import choices_of
from bboxqa.formats.dataset.names import join_advice, left_out_by
from bboxqa.formats.label_folders import without_suffix
from bboxqa.formats.records import ReadSettings
from bboxqa.formats.registry import format_of
from bboxqa.formats.yolo import class_names
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.geometry.registry import similarity
from bboxqa.matching.linkage import loose_objects
from bboxqa.model.annotations import Annotations, Dataset, Repeats, Source, completed, joints_of
from bboxqa.model.results import MeasuredAgreement, ReferenceAgreement
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs, ReferenceMatches
from bboxqa.pipelines.counting import of_images, similar_pairs, units_of
from bboxqa.pipelines.diagnosis.matched_units import lower_threshold
from bboxqa.pipelines.joint_sigmas import refuse_estimated, with_points, with_sigmas
from bboxqa.pipelines.read import Data, read_for

_MOST_NAMED = 3
_Result = TypeVar("_Result", bound=MeasuredAgreement)


class Compared(msgspec.Struct, frozen=True, eq=False):
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


def compared(data: Dataset, reference: str | Dataset, settings: AgreeSettings) -> Compared:
    """Return annotators and a reference, which is the name of one of them or a data set."""
    refuse_estimated(settings)
    headlines: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: list[str] = []
    if isinstance(reference, Dataset):
        name, sources = file_names(reference, "data set"), reference.sources
        reference = named_alike(data, with_points(reference, settings), settings.category_map)
        team, own = data, as_one(reference, name)
        notes += reference.notes
    else:
        name = reference
        team, own = apart(data, name)
        notes.append(f"{one_line(name)} is the reference, and has no part in the other figures")
    drawn, expected = in_common(team, own, name)
    check_sizes(drawn, expected, name)
    both = with_sigmas(joined_sides(drawn, expected, name), settings)
    used = {own.category_names[each] for each in distinct(own.annotations.category).tolist()}
    lacking = sorted(map(one_line, used - {*team.category_names}))
    if lacking:
        unknown = f"{name} uses categories that no annotator has: {first_few(lacking, _MOST_NAMED)}"
        named = "Their objects can be found but not named alike; --map OLD=NEW renames a category"
        headlines = (f"{unknown}. {named}",)
    return Compared(team, both, name, len(own.image_names), sources, tuple(notes), headlines)


def file_names(data: Dataset, otherwise: str) -> str:
    """Return what a data set is called by its files, without their folders."""
    names = [Path(source.name).name for source in data.sources]
    return names[0] + " and others" * (len(names) > 1) if names else otherwise


def several_drew(data: Dataset) -> str:
    """Return in how many images several annotators drew, in words; "" if in none."""
    of, first = data.annotations, np.full(len(data.image_names), -1, np.int32)
    first[of.image] = of.annotator
    several = np.unique(of.image[first[of.image] != of.annotator])
    if not len(several):
        return ""
    image = one_line(data.image_names[int(several[0])])
    return f"several annotators drew in {count(len(several), 'image')}, such as {image!r}"


def as_one(reference: Dataset, name: str) -> Dataset:
    """Return a reference as one annotator, asked about all images of the file."""
    of = reference.annotations
    if problem := several_drew(reference):
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


def apart(data: Dataset, name: str) -> tuple[Dataset, Dataset]:
    """Return a data set without one annotator, and what this annotator drew."""
    if name not in data.annotator_names:
        raise ConfigError(
            f"the reference is {name!r}, which is neither an annotator nor a file; expected one of "
            f"the annotators ({in_quotes(data.annotator_names)}), or a file or folder"
        )
    place, of, repeats = data.annotator_names.index(name), data.annotations, data.repeats
    own = of.take(np.flatnonzero(of.annotator == place))
    rest = of.take(np.flatnonzero(of.annotator != place))
    number = np.arange(len(data.annotator_names), dtype=np.int32)
    number[place:] -= 1
    if repeats is not None:
        others = np.flatnonzero(repeats.annotator != place)
        sessions, people = of_images(repeats.sessions, others), number[repeats.annotator[others]]
        repeats = Repeats(sessions, repeats.image[others], people) if len(others) else None
    team = replace(
        data,
        annotator_names=tuple(each for each in data.annotator_names if each != name),
        annotations=replace(rest, annotator=number[rest.annotator]),
        assigned=np.delete(data.assigned, place, axis=1),
        repeats=repeats,
    )
    asked = np.flatnonzero(data.assigned[:, place])
    return team, as_one(of_images(replace(data, annotations=own, repeats=None), asked), name)


def in_quotes(names: Sequence[str]) -> str:
    """Return the first of some names in quotes."""
    return first_few(names, _MOST_NAMED, lambda each: repr(one_line(each))) or "none"


def nothing_in_common(what: str, own: Sequence[str], name: str, other: Sequence[str]) -> str:
    """Return that no image or category is in common, with those of labels and of a file."""
    first, second = in_quotes(own), in_quotes(other)
    return f"{one_line(name)}: no {what} in common: the labels have {first}, this has {second}"


def in_common(team: Dataset, own: Dataset, name: str) -> tuple[Dataset, Dataset]:
    """Return two data sets in the images of the second that the first was asked about."""
    place = {image: number for number, image in enumerate(team.image_names)}
    at = np.array([place.get(image, -1) for image in own.image_names], np.int64)
    known = np.flatnonzero((at >= 0) & np.append(team.assigned.any(1), False)[at])
    known = known[np.argsort(at[known], kind="stable")]
    if not len(known):
        found = join_advice([set(team.image_names), set(own.image_names)])
        advice = f": {found}" if found else "; check the names."
        asked = [team.image_names[each] for each in np.flatnonzero(team.assigned.any(1)).tolist()]
        problem = nothing_in_common("image", asked, name, own.image_names)
        raise DatasetError([problem], f"Images are joined by file_name{advice}")
    return of_images(team, at[known]), of_images(own, known)


def joined_sides(team: Dataset, own: Dataset, name: str) -> Dataset:
    """Return the same images of annotators and a reference, which is the last annotator."""
    categories = tuple(dict.fromkeys((*team.category_names, *own.category_names)))
    number = {category: code for code, category in enumerate(categories)}
    codes = np.array([number[each] for each in own.category_names], np.int32)
    last = np.full(len(own.annotations), len(team.annotator_names), np.int32)
    expected = replace(own.annotations, category=codes[own.annotations.category], annotator=last)
    annotations = Annotations.join([team.annotations, expected])
    annotations = replace(annotations, own_id=None, times=None, track=None)
    order = np.lexsort((annotations.annotator, annotations.image))
    joint_names, limbs = joints_of(categories, [team, own])
    return Dataset(
        image_names=team.image_names,
        image_size=np.where(team.image_size > 0, team.image_size, own.image_size),
        category_names=categories,
        annotator_names=(*team.annotator_names, name),
        annotations=annotations.take(order[~annotations.iscrowd[order]]),
        assigned=np.column_stack([team.assigned, own.assigned]),
        joint_names=joint_names,
        limbs=limbs,
    )


def check_sizes(team: Dataset, reference: Dataset, name: str) -> None:
    """Refuse a reference with images of other sizes: its boxes have another pixel scale."""
    first, second = team.image_size, reference.image_size
    differ = np.flatnonzero((first > 0).all(1) & (second > 0).all(1) & (first != second).any(1))
    if len(differ):
        row = int(differ[0])
        (width, height), (other_width, other_height) = first[row].tolist(), second[row].tolist()
        problem = (
            f"{name}: image {one_line(team.image_names[row])!r} is {other_width} × {other_height}; "
            f"the annotators' record of it says {width} × {height} "
            f"({count(len(differ), 'such image')})"
        )
        advice = "Boxes can be compared in the same pixels only: scale one of the files."
        raise DatasetError([problem], advice)


def with_reference(result: _Result, found: Compared, progress: Progress | None) -> _Result:
    """Return a result with the agreement of each annotator with the reference."""
    matches = _matched(found.both, result.settings, progress=progress)
    of_both = found.both.annotations
    is_reference = of_both.annotator == len(found.team.annotator_names)
    drawn = np.bincount(of_both.image[is_reference], minlength=len(found.both.image_names))
    thresholds = tuple(
        replace(
            part,
            reference=ReferenceAgreement(
                name=found.name,
                n_images=len(drawn),
                n_reference_images=found.n_images,
                n_empty_images=int((drawn == 0).sum()),
                n_annotations=int(drawn.sum()),
                annotators=against_reference(matched),
                offsets=reference_offsets(matched),
                confusions=reference_confusions(matched),
                confusion_matrix=reference_confusion_matrix(matched),
            ),
        )
        for part, matched in zip(result.thresholds, matches, strict=True)
    )
    headlines = (*result.headlines, *found.headlines)
    return replace(
        result,
        thresholds=thresholds,
        headlines=headlines,
        sources=(*result.sources, *(replace(source, role="reference") for source in found.sources)),
        notes=(*headlines, *result.notes[len(result.headlines) :], *found.notes),
    )


def _matched(
    both: Dataset, settings: AgreeSettings, *, progress: Progress | None = None
) -> tuple[ReferenceMatches, ...]:
    """Match the annotations of each annotator with those of the last one, at each threshold.

    Each annotator is matched separately, whatever the matcher of the settings, so that the others
    have no effect. Raises DatasetError if annotations lack what the similarity compares.
    """
    own, row = _side_by_side(both)
    least = min(map(lower_threshold, settings.iou_threshold))
    near, _ = similar_pairs(own, settings, least, progress, "comparing with the reference")
    # Optimal for two annotators: the matching with the largest total similarity.
    by = replace(settings, matcher="hungarian")

    def of_both(pairs: CandidatePairs) -> CandidatePairs:
        left, right = row[pairs.left], row[pairs.right]
        order = np.lexsort((right, left))
        return CandidatePairs(left[order], right[order], pairs.similarity[order])

    found = []
    for threshold in settings.iou_threshold:
        pairs = near.take(near.similarity >= threshold - TOLERANCE)
        units = units_of(own.annotations, pairs, by, threshold)
        loose = near.take(near.similarity >= lower_threshold(threshold) - TOLERANCE)
        objects = loose_objects(own.annotations, units, loose)[units.unit]
        placed = loose.take(objects[loose.left] == objects[loose.right])
        # Pairs of an unmatched annotation and the most similar object that has a match.
        rest = loose.take(np.flatnonzero(~np.isin(loose.left, placed.left)))
        rest = rest.take(np.lexsort((rest.right, -rest.similarity, rest.left)))
        placed, beside = of_both(placed), of_both(rest.take(run_starts(rest.left)))
        found.append(
            ReferenceMatches(
                data=both,
                matched=of_both(pairs.take(units.unit[pairs.left] == units.unit[pairs.right])),
                placed=np.column_stack([placed.left, placed.right]),
                beside=beside,
                is_twice=beside.similarity >= threshold - TOLERANCE,
                compared=similarity(settings.similarity).needs,
                bootstrap=settings.bootstrap,
                seed=settings.seed,
            )
        )
    return tuple(found)


def _side_by_side(both: Dataset) -> tuple[Dataset, IndexArray]:
    """Return an image for each annotator and image, with the reference, and rows of `both`."""
    of, last = both.annotations, len(both.annotator_names) - 1
    image, annotator = np.nonzero(both.assigned[:, :last])
    cell = np.full((len(both.image_names), last + 1), -1)
    cell[image, annotator] = np.arange(len(image))
    cells = cell[of.image, of.annotator]
    drawn, expected = np.flatnonzero(cells >= 0), np.flatnonzero(of.annotator == last)
    ends = (np.searchsorted(of.image[expected], image, side) for side in ("left", "right"))
    entry, offsets = rows(*ends)
    row = np.append(drawn, expected[entry])
    cells = np.append(cells[drawn], np.repeat(np.arange(len(image)), np.diff(offsets)))
    order = np.lexsort((row, cells))
    row = row[order]
    return replace(
        both,
        image_names=tuple(np.array(both.image_names, object)[image].tolist()),
        image_size=both.image_size[image],
        annotations=replace(
            of.take(row),
            image=cells[order].astype(np.int32),
            annotator=(of.annotator[row] == last).astype(np.int32),
        ),
        annotator_names=("annotator", "reference"),
        assigned=np.ones((len(image), 2), np.bool_),
    ), row


def read_other(
    source: Data, team: Dataset, settings: AgreeSettings, reading: ReadSettings
) -> Dataset:
    """Return a data set to compare annotators with."""
    # These settings apply to the files of the annotators only.
    own = replace(
        settings,
        annotator_key=None,
        attribution=None,
        filter=None,
        category_map=dict.fromkeys(left_out_by(settings.category_map), ""),
        session_key=None,
        time_key=None,
        tracks=False,
    )
    # Images of YOLO have the size that the annotators' records say.
    size = zip(team.image_names, team.image_size.tolist(), strict=True)
    known = {name: tuple(sides) for name, sides in size if all(sides)}
    choices = completed(reading.choices, choices_of({"image_size": known or None}))
    unnamed = replace(
        reading, predictions=None, truth=None, min_annotators=1, by_files="any", choices=choices
    )
    found = read_for(source, own, unnamed)
    names = tuple(settings.category_map.get(name) or name for name in found.category_names)
    return replace(found, category_names=names)


def named_alike(team: Dataset, other: Dataset, renamed: Mapping[str, str]) -> Dataset:
    """Return a data set with the names of images and classes that YOLO leaves to the annotators."""
    own, images, classes, notes = team.image_names, other.image_names, other.category_names, []
    of = {without_suffix(PurePosixPath(name).name): name for name in own}
    if {*own}.isdisjoint(images) and len(of) == len(own) and not of.keys().isdisjoint(images):
        images = tuple(of.get(name, name) for name in images)
        notes.append("images joined by name without folder and suffix, which YOLO lacks")
    path = Path(team.sources[0].name if team.sources else "-")
    is_yolo = path.exists() and format_of(path, team.reading).name == "yolo"
    of_class = class_names(path) if is_yolo else {}
    if of_class and classes and all(each.startswith("class ") for each in classes):
        classes = tuple(renamed.get(e := of_class.get(each, each)) or e for each in classes)
        beside = f"if not, put data.yaml into {file_names(other, 'the other folder')}"
        notes.append(f"classes named as those of {file_names(team, 'the data')}; {beside}")
    return replace(other, image_names=images, category_names=classes, notes=tuple(notes))
