"""Joining files to one data set: images by file name, categories by name; who was asked; notes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, compact, find
from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.core.text import (
    alike,
    clean,
    count,
    first_few,
    in_natural_order,
    joined,
    one_line,
)
from bboxqa.formats.dataset.merge import Rows, merge
from bboxqa.formats.dataset.names import (
    join_advice,
    left_out_by,
    map_options,
    names_of_images,
    renamed_categories,
    supercategories,
    variant_remark,
    variants_of,
    with_joints,
)
from bboxqa.formats.dataset.people import Attribution, listed_files, unnamed
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.dataset.sessions import (
    FileSessions,
    read_tracks,
    refuse_versions,
    split_sessions,
    with_repeats,
    without_repeated,
)
from bboxqa.formats.document import apart_note
from bboxqa.formats.opening import typed_paths
from bboxqa.formats.raw_values import MAX_COORDINATE
from bboxqa.formats.records import UNNAMED, AnnotationFile, Image, ids_of
from bboxqa.model.annotations import Dataset
from bboxqa.model.masks import Segmentations
from bboxqa.model.table import ShownIds

_SHOWN = 3


class _Joined(msgspec.Struct):
    """The tables of the data set to which files are added, and the problems found."""

    paths: dict[AnnotationFile, Path]
    images: dict[str, int]
    sizes: IntArray
    """(I, 2) int32. 0 where unknown."""
    of_record: list[IntArray] = msgspec.field(default_factory=list)
    """By file, the image of each record, as an index."""
    categories: dict[str, int] = msgspec.field(default_factory=dict)
    problems: list[str] = msgspec.field(default_factory=list)
    origins: list[Path | None] = msgspec.field(default_factory=list)
    resized: list[str] = msgspec.field(default_factory=list)
    """The files with images whose size contradicts an earlier file."""

    def add(self, file: AnnotationFile, problems: Iterable[str], *, shared: bool = False) -> None:
        """Add problems of a file; those that show only with other files are `shared`."""
        before = len(self.problems)
        self.problems += [f"{file.source.name}: {problem}" for problem in problems]
        origin = None if shared else self.paths[file]
        self.origins += [origin] * (len(self.problems) - before)


def join(
    files: Sequence[AnnotationFile],
    paths: Sequence[Path],
    attribution: Attribution,
    reading: Reading,
    sessions: FileSessions | None = None,
    seconds: Sequence[FloatArray] | None = None,
) -> Dataset:
    """Join all files to one data set.

    Raises DatasetError with every reference to an unknown id, duplicate id, negative size,
    annotation by an annotator who was not asked, and contradiction between files. Two files with
    annotations of the same image by the same annotator are a contradiction.

    `paths` are for errors; `sessions` and `seconds` are those of annotations, if they were read.
    """
    names = tuple(in_natural_order(attribution.names))
    images = tuple(sorted(set[str]().union(*(file.image_labels for file in files))))
    places = {name: place for place, name in enumerate(images)}
    sizes = np.zeros((len(images), 2), np.int32)
    joined = _Joined(dict(zip(files, paths, strict=True)), places, sizes)
    renamed = _add_tables(joined, files, are_named_alike=not reading.records)
    of_record = joined.of_record
    rows = _index(joined, files, of_record, attribution, names)
    codes = None if sessions is None else sessions.code
    rows = replace(rows, session=_of_rows(rows, codes), seconds=_of_rows(rows, seconds))
    assigned, listed = _assign_all(joined, files, rows, of_record, attribution, names)
    if len(files) > 1 and attribution.names != (UNNAMED,) and not any(joined.origins):
        # Versions of one file contradict each other in many places; this error names the cause.
        refuse_versions(files, rows, sessions, images, names, attribution.key)
    if joined.problems:
        advice = _advice(joined, renamed, rows, attribution, files)
        raise DatasetError(joined.problems, advice, files=joined.origins)
    if reading.asked == "all":
        assigned[~listed] = True
    if reading.min_annotators >= 2 and assigned.sum(1).max(initial=0) < 2:
        raise _nothing_shared(files, attribution, all_listed=bool(listed.all()))
    again: list[str] = []
    if attribution.way:
        rows, again = without_repeated(files, rows, attribution.author, sessions)
    if reading.on_joined is not None:
        reading.on_joined(files, attribution, rows, again)
    notes: list[str] = []
    if left_out := left_out_by(reading.category_map):
        n_read = len(rows.file)
        files, rows = _without(joined, files, rows, left_out)
        notes += left_out_category_notes(left_out, n_read - len(rows.file))
    notes = [*notes_of(files, attribution, assigned, reading.min_annotators), *notes, *again]
    split, tracks = None, None
    if sessions is not None:
        split = split_sessions(rows, of_record, sessions, attribution, names)
        rows = split.first
    if reading.tracks:
        rows, tracks = read_tracks(files, rows, of_record, images)
    data = Dataset(
        image_names=images,
        image_size=joined.sizes,
        category_names=tuple(joined.categories),
        supercategories=supercategories(files, joined.categories),
        annotator_names=names,
        annotations=merge(files, rows),
        tracks=tracks,
        assigned=assigned,
        attribution=attribution.way,
        sources=tuple(file.source for file in files),
        reading=reading.choices,
        notes=tuple(notes),
        unlisted=~listed if reading.asked == "authors" else None,
        has_text_ids=any(file.columns.text_ids is not None for file in files),
    )
    if split is not None:
        data = with_repeats(data, files, split)
    data = with_joints(data, files)
    remarks = headlines_of(data, files) if data.assigned.sum(1).max(initial=0) >= 2 else ()
    return replace(data, headlines=(*remarks, *_machine_remarks(files)))


def _add_tables(
    joined: _Joined, files: Sequence[AnnotationFile], *, are_named_alike: bool
) -> dict[str, str]:
    """Add sizes of images, and sorted categories, of all files; return suggested renamings."""
    for file in files:
        labels = file.image_labels
        row = np.fromiter(map(joined.images.__getitem__, labels), np.int32, len(labels))
        joined.of_record.append(row)
        # Comparisons with NaN are false.
        are_sides = np.logical_and(file.image_sizes >= 0, file.image_sizes <= MAX_COORDINATE)
        bad = np.flatnonzero(~are_sides.all(axis=1))
        joined.add(file, bad_sizes(file.images[row] for row in bad.tolist()))
        size = np.where(are_sides, file.image_sizes, 0).astype(np.int32)
        known = np.flatnonzero(size.all(axis=1))
        # The first size of an image counts.
        new = known[(joined.sizes[row[known]] == 0).all(axis=1)][::-1]
        joined.sizes[row[new]] = size[new]
        for image in file.images if len(files) > 1 else ():
            if not image.file_name:
                problem = f"image {image.id!r} has no file_name; expected one, since "
                joined.add(file, [f"{problem}images of several files are joined by it"])
        unequal = known[(joined.sizes[row[known]] != size[known]).any(axis=1)].tolist()
        if unequal:
            (width, height), before = size[unequal[0]], joined.sizes[row[unequal[0]]]
            problem = f"image {labels[unequal[0]]!r} is {width} × {height}; another record of it "
            problem += f"says {before[0]} × {before[1]}"
            n_more = len(unequal) - 1
            more = f" ({count(n_more, 'more image')} of another size)" if n_more else ""
            joined.add(file, [problem + more], shared=True)
            joined.resized.append(file.source.name)
        joined.categories |= dict.fromkeys((clean(each.name) for each in file.categories), 0)
    renamed: dict[str, str] = {}
    for file, name, other, problem in renamed_categories(files) if are_named_alike else ():
        joined.add(file, [problem], shared=True)
        renamed.setdefault(name, renamed.get(other, other))
    for noun, names in (
        ("images", (image.file_name or "" for file in files for image in file.images)),
        ("categories", (category.name for file in files for category in file.categories)),
    ):
        joined.add(files[0], (f"{noun} {each}" for each in alike(names)), shared=True)
    joined.categories = {name: place for place, name in enumerate(sorted(joined.categories))}
    return {name: kept for name, kept in renamed.items() if name != kept}


def _of_rows(rows: Rows, values: Sequence[NDArray[Any]] | None) -> NDArray[Any] | None:
    """Return the values of annotations, from those of all annotations of each file."""
    if values is None:
        return None
    used = zip(values, rows.by_file(len(values)), strict=True)
    return np.concatenate([each[place] for each, place in used])


def _index(
    joined: _Joined,
    files: Sequence[AnnotationFile],
    of_record: Sequence[IntArray],
    attribution: Attribution,
    annotator_names: Sequence[str],
) -> Rows:
    """Replace ids by indices, and report references to unknown ids."""
    number = {name: place for place, name in enumerate(annotator_names)}
    code = np.array([number[name] for name in attribution.names] + [-1], np.int32)
    parts = []
    for place, file in enumerate(files):
        columns, shown = file.columns, file.shown_ids
        ids = {"image_id": file.image_ids, "category_id": ids_of(file.categories)}
        for key, each in zip(
            ("images", "categories", "annotations"), (*ids.values(), columns.id), strict=True
        ):
            joined.add(file, repeated_ids(key, each))
        found = {key: find(each, getattr(columns, key)) for key, each in ids.items()}
        for key, index in found.items():
            what = "an image" if key == "image_id" else "a category"
            values = getattr(columns, key)
            joined.add(
                file,
                (
                    f"annotation {shown[row]}: {key} is {values[row]}; expected the id of {what}"
                    for row in np.flatnonzero(index < 0).tolist()
                ),
            )
        joined.add(file, bad_boxes(shown, columns.bbox))
        if columns.segmentation is not None:
            joined.add(file, bad_outlines(shown, columns.segmentation))
        image, category = found.values()
        usable = np.flatnonzero((image >= 0) & (category >= 0))
        names = (clean(each.name) for each in file.categories)
        of_category = np.array([joined.categories[name] for name in names], np.int32)
        parts.append(
            (
                np.full(len(usable), place, np.int32), usable, of_record[place][image[usable]],
                of_category[category[usable]], code[attribution.author[place][usable]],
            )
        )  # fmt: skip
    return Rows(*map(np.concatenate, zip(*parts, strict=True)))


def _assign_all(
    joined: _Joined,
    files: Sequence[AnnotationFile],
    rows: Rows,
    of_record: Sequence[IntArray],
    attribution: Attribution,
    annotator_names: Sequence[str],
) -> tuple[BoolArray, BoolArray]:
    """Return (I, A) who was asked, and (I,) which images list that."""
    number = {name: place for place, name in enumerate(annotator_names)}
    assigned = np.zeros((len(joined.images), len(annotator_names)), np.bool_)
    listed = np.zeros(len(joined.images), np.bool_)
    stops = np.searchsorted(rows.file, np.arange(len(files) + 1)).tolist()
    for place, (file, asked) in enumerate(zip(files, attribution.asked, strict=True)):
        part = slice(stops[place], stops[place + 1])
        image, author = rows.image[part], rows.annotator[part]
        ids, own = file.shown_ids[rows.place[part]], np.zeros(len(listed), np.bool_)
        joined.add(file, unnamed(ids[author < 0], len(ids), "annotation"), shared=True)
        lists: dict[tuple[str, ...], list[int]] = {}
        for each, names in zip(of_record[place].tolist(), asked, strict=True):
            if names is not None:
                lists.setdefault(names, []).append(each)
        for names, images in lists.items():
            own[images] = True
            assigned[np.ix_(images, [number[name] for name in names])] = True
        named = author >= 0
        uninvited = named & own[image] & ~assigned[image, author]
        joined.add(
            file,
            (
                f"annotation {ids[row]}: is by {annotator_names[author[row]]!r}, who is not in the "
                "list of annotators of its image; add the name there, or correct it"
                for row in np.flatnonzero(uninvited).tolist()
            ),
        )
        free = named & ~own[image]
        assigned[image[free], author[free]] = True
        if place < len(files) - attribution.n_beside:
            listed |= own
    if attribution.of_files and not assigned.all():
        people = [number[asked[0][0]] if asked and asked[0] else -1 for asked in attribution.asked]
        listed &= ~_may_be_asked(files, rows, of_record, people, assigned)
    return assigned, listed


def _may_be_asked(
    files: Sequence[AnnotationFile],
    rows: Rows,
    of_record: Sequence[IntArray],
    people: Sequence[int],
    assigned: BoolArray,
) -> BoolArray:
    """Return (I,) bool: images that only some annotated, where the others may have been asked."""
    # A table or folder of label files does not say which other images its author saw, unless one of
    # the same format has an image without annotations: their tool writes these.
    known = {
        file.title
        for file, drawn, held in zip(
            files, rows.by_file(len(files), "image"), of_record, strict=True
        )
        # Shapes without a box are annotations, too.
        if not file.n_apart and len(np.unique(drawn)) < len(np.unique(held))
    }
    ends = np.ones(assigned.shape[1], np.bool_)
    ends[[each for each in people if each >= 0]] = False
    for file, person in zip(files, people, strict=True):
        if person >= 0:
            ends[person] |= file.lists_images or file.title in known
    authors = np.zeros_like(assigned)
    authors[rows.image, rows.annotator] = True
    lacking = ~assigned
    open_ = lacking.any(1) & ~(lacking & ends).any(1) & (authors >= assigned).all(1)
    return np.asarray(open_)


def _nothing_shared(
    files: Sequence[AnnotationFile], attribution: Attribution, *, all_listed: bool
) -> NothingToCompareError:
    """Return the error for files in which no image has two annotators."""
    problem = (
        f"{listed_files(files)}: {count(len(attribution.names), 'annotator')} by "
        f"{attribution.way}, but no image has two of them"
    )
    if len(files) > 1:
        found = join_advice(names_of_images(files))
        how = f": {found}" if found else "; check that the names are the same in all files."
        advice = f"Images are joined by file_name{how}"
    elif all_listed:
        advice = "All images list who was asked; expected two annotators in one of the lists."
    else:
        advice = (
            "Images may list who was asked about them under the key `annotators`. If all were "
            "asked about all images: --asked all"
        )
    return NothingToCompareError([problem], advice)


def _advice(
    joined: _Joined,
    renamed: Mapping[str, str],
    rows: Rows,
    attribution: Attribution,
    files: Sequence[AnnotationFile],
) -> str:
    """Return advice for problems that no single file shows."""
    lines = [f"If they are one category: {map_options(renamed)}"] if renamed else []
    if lists := [file.source.name for file in files if file.records == "results"]:
        truth = next((f.source.name for f in files if f.records != "results"), "ANNOTATIONS")
        typed = typed_paths([lists[0], "--ground-truth", truth])
        lines.append(f"For all findings: bboxqa validate {typed}")
    if joined.resized:
        typed = typed_paths([*joined.resized, "--images", "DIR"])
        lines += [
            "Boxes of resized pictures cannot be compared: export all of the same pictures.",
            f"Which size is right: bboxqa validate {typed}",
        ]
    if (rows.annotator < 0).any():
        lines.append(
            f"Annotators are named by {attribution.way}: name who drew these annotations there, "
            "or delete them."
        )
    return "\n".join(lines)


def _without(
    joined: _Joined, files: Sequence[AnnotationFile], rows: Rows, names: frozenset[str]
) -> tuple[list[AnnotationFile], Rows]:
    """Leave out categories and their annotations; images and annotators stay."""
    kept = {name: place for place, name in enumerate(sorted({*joined.categories} - names))}
    new = np.full(len(joined.categories), -1, np.int32)
    new[[joined.categories[name] for name in kept]] = [*kept.values()]
    found = np.flatnonzero(new[rows.category] >= 0)
    if len(rows.file) and not len(found):
        shown = first_few(sorted(names & {*joined.categories}), _SHOWN, repr)
        problem = f"--map leaves out the categories of all annotations: {shown}"
        raise NothingToCompareError([problem], "Keep a category that is to be measured.")
    joined.categories, rows = kept, rows.take(found)
    left = [
        replace(file, categories=[each for each in file.categories if clean(each.name) in kept])
        for file in files
    ]
    return left, replace(rows, category=new[rows.category])


def left_out_category_notes(names: frozenset[str], n: int) -> Iterator[str]:
    """Yield a note on the number of annotations that were left out.

    Examples
    --------
    >>> [*left_out_category_notes(frozenset({"shadow"}), 2)]
    ["2 annotations of 'shadow' left out, as --map says"]
    """
    if n:
        shown = first_few(sorted(names), _SHOWN, repr)
        yield f"{count(n, 'annotation')} of {shown} left out, as --map says"


def repeated_ids(key: str, ids: IndexArray) -> Iterator[str]:
    """Yield a problem for each id that several records of a list share."""
    if (ids[1:] > ids[:-1]).all():
        return
    ordered = np.sort(ids)
    for value in np.unique(ordered[1:][ordered[1:] == ordered[:-1]]).tolist():
        yield f"{key}: id {value} occurs more than once; expected once"


def bad_sizes(images: Iterable[Image]) -> Iterator[str]:
    """Yield a problem for each impossible image side."""
    for image in images:
        for key, side in (("width", image.width), ("height", image.height)):
            if side is not None and not 0 <= side <= MAX_COORDINATE:
                yield (
                    f"image {image.id}: {key} is {side:g}; "
                    f"expected 0 or more, and at most {MAX_COORDINATE:g} px"
                )


def bad_boxes(ids: ShownIds, bbox: FloatArray) -> Iterator[str]:
    """Yield a problem for each box with a negative side, NaN, or a number too large to be exact."""
    # Comparisons with NaN are false.
    sound = np.logical_and((np.abs(bbox) <= MAX_COORDINATE).all(1), (bbox[:, 2:] >= 0).all(1))
    for row in np.flatnonzero(~sound).tolist():
        numbers = ", ".join(f"{each:g}" for each in bbox[row])
        yield (
            f"annotation {ids[row]}: bbox is {numbers}; expected sides of 0 or more, and at most "
            f"{MAX_COORDINATE:g} px"
        )


def bad_outlines(ids: ShownIds, segmentation: Segmentations) -> Iterator[str]:
    """Yield problems for outlines with NaN, or with coordinates too large to be exact."""
    xy = segmentation.xy
    if not len(xy) or (xy.min() >= -MAX_COORDINATE and xy.max() <= MAX_COORDINATE):
        return
    far = np.flatnonzero(~(np.abs(xy) <= MAX_COORDINATE).all(1))
    ring = np.searchsorted(segmentation.ring_offsets, far, side="right") - 1
    for row in np.unique(np.searchsorted(segmentation.part_stop, ring, side="right")).tolist():
        expected = f"expected numbers up to {MAX_COORDINATE:g} px"
        yield f"annotation {ids[row]}: a polygon has a point far away; {expected}"


def headlines_of(data: Dataset, files: Sequence[AnnotationFile]) -> tuple[str, ...]:
    """Return facts that may make results useless: few common images, variants of names."""
    several = data.assigned.sum(1) >= 2
    few = len(files) > 1 and bool((2 * data.assigned[several].sum(0) < data.assigned.sum(0)).any())
    advice = join_advice(names_of_images(files)) if few else ""
    if advice:
        n_joined = count(int(several.sum()), "image")
        advice = f"only {n_joined} of {len(several):,} joined: {advice}"
    remarks = _spellings(data.annotator_names), advice, variant_remark(_users(data))
    return tuple(filter(None, remarks))


def _spellings(names: Sequence[str]) -> str:
    """Return which annotators may be one person, spelled in several ways; empty if none may."""
    groups = variants_of(names)
    shown = first_few(groups, _SHOWN, lambda each: " and ".join(f"'{one_line(e)}'" for e in each))
    if not groups:
        return ""
    return (
        f"annotators {shown} differ only in case, blanks or invisible characters, and count as "
        "different people: bboxqa validate shows where (A001)"
    )


def _machine_remarks(files: Sequence[AnnotationFile]) -> list[str]:
    """Return a remark on annotations that a machine created first, if there are any."""
    marks = sum((file.columns.marks for file in files), Counter[str]())
    n_annotations = count(sum(len(file.columns.id) for file in files), "annotation")
    marked = f"a machine began {marks.total():,} of {n_annotations} ({', '.join(sorted(marks))})"
    marked += ": annotators who correct the same proposals share their errors, and agree more than "
    return [f"{marked}independent ones"] * bool(marks)


def _users(data: Dataset) -> dict[str, set[int]]:
    """Return the annotators who used each category, by category name."""
    n_annotators = len(data.annotator_names)
    pairs = data.annotations.category.astype(np.int64) * n_annotators + data.annotations.annotator
    used = compact(pairs, len(data.category_names) * n_annotators)[0].tolist()
    users: dict[str, set[int]] = {}
    for category, annotator in (divmod(pair, n_annotators) for pair in used):
        users.setdefault(data.category_names[category], set()).add(annotator)
    return users


def file_notes(
    files: Sequence[AnnotationFile], attribution: Attribution, *, with_losses: bool = True
) -> Iterator[str]:
    """Yield each note on files once, with the files that it applies to.

    Without `with_losses`, there are no notes on what a conversion lists as losses: annotations that
    are kept apart, and images that someone annotated again.
    """
    names: dict[str, dict[str, None]] = {}
    for file in files:
        losses = [*file.repeat_notes, *([apart_note(file.n_apart)] if file.n_apart else [])]
        nobody = () if attribution.of_files else file.nobody_notes
        for note in (*file.notes, *nobody, *(losses if with_losses else ())):
            names.setdefault(note, {})[file.source.name] = None
    for note, of_note in names.items():
        shown = [*of_note]
        if len(shown) > _SHOWN:
            shown[_SHOWN - 1 :] = [f"{len(shown) - _SHOWN + 1:,} more files"]
        each = "each of " if len(of_note) > 1 else ""
        yield f"{each}{joined(shown)}: {note}" if len(files) > 1 else note


def notes_of(
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    assigned: BoolArray,
    min_annotators: int,
) -> tuple[str, ...]:
    """Return notes on the data for readers of a result."""
    notes = [*file_notes(files, attribution)]
    n_asked = assigned.sum(1)
    single = int((n_asked < 2).sum()) if min_annotators > 1 else 0
    bare = int((n_asked == 0).sum())
    if attribution.numbered:
        notes.append("annotators are numbered image by image, so results per annotator mix people")
    if single:
        unknown = f", of which {bare:,} without annotations or a list of annotators" if bare else ""
        notes.append(f"{count(single, 'image')} with fewer than two annotators left out{unknown}")
    return tuple(notes)
