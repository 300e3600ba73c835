"""Joining files to one data set: images by file name, categories by name; who was asked; notes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, IndexArray, distinct, listed_by
from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.core.text import alike, clean, count, first_few, one_line, typed_paths
from bboxqa.formats.columns import MAX_COORDINATE
from bboxqa.formats.dataset.names import (
    Joints,
    join_advice,
    left_out_by,
    map_options,
    renamed_categories,
    variant_remark,
    variants_of,
    with_one_order,
)
from bboxqa.formats.dataset.people import Attribution, listed_files, nothing_to_compare, unnamed
from bboxqa.formats.dataset.rows import (
    Joined,
    Rows,
    lacking_notes,
    merge,
    read_sessions,
    read_times,
    read_tracks,
    repeated_work,
    split_sessions,
    with_repeats,
)
from bboxqa.formats.document import apart_note
from bboxqa.formats.measured import more_rows
from bboxqa.formats.records import AnnotationFile, ReadSettings, ids_of
from bboxqa.model.annotations import Dataset

_SHOWN = 3
_SIDES = f"0 or more, and at most {MAX_COORDINATE:g} px"


def join(
    files: Sequence[AnnotationFile], attribution: Attribution, reading: ReadSettings
) -> Dataset:
    """Join all files to one data set."""
    session_key, time_key = reading.session_key, reading.time_key
    sessions = None if session_key is None else read_sessions(files, attribution, session_key)
    seconds = None if time_key is None else read_times(files, time_key)
    joints: dict[str, Joints] = {}
    if any(file.columns.keypoints is not None for file in files):
        files, joints = with_one_order(files)
    joined = Joined.of(files, attribution)
    _add_sizes(joined)
    _compare_names(joined, are_named_alike=not reading.records)
    rows = _index(joined, {"session": sessions and sessions[0], "seconds": seconds})
    assigned, listed = _assign_all(joined, rows)
    n_records, is_kept = sum(map(len, joined.of_record)), reading.records or reading.check is None
    are_several = sessions is not None or n_records > len(joined.images)
    again = repeated_work(joined, rows, is_kept=is_kept) if are_several else ""
    if reading.asked == "all":
        assigned[~listed] = True
    if joined.problems:
        if lists := [file.source.name for file in files if file.records == "results"]:
            truth = [f.source.name for f in files if f.records != "results"]
            of = [*truth, reading.truth or "ANNOTATIONS"][0]
            typed = typed_paths([lists[0], "--ground-truth", of])
            joined.advice.append(f"For all findings: bboxqa validate {typed}")
        raise DatasetError(joined.problems, "\n".join(joined.advice), files=joined.origins)
    notes = [*file_notes(files, attribution)]
    if reading.min_annotators > 1:
        notes += _notes_on_asked(joined, assigned.sum(1), rows, reading.choices.mask)
    notes += filter(None, [again])
    if reading.on_joined is not None:
        reading.on_joined(files, attribution, rows, again)
    left_out: list[str] = []
    if reading.category_map and (names := left_out_by(reading.category_map)):
        files, rows, left_out = _without(joined, rows, names)
    split, tracks = None, None
    if sessions is not None:
        split = split_sessions(joined, rows, sessions)
        rows = split[0]
    if reading.tracks:
        rows, tracks = read_tracks(joined, rows)
    if reading.tracks or seconds is not None:
        notes += lacking_notes(rows.track, seconds or (), str(time_key))
    skeletons = [joints[name] for name in joined.categories] if joints else []
    data = Dataset(
        image_names=tuple(joined.images),
        image_size=joined.sizes,
        category_names=tuple(joined.categories),
        annotator_names=tuple(joined.annotators),
        annotations=merge(files, rows),
        joint_names=tuple(each.names for each in skeletons),
        limbs=tuple(each.limbs for each in skeletons),
        tracks=tracks,
        assigned=assigned,
        attribution=attribution.way,
        sources=tuple(file.source for file in files),
        reading=reading.choices,
        notes=(*notes, *left_out),
        left_out=tuple(left_out),
        unlisted=~listed if reading.asked == "authors" else None,
        has_text_ids=any(file.columns.text_ids is not None for file in files),
    )
    if split is not None:
        data = with_repeats(data, files, *split[1:])
    return replace(data, headlines=tuple(_headlines(data, files)))


def _notes_on_asked(
    joined: Joined, n_asked: IndexArray, rows: Rows, mask: str | None
) -> Iterator[str]:
    """Yield a note on images with fewer than two annotators; refuse files without others."""
    files, of = joined.files, joined.attribution
    single, bare = int((n_asked < 2).sum()), int((n_asked == 0).sum())
    if 0 < single < len(n_asked):
        unknown = f", of which {bare:,} without annotations or a list of annotators" if bare else ""
        yield f"{count(single, 'image')} with fewer than two annotators left out{unknown}"
    if single < len(n_asked):
        if not (n_asked[rows.image] > 1).any():
            raise nothing_to_compare(files, mask, " in images with two annotators")
        return
    people = f"{count(len(of.names), 'annotator')} by {of.way}"
    problem = f"{listed_files(files)}: {people}, but no image has two of them"
    advice = "Images may list who was asked under the key `annotators`. If all were: --asked all"
    if len(files) > 1:
        better = join_advice([file.image_names for file in files])
        better = better or "check that they are the same in all files."
        advice = f"Images are joined by file_name: {better}"
    raise NothingToCompareError([problem], advice)


def _add_sizes(joined: Joined) -> None:
    """Add the sizes of images of all files."""
    for file, row in zip(joined.files, joined.of_record, strict=True):
        # Comparisons with NaN are false.
        are_sides = np.logical_and(file.image_sizes >= 0, file.image_sizes <= MAX_COORDINATE)
        if len(bad := np.flatnonzero(~are_sides.all(axis=1))):
            width, height = file.image_sizes[bad[0]]
            problem = f"image {file.images[bad[0]].id}{more_rows(bad)}: size is {width:g} × "
            joined.add(file, [f"{problem}{height:g}; expected {_SIDES}"])
        size = np.where(are_sides, file.image_sizes, 0).astype(np.int32)
        known = np.flatnonzero(size.all(axis=1))
        # The first size of an image counts.
        new = known[(joined.sizes[row[known]] == 0).all(axis=1)][::-1]
        joined.sizes[row[new]] = size[new]
        unequal = known[(joined.sizes[row[known]] != size[known]).any(axis=1)]
        if len(unequal):
            (width, height), before = size[unequal[0]], joined.sizes[row[unequal[0]]]
            problem = f"image {file.image_labels[unequal[0]]!r}{more_rows(unequal)} is {width} × "
            problem += f"{height}; another record of it says {before[0]} × {before[1]}"
            joined.add(file, [problem], shared=True)
            joined.advice.append(
                "Boxes of resized pictures cannot be compared: export all of the same pictures.\n"
                f"Which size is right: bboxqa validate {typed_paths([file.source.name])} "
                "--images DIR"
            )


def _compare_names(joined: Joined, *, are_named_alike: bool) -> None:
    """Add the problems of names by which images and categories are joined."""
    files, renamed = joined.files, dict[str, str]()
    for file in files if len(files) > 1 else ():
        if nameless := [image.id for image in file.images if not image.file_name]:
            problem = f"image {nameless[0]} has no file_name; expected one, since "
            joined.add(file, [f"{problem}images of several files are joined by it"])
    is_compared = are_named_alike and len(files) > 1
    for file, name, other, problem in renamed_categories(files) if is_compared else ():
        joined.add(file, [problem], shared=True)
        renamed.setdefault(name, renamed.get(other, other))
    if renamed := {name: kept for name, kept in renamed.items() if name != kept}:
        joined.advice.insert(0, f"If they are one category: {map_options(renamed)}")
    for noun, names in (
        ("images", (image.file_name or "" for file in files for image in file.images)),
        ("categories", (category.name for file in files for category in file.categories)),
    ):
        joined.add(files[0], (f"{noun} {each}" for each in alike(names)), shared=True)


def _index(joined: Joined, more: Mapping[str, Sequence[Any] | None]) -> Rows:
    """Replace ids by indices, and report references to unknown ids; `more` are values by file."""
    of = joined.attribution
    code = np.array([joined.annotators[name] for name in of.names] + [-1], np.int32)
    parts: list[dict[str, Any]] = []
    for place, file in enumerate(joined.files):
        image, category = file.image_rows, file.category_rows
        joined.add(file, _wrong_values(file))
        usable = np.flatnonzero((image >= 0) & (category >= 0))
        names = (clean(each.name) for each in file.categories)
        of_category = np.array([joined.categories[name] for name in names], np.int32)
        part = {
            "file": np.full(len(usable), place, np.int32),
            "place": usable,
            "image": joined.of_record[place][image[usable]],
            "category": of_category[category[usable]],
            "annotator": code[of.author[place][usable]],
        }
        given = {name: each[place][usable] for name, each in more.items() if each is not None}
        parts.append(part | given)
    return Rows(**{name: np.concatenate([each[name] for each in parts]) for name in parts[0]})


def _wrong_values(file: AnnotationFile) -> Iterator[str]:
    """Yield a problem for ids that repeat, or are unknown; and wrong numbers."""
    columns, outlines = file.columns, file.columns.segmentation
    lists = {"images": file.image_ids, "categories": ids_of(file.categories)}
    for key, ids in (lists | {"annotations": columns.id}).items():
        if not (ids[1:] > ids[:-1]).all():
            ordered = np.sort(ids)
            for value in ordered[1:][ordered[1:] == ordered[:-1]][:1].tolist():
                yield f"{key}: id {value} occurs more than once; expected once"
    # Comparisons with NaN are false.
    sound = (np.abs(columns.bbox) <= MAX_COORDINATE).all(1) & (columns.bbox[:, 2:] >= 0).all(1)
    for rows, key, expected in (
        (np.flatnonzero(file.image_rows < 0), "image_id", "the id of an image"),
        (np.flatnonzero(file.category_rows < 0), "category_id", "the id of a category"),
        (np.flatnonzero(~sound), "bbox", f"sides of {_SIDES}"),
    ):
        if len(rows):
            found = f"{key} is {getattr(columns, key)[rows[0]].tolist()}; expected {expected}"
            yield f"annotation {file.shown_ids[int(rows[0])]}{more_rows(rows)}: {found}"
    if outlines is not None and not np.abs(outlines.xy).max(initial=0) <= MAX_COORDINATE:
        yield f"a polygon has a point far away; expected coordinates up to {MAX_COORDINATE:g} px"


def _assign_all(joined: Joined, rows: Rows) -> tuple[BoolArray, BoolArray]:
    """Return (I, A) who was asked, and (I,) which images list that."""
    files, attribution, number = joined.files, joined.attribution, joined.annotators
    assigned = np.zeros((len(joined.images), len(number)), np.bool_)
    listed = np.zeros(len(joined.images), np.bool_)
    stops = np.searchsorted(rows.file, np.arange(len(files) + 1)).tolist()
    for place, (file, asked) in enumerate(zip(files, attribution.asked, strict=True)):
        part = slice(stops[place], stops[place + 1])
        image, author = rows.image[part], rows.annotator[part]
        ids, own = file.shown_ids[rows.place[part]], np.zeros(len(listed), np.bool_)
        if (author < 0).any():
            joined.add(file, [unnamed(ids[author < 0], len(ids), "annotation")], shared=True)
        pairs = zip(asked, joined.of_record[place].tolist(), strict=True)
        lists = listed_by((names, each) for names, each in pairs if names is not None)
        for names, images in lists.items():
            own[images] = True
            assigned[np.ix_(images, [number[name] for name in names])] = True
        named = author >= 0
        uninvited = np.flatnonzero(named & own[image] & ~assigned[image, author])
        if len(uninvited):
            who = [*number][author[uninvited[0]]]
            problem = f"annotation {ids[int(uninvited[0])]}{more_rows(uninvited)}: is by {who!r}"
            wrong = "who is not in the list of annotators of its image; add the name, or correct it"
            joined.add(file, [f"{problem}, {wrong}"])
        free = named & ~own[image]
        assigned[image[free], author[free]] = True
        if place < len(files) - attribution.n_beside:
            listed |= own
    if (rows.annotator < 0).any():
        joined.advice.append(
            f"Annotators are named by {attribution.way}: name who drew these annotations there, "
            "or delete them."
        )
    if attribution.of_files and not assigned.all():
        listed &= ~_may_be_asked(joined, rows, assigned)
    return assigned, listed


def _may_be_asked(joined: Joined, rows: Rows, assigned: BoolArray) -> BoolArray:
    """Return (I,) bool: images that only some annotated, where the others may have been asked."""
    files, asked = joined.files, joined.attribution.asked
    # A table or folder of label files does not say which other images its author saw, unless one of
    # the same format has an image without annotations: their tool writes these.
    drawn = rows.by_file(len(files), "image")
    known = {
        file.title
        for file, image, held in zip(files, drawn, joined.of_record, strict=True)
        # Shapes without a box are annotations, too.
        if not file.n_apart and len(np.unique(image)) < len(np.unique(held))
    }
    is_open = np.zeros(assigned.shape[1], np.bool_)
    named = (
        (file, each[0][0]) for file, each in zip(files, asked, strict=True) if each and each[0]
    )
    pairs = [(file, joined.annotators[name]) for file, name in named]
    is_open[[who for _, who in pairs]] = True
    is_open[[who for file, who in pairs if file.lists_images or file.title in known]] = False
    authors = np.zeros_like(assigned)
    authors[rows.image, rows.annotator] = True
    lacking = ~assigned
    found = lacking.any(1) & (is_open | ~lacking).all(1) & (authors >= assigned).all(1)
    return np.asarray(found)


def _without(
    joined: Joined, rows: Rows, names: frozenset[str]
) -> tuple[list[AnnotationFile], Rows, list[str]]:
    """Leave out categories and their annotations, with a note; images and annotators stay."""
    kept = {name: place for place, name in enumerate(sorted({*joined.categories} - names))}
    new = np.array([kept.get(name, -1) for name in joined.categories], np.int32)
    found = np.flatnonzero(new[rows.category] >= 0)
    if len(rows.file) and not len(found):
        shown = first_few(sorted(names & {*joined.categories}), _SHOWN, repr)
        problem = f"--map leaves out the categories of all annotations: {shown}"
        raise NothingToCompareError([problem], "Keep a category that is to be measured.")
    n, shown = len(rows.file) - len(found), first_few(sorted(names), _SHOWN, repr)
    note = f"{count(n, 'annotation')} of {shown} left out, as --map says"
    joined.categories, rows = kept, rows.take(found)
    left = [
        replace(file, categories=[each for each in file.categories if clean(each.name) in kept])
        for file in joined.files
    ]
    return left, replace(rows, category=new[rows.category]), [note] * bool(n)


def _headlines(data: Dataset, files: Sequence[AnnotationFile]) -> Iterator[str]:
    """Yield facts that may make results useless: few common images, names alike, machines."""
    several = data.assigned.sum(1) >= 2
    if several.any():
        if groups := variants_of(data.annotator_names):
            shown = first_few(groups, _SHOWN, lambda each: " and ".join(map(one_line, each)))
            yield (
                f"annotators {shown} differ only in case, blanks or invisible characters, and "
                "count as different people: bboxqa validate shows where (A001)"
            )
        are_few = (2 * data.assigned[several].sum(0) < data.assigned.sum(0)).any()
        if len(files) > 1 and are_few and (advice := join_advice([f.image_names for f in files])):
            n_joined = count(int(several.sum()), "image")
            yield f"only {n_joined} of {len(several):,} joined: {advice}"
        used = distinct(data.annotations.category).tolist()
        if remark := variant_remark(data.category_names[each] for each in used):
            yield remark
    if marks := sum((file.columns.marks for file in files), Counter[str]()):
        n_annotations = count(sum(len(file.columns.id) for file in files), "annotation")
        yield (
            f"a machine began {marks.total():,} of {n_annotations} ({', '.join(sorted(marks))}): "
            "annotators who correct the same proposals share their errors, and agree more than "
            "independent ones"
        )


def file_notes(
    files: Sequence[AnnotationFile], attribution: Attribution, *, with_losses: bool = True
) -> Iterator[str]:
    """Yield each note on files once, with the files that it applies to."""
    names: dict[str, dict[str, None]] = {}
    for file in files:
        losses = [*file.repeat_notes, *([apart_note(file.n_apart)] if file.n_apart else [])]
        nobody = () if attribution.of_files else file.nobody_notes
        for note in (*file.notes, *nobody, *(losses if with_losses else ())):
            names.setdefault(note, {})[file.source.name] = None
    for note, of_note in names.items():
        each = f"{'each of ' * (len(of_note) > 1)}{first_few([*of_note], _SHOWN)}: "
        yield f"{each * (len(files) > 1)}{note}"
