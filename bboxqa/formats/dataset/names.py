"""Names by which files are joined: those of images, categories and key points."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from unicodedata import normalize

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import as_written, clean, count, first_few, folded, nearest, one_line
from bboxqa.formats.records import AnnotationFile, Category, most_joints, whole_number
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.keypoints import Keypoints, limbs_of
from bboxqa.model.settings import JoinBy

_SHOWN = 3
# Roboflow writes photo.jpg as photo_jpg.rf.0123456789abcdef0123456789abcdef.jpg.
_ROBOFLOW = re.compile(r"(?:_(?:jpe?g|png|bmp|tiff?|webp))?\.rf\.[0-9A-Za-z]{8,}\Z", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}\Z")


def join_name(file_name: str, by: JoinBy) -> str:
    r"""Return the name by which an image is joined.

    Examples
    --------
    >>> join_name("train/a_jpg.rf.0123456789abcdef.jpg", "name")
    'a_jpg.rf.0123456789abcdef.jpg'
    >>> join_name("train/a_jpg.rf.0123456789abcdef.jpg", "stem"), join_name("b\\a.PNG", "stem")
    ('a', 'a')
    """
    if by in ("path", "none"):
        return file_name
    name = re.split(r"[/\\]", file_name)[-1]
    return name if by == "name" else _ROBOFLOW.sub("", _SUFFIX.sub("", name))


def with_join_names(
    files: Sequence[AnnotationFile], by: JoinBy, people: Sequence[str]
) -> list[AnnotationFile]:
    """Return files whose images are named by the names that join them.

    With "none", names begin with those of `people`, by file, so that no image is in two files.

    Raises DatasetError, with the first examples, if two images of a file would get the same name.
    """
    names = names_of_images(files)
    if by == "none":
        return [
            _renamed(file, {name: f"{who}/{name}" for name in own})
            for file, own, who in zip(files, names, people, strict=False)
        ]
    _refuse_numbered(files)
    if by == "path":
        return _with_one_spelling(files)
    new = [{name: join_name(name, by) for name in own} for own in names]
    problems = [
        f"{file.source.name}: images {one_line(first)!r} and {one_line(name)!r} have one {by}, "
        f"{one_line(of_file[name])!r}"
        for file, of_file in zip(files, new, strict=True)
        for first, name in _alike(file, of_file)
    ]
    if problems:
        other = "try --join name, or --join path." if by == "stem" else "use --join path."
        advice = f"Images cannot be joined by {by}; {other}"
        raise DatasetError(problems[:_SHOWN], advice, total=len(problems))
    return _with_one_spelling([_renamed(*each) for each in zip(files, new, strict=True)])


def _alike(file: AnnotationFile, new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each name of an image, with the first that gets the same new name."""
    seen: dict[str, str] = {}
    for name in (image.file_name for image in file.images if image.file_name):
        first = seen.setdefault(new[name], name)
        if first != name:
            yield first, name


def _with_one_spelling(files: Sequence[AnnotationFile]) -> list[AnnotationFile]:
    """Return files with one spelling of letters with marks, that of the first file with a name."""
    # macOS decomposes them in names of files (Unicode form NFD). Both forms in a file may be two
    # images.
    if len(files) == 1:
        return list(files)
    forms = [
        {name: normalize("NFC", name) for name in names if not name.isascii()}
        for names in names_of_images(files)
    ]
    doubled = {form for each in forms for form, n in Counter(each.values()).items() if n > 1}
    spellings: dict[str, str] = {}
    found = []
    for file, of_name in zip(files, forms, strict=True):
        joined = {name: form for name, form in of_name.items() if form not in doubled}
        found.append(
            _renamed(
                file, {name: spellings.setdefault(form, name) for name, form in joined.items()}
            )
        )
    return found


def _renamed(file: AnnotationFile, new: Mapping[str, str]) -> AnnotationFile:
    if all(name == other for name, other in new.items()):
        return file
    images = [
        replace(image, file_name=new.get(image.file_name, image.file_name))
        if image.file_name else image
        for image in file.images
    ]  # fmt: skip
    return replace(file, images=images)


def _refuse_numbered(files: Sequence[AnnotationFile]) -> None:
    """Refuse files in which a task of one number, by which images are named, has other data."""
    seen: dict[str, tuple[str, str]] = {}
    for file in files:
        for name, data in file.numbered_images.items():
            other, before = seen.setdefault(name, (file.source.name, data))
            if data != before:
                problem = f"{other} and {file.source.name}: image {one_line(name)!r} is named by "
                raise DatasetError(
                    [f"{problem}the number of its task, whose data differ in the two files"],
                    "Say which key of the data has the image: --columns image=KEY",
                )


def names_of_images(files: Sequence[AnnotationFile]) -> list[set[str]]:
    """Return the file names of the images of each file."""
    return [{image.file_name for image in file.images if image.file_name} for file in files]


def join_advice(names: Sequence[set[str]]) -> str:
    """Return which option would join most images, with examples; "" if none would join more.

    Examples
    --------
    >>> join_advice([{"a.jpg", "b.jpg"}, {"train/a.jpg"}])
    "--join name would join 1 more image, such as 'a.jpg' = 'train/a.jpg'"
    """
    best, most = "", 0
    ways: tuple[JoinBy, ...] = ("name", "stem")
    for by in ways:
        found: dict[str, dict[str, None]] = {}
        n_names = 0
        for each in names:
            own = {join_name(name, by): name for name in sorted(each)}
            n_names += len(own)
            for key, name in sorted(own.items()):
                found.setdefault(key, {})[name] = None
        # Two images of one file must not get one name.
        pairs = [[*each][:2] for each in found.values() if len(each) > 1]
        if len(pairs) > most and n_names == sum(map(len, names)):
            shown = (f"{one_line(name)!r} = {one_line(other)!r}" for name, other in pairs[:_SHOWN])
            more = count(len(pairs), "more image")
            best, most = f"--join {by} would join {more}, such as {', '.join(shown)}", len(pairs)
    return best


def with_category_map(
    files: Sequence[AnnotationFile], category_map: Mapping[str, str]
) -> tuple[list[AnnotationFile], dict[str, str]]:
    """Return files with categories renamed, and a note for each mapped name that is no category.

    Categories without a new name keep theirs, as they are left out later. Raises ConfigError for an
    entry if neither its old nor its new name is a category.
    """
    known = {clean(category.name) for file in files for category in file.categories}
    unused = {}
    for name, other in category_map.items():
        if other and not known & {name, other}:
            problem = f"--map names {name!r}, which is not a category{nearest(name, known)}"
            raise ConfigError(problem)
        if name not in known:
            near = nearest(name, known - {other})
            unused[name] = f"{map_options({name: other})}: no category is called {name!r}{near}"
    if not category_map:
        return list(files), unused
    new = [
        [replace(e, name=category_map.get(clean(e.name)) or e.name) for e in file.categories]
        for file in files
    ]
    pairs = zip(files, new, strict=True)
    return [replace(file, categories=categories) for file, categories in pairs], unused


def supercategories(files: Sequence[AnnotationFile], names: Iterable[str]) -> tuple[str, ...]:
    """Return the supercategory of each category, from the first file that names one.

    It is "" if no file does; the tuple is empty if there are no supercategories at all.
    """
    found: dict[str, str] = {}
    for file in files:
        for category in file.categories:
            if isinstance(category.supercategory, str):
                found.setdefault(clean(category.name), clean(category.supercategory))
    of_names = tuple(found.get(name, "") for name in names)
    return of_names if any(of_names) else ()


def renamed_categories(
    files: Sequence[AnnotationFile],
) -> Iterator[tuple[AnnotationFile, str, str, str]]:
    """Yield category ids with other names in another file, if neither file has both names.

    Each comes as its file, its name there and in the other file, and the problem.
    """
    tables: list[tuple[str, dict[int | str, str]]] = []
    for file in (each for each in files if not each.numbers_categories):
        table = {category.id: clean(category.name) for category in file.categories}
        # Of files with the same categories, only the first is looked at.
        if any(table == each for _, each in tables):
            continue
        for source, known in tables:
            for number, name in table.items():
                other = known.get(number, name)
                if other not in table.values() and name not in known.values():
                    problem = f"category {number} is {name!r}; in {source} it is {other!r}"
                    yield file, name, other, f"{problem}, and neither file has both names"
        tables.append((file.source.name, table))


def variants_of(names: Iterable[str]) -> list[list[str]]:
    """Return names in groups that differ only in case, blanks or invisible characters.

    Examples
    --------
    >>> variants_of(["Ann", "bob", "ann "])
    [['Ann', 'ann ']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(folded(as_written(name)), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def variant_remark(users: Mapping[str, AbstractSet[int]]) -> str:
    """Return a remark on categories that differ only by case or blanks; "" if there are none.

    `users` are the annotators who used each category: an annotator who uses both variants may mean
    two things, such as the letters A and a.

    Examples
    --------
    >>> print(variant_remark({"cat": {0}, "Cat": {1}, "dog": {0, 1}, "Dog": {0}}))
    categories 'cat' and 'Cat' differ only by case or blanks, and count as different; to join \
them: --map Cat=cat
    """
    variants = [
        group
        for group in variants_of(users)
        if all(users[a].isdisjoint(users[b]) for a, b in combinations(group, 2))
    ]
    if not variants:
        return ""
    shown = first_few(variants, _SHOWN, lambda group: " and ".join(map(repr, group)))
    options = map_options({name: group[0] for group in variants for name in group[1:]})
    return (
        f"categories {shown} differ only by case or blanks, and count as different; "
        f"to join them: {options}"
    )


def map_options(category_map: Mapping[str, str]) -> str:
    """Return the command-line options that map names.

    Examples
    --------
    >>> map_options({"Cat": "cat", "Dog ": "dog"})
    "--map Cat=cat --map 'Dog =dog'"
    """
    return " ".join(
        f"--map {shlex.quote(f'{name}={other}')}" for name, other in category_map.items()
    )


def left_out_by(category_map: Mapping[str, str]) -> frozenset[str]:
    """Return the categories that a map leaves out: those without a new name.

    Raises ConfigError if another category is renamed to one of them.

    Examples
    --------
    >>> sorted(left_out_by({"Cat": "cat", "shadow": ""}))
    ['shadow']
    """
    names = frozenset(name for name, new in category_map.items() if not new)
    for name, new in category_map.items():
        if new in names:
            raise ConfigError(
                f"--map leaves {new!r} out, and renames {name!r} to it; expected only one of both"
            )
    return names


_Names = tuple[str, ...]
_Limbs = tuple[tuple[int, int], ...]


def with_one_order(files: Sequence[AnnotationFile]) -> list[AnnotationFile]:
    """Return files with the key points of each category in the order of the first file.

    Raises DatasetError if each of two files has a name that the other does not have, since these
    may be two names of one joint.
    """
    orders: dict[str, _Names] = {}
    sources: dict[str, str] = {}
    problems = []
    for file in (each for each in files if each.columns.keypoints is not None):
        for category in file.categories:
            name, joints = clean(category.name), _names_of(category)
            known = orders.get(name, ())
            had, has = {*known}, {*joints}
            more = tuple(joint for joint in joints if joint not in had)
            fewer = [joint for joint in known if joint not in has]
            if joints and more and fewer and not file.numbers_categories:
                found = f"{first_few(more, _SHOWN)} in {file.source.name} only"
                problems.append(
                    f"category {name!r} has key points {found}, and {first_few(fewer, _SHOWN)} in "
                    f"{sources[name]} only; expected the same names"
                )
            orders[name] = known + more
            sources.setdefault(name, file.source.name)
    if problems:
        raise DatasetError(problems, "Give the key points the same names in all files.")
    return [_reordered(file, orders) for file in files]


def _reordered(file: AnnotationFile, orders: dict[str, _Names]) -> AnnotationFile:
    keypoints = file.columns.keypoints
    if keypoints is None:
        return file
    categories = []
    for category in file.categories:
        joints, order = _names_of(category), orders.get(clean(category.name), ())
        if joints and order[: len(joints)] != joints:
            rows = np.flatnonzero(file.columns.category_id == whole_number(category.id))
            # The first of two equal names counts.
            places = {joint: number for number, joint in reversed([*enumerate(order)])}
            place = np.array([places[joint] for joint in joints], np.int64)
            held = (keypoints.stop - keypoints.start)[rows]
            keypoints = _placed(keypoints, rows[held <= len(joints)], place, len(order))
            limbs = [[int(place[end]) + 1 for end in ends] for ends in skeleton_of(category)]
            named = Category(category.id, category.name, category.supercategory, [*order], limbs)
            categories.append(named)
        else:
            categories.append(category)
    columns = replace(file.columns, keypoints=keypoints)
    return replace(file, categories=categories, columns=columns)


def with_joints(data: Dataset, files: Sequence[AnnotationFile]) -> Dataset:
    """Return a data set with joint names, in which every annotation has all joints of its category.

    Joints without a name are numbered. Joints that an annotation omits at the end of its list are
    not labelled. Lines come from the first skeleton in the files, or else from COCO's person
    skeleton.
    """
    if data.annotations.keypoints is None:
        return data
    named: dict[str, _Names] = {}
    skeletons: dict[str, _Limbs] = {}
    for category in (each for file in files for each in file.categories):
        name, joints = clean(category.name), _names_of(category)
        skeletons[name] = skeletons.get(name) or skeleton_of(category)
        if len(joints) > len(named.get(name, ())):
            named[name] = joints
    most = np.zeros(len(data.category_names), np.int64)
    for each in (data, *(() if data.repeats is None else (data.repeats.sessions,))):
        points = each.annotations.keypoints
        if points is not None:
            np.maximum.at(most, each.annotations.category, points.stop - points.start)
    joint_names = []
    for name, number in zip(data.category_names, most.tolist(), strict=True):
        joints = named.get(name, ())
        joints += tuple(str(place) for place in range(len(joints) + 1, number + 1))
        # The names of joints that no annotation has are dropped.
        joint_names.append(joints if number else ())
    known = tuple(joint_names)
    limbs = []
    for name, joints in zip(data.category_names, known, strict=True):
        drawn = skeletons.get(name, ())
        are_there = bool(drawn) and max(map(max, drawn)) < len(joints)
        limbs.append(drawn if are_there else limbs_of(joints))
    annotations = _completed(data.annotations, known)
    data = replace(data, annotations=annotations, joint_names=known, limbs=tuple(limbs))
    repeats = data.repeats
    if repeats is None:
        return data
    annotations = _completed(repeats.sessions.annotations, known)
    sessions = replace(
        repeats.sessions, annotations=annotations, joint_names=known, limbs=data.limbs
    )
    return replace(data, repeats=replace(repeats, sessions=sessions))


def _completed(annotations: Annotations, joint_names: tuple[_Names, ...]) -> Annotations:
    """Return annotations with unlabelled joints in place of omitted joints."""
    keypoints = annotations.keypoints
    if keypoints is None:
        return annotations
    expected = np.array([len(names) for names in joint_names], np.int64)[annotations.category]
    held = keypoints.stop - keypoints.start
    short = held < expected
    # A few names of a category may stand for very many omitted joints.
    n_points, most = int(expected[short].sum()), most_joints(n_given := int(held.sum()))
    if n_points > most:
        have = f"{count(int(short.sum()), 'list')} of key points with fewer than the category names"
        found = f"{have} would have {n_points:,} points"
        raise DatasetError(
            [f"{found}; expected at most {most:,} where {n_given:,} are given"],
            "Leave out names of key points that no annotation has.",
        )
    for number in np.unique(expected[short]).tolist():
        rows = np.flatnonzero(short & (expected == number))
        keypoints = _placed(keypoints, rows, np.arange(number), number)
    return replace(annotations, keypoints=keypoints)


def _placed(keypoints: Keypoints, rows: IndexArray, place: IndexArray, n_joints: int) -> Keypoints:
    """Return key points with the joints of some rows moved to new places among `n_joints`."""
    taken = keypoints.take(rows).packed()
    xy = np.zeros((len(rows) * n_joints, 2))
    visibility = np.zeros(len(xy), np.uint8)
    number = np.repeat(np.arange(len(rows)), taken.stop - taken.start)
    to = number * n_joints + place[np.arange(len(number)) - taken.start[number]]
    xy[to], visibility[to] = taken.xy, taken.visibility
    start, stop = keypoints.start.copy(), keypoints.stop.copy()
    start[rows] = len(keypoints.xy) + np.arange(len(rows)) * n_joints
    stop[rows] = start[rows] + n_joints
    return replace(
        keypoints,
        xy=np.concatenate([keypoints.xy, xy]),
        visibility=np.concatenate([keypoints.visibility, visibility]),
        start=start,
        stop=stop,
    )


def _names_of(category: Category) -> _Names:
    names = category.keypoints
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(map(clean, names))


def skeleton_of(category: Category) -> _Limbs:
    """Return the pairs of joint indices that a skeleton connects; empty if it is not as in COCO.

    Examples
    --------
    >>> skeleton_of(Category(1, "bird", None, ["head", "tail", "wing"], [[1, 3], [3, 2]]))
    ((0, 2), (2, 1))
    >>> skeleton_of(Category(1, "bird", None, ["head", "tail"], [[0, 1]]))
    ()
    """
    pairs = category.skeleton
    if not isinstance(pairs, list):
        return ()
    most = len(_names_of(category)) or np.inf
    limbs = []
    for pair in pairs:
        ends = [whole_number(end) or 0 for end in pair] if isinstance(pair, list) else []
        if len(ends) != 2 or min(ends) < 1 or max(ends) > most:
            return ()
        limbs.append((ends[0] - 1, ends[1] - 1))
    return tuple(limbs)
