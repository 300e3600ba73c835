"""Names by which files are joined: those of images, categories and key points."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import listed_by
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import as_written, clean, count, first_few, folded, nearest, one_line
from bboxqa.formats.label_folders import original_of
from bboxqa.formats.records import AnnotationFile, Category, most_joints, whole_number
from bboxqa.model.keypoints import limbs_of
from bboxqa.model.settings import JoinBy

_SHOWN = 3


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
    return name if by == "name" else original_of(name)


def with_join_names(files: Sequence[AnnotationFile], by: JoinBy) -> list[AnnotationFile]:
    """Return files whose images have the names that join them, spelled as in the first."""
    seen_numbers: dict[str, tuple[str, str]] = {}
    for file in files if by != "none" else ():
        for name, data in file.numbered_images.items():
            other, before = seen_numbers.setdefault(name, (file.source.name, data))
            if data != before:
                problem = f"{other} and {file.source.name}: image {one_line(name)!r} is named by "
                raise DatasetError(
                    [f"{problem}the number of its task, whose data differ in the two files"],
                    "Say which key of the data has the image: --columns image=KEY",
                )
    problems = []
    names: list[dict[str, str]] = []
    # macOS decomposes letters in names of files (Unicode form NFD). Both forms in a file may be two
    # images.
    doubled = set[str]()
    for file in files:
        who = f"{file.person}/" if by == "none" else ""
        new = {n: who + join_name(n, by) for n in sorted(file.image_names)}
        seen: dict[str, str] = {}
        problems += [
            f"{file.source.name}: images {one_line(seen[key])!r} and {one_line(name)!r} have one "
            f"{by}, {one_line(key)!r}"
            for name, key in new.items()
            if seen.setdefault(key, name) != name
        ]
        forms = Counter(normalize("NFC", key) for key in seen if not key.isascii())
        doubled |= {form for form, n in forms.items() if n > 1}
        names.append(new)
    if problems:
        other = "try --join name, or --join path." if by == "stem" else "use --join path."
        advice = f"Images cannot be joined by {by}; {other}"
        raise DatasetError(problems[:_SHOWN], advice, total=len(problems))
    spelled: dict[str, str] = {}
    found = list[AnnotationFile]()
    for file, new in zip(files, names, strict=True):
        for name, key in new.items():
            # The normal form of others may be ASCII, such as that of the sign of Kelvin.
            if not key.isascii() and (form := normalize("NFC", key)) not in doubled:
                new[name] = spelled.setdefault(form, key)
        found.append(file)
        if any(name != key for name, key in new.items()):
            images = [replace(e, file_name=new[e.file_name]) if e.file_name else e
                      for e in file.images]  # fmt: skip
            found[-1] = replace(file, images=images)
    return found


def join_advice(names: Sequence[set[str]]) -> str:
    """Return which option would join most images, with examples; "" if none would join more."""
    best, most = "", 0
    ways: tuple[JoinBy, ...] = ("name", "stem")
    for by in ways:
        own = [{join_name(name, by): name for name in sorted(each)} for each in names]
        found: dict[str, dict[str, None]] = {}
        for key, name in (pair for each in own for pair in each.items()):
            found.setdefault(key, {})[name] = None
        pairs = [[*each][:2] for each in found.values() if len(each) > 1]
        # Two images of one file must not get one name.
        if len(pairs) > most and sum(map(len, own)) == sum(map(len, names)):
            shown = (f"{one_line(name)!r} = {one_line(other)!r}" for name, other in pairs[:_SHOWN])
            more = count(len(pairs), "more image")
            best, most = f"--join {by} would join {more}, such as {', '.join(shown)}", len(pairs)
    return best


def with_category_map(
    files: Sequence[AnnotationFile], category_map: Mapping[str, str]
) -> tuple[list[AnnotationFile], dict[str, str]]:
    """Return files with categories renamed, and a note for each mapped name that is no category."""
    known = {clean(category.name) for file in files for category in file.categories}
    unused = {}
    left_out_by(category_map)
    for name, other in category_map.items():
        if other and not known & {name, other}:
            problem = f"--map names {name!r}, which is not a category{nearest(name, known)}"
            raise ConfigError(problem)
        if name not in known:
            near = nearest(name, known - {other})
            unused[name] = f"{map_options({name: other})}: no category is called {name!r}{near}"
    new = [
        [replace(e, name=category_map.get(clean(e.name)) or e.name) for e in file.categories]
        for file in files
    ]
    pairs = zip(files, new, strict=True)
    return [replace(file, categories=categories) for file, categories in pairs], unused


def renamed_categories(
    files: Sequence[AnnotationFile],
) -> Iterator[tuple[AnnotationFile, str, str, str]]:
    """Yield category ids with other names in another file, if neither file has both names."""
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
    """Return names in groups that differ only in case, blanks or invisible characters."""
    groups = listed_by((folded(as_written(name)), name) for name in names)
    return [group for group in groups.values() if len(group) > 1]


def variant_remark(categories: Iterable[str]) -> str:
    """Return a remark on categories that differ only by case or blanks; "" if there are none."""
    if not (variants := variants_of(categories)):
        return ""
    shown = first_few(variants, _SHOWN, lambda group: " and ".join(map(repr, group)))
    options = map_options({name: group[0] for group in variants for name in group[1:]})
    said = f"categories {shown} differ only by case or blanks, and count as different; to join "
    return f"{said}them: {options}"


def map_options(category_map: Mapping[str, str]) -> str:
    """Return the command-line options that map names."""
    return " ".join(
        f"--map {shlex.quote(f'{name}={other}')}" for name, other in category_map.items()
    )


def left_out_by(category_map: Mapping[str, str]) -> frozenset[str]:
    """Return the categories that a map leaves out: those without a new name."""
    names = frozenset(name for name, new in category_map.items() if not new)
    for name, new in category_map.items():
        if new in names:
            raise ConfigError(
                f"--map leaves {new!r} out, and renames {name!r} to it; expected only one of both"
            )
    return names


class Joints(msgspec.Struct):
    """The joints of a category of all files."""

    source: str
    names: tuple[str, ...] = ()
    """The names of joints, numbers where there are none; () if none was drawn."""
    limbs: tuple[tuple[int, int], ...] = ()
    """The lines of the first skeleton, or else those of COCO's person."""
    most: int = 0
    """The largest number of joints of an annotation."""


def with_one_order(
    files: Sequence[AnnotationFile],
) -> tuple[list[AnnotationFile], dict[str, Joints]]:
    """Return files with all joints of each category, in the order of the first file; and joints."""
    known: dict[str, Joints] = {}
    problems = []
    for file in files:
        if (of := file.columns.keypoints) is None:
            continue
        most = np.zeros(len(file.categories) + 1, np.int64)
        np.maximum.at(most, file.category_rows, of.stop - of.start)
        for category, n_joints in zip(file.categories, most.tolist(), strict=False):
            name, own = clean(category.name), _names_of(category)
            joints = known.setdefault(name, Joints(file.source.name))
            had, has = {*joints.names}, {*own}
            more = tuple(each for each in own if each not in had)
            fewer = [each for each in joints.names if each not in has]
            if own and more and fewer and not file.numbers_categories:
                problems.append(
                    f"category {name!r} has key points {first_few(more, _SHOWN)} in "
                    f"{file.source.name} only, and {first_few(fewer, _SHOWN)} in {joints.source} "
                    "only; expected the same names"
                )
            joints.names, joints.most = joints.names + more, max(joints.most, n_joints)
            if not joints.limbs and (limbs := skeleton_of(category)):
                place = _places(own, joints.names)
                joints.limbs = tuple((place[a], place[b]) for a, b in limbs) if own else limbs
    if problems:
        raise DatasetError(problems, "Give the key points the same names in all files.")
    for joints in known.values():
        numbers = map(str, range(len(joints.names) + 1, joints.most + 1))
        joints.names = (*joints.names, *numbers) if joints.most else ()
        if not joints.limbs or max(map(max, joints.limbs)) >= len(joints.names):
            joints.limbs = limbs_of(joints.names)
    return [_ordered(file, known) for file in files], known


def _places(own: Sequence[str], order: Sequence[str]) -> list[int]:
    """Return the places of names in an order; the first of two equal names counts."""
    places = {name: number for number, name in reversed([*enumerate(order)])}
    return [*range(len(own))] if order[: len(own)] == own else [places[name] for name in own]


def _ordered(file: AnnotationFile, known: Mapping[str, Joints]) -> AnnotationFile:
    """Return a file whose annotations have all joints of their category, in their order."""
    if file.columns.keypoints is None:
        return file
    points, categories = file.columns.keypoints.packed(), [*file.categories]
    held = points.stop - points.start
    named = [len(known[clean(each.name)].names) for each in categories]
    n_joints = np.maximum(held, np.array([*named, 0], np.int64)[file.category_rows])
    # A few names of a category may stand for very many omitted joints.
    n_points, most = int(n_joints.sum()), most_joints(len(points.xy))
    if n_points > most:
        found = f"key points with all joints that their categories name are {n_points:,} points"
        raise DatasetError(
            [f"{file.source.name}: {found}; expected at most {most:,}"],
            "Leave out names of key points that no annotation has.",
        )
    row = np.repeat(np.arange(len(held)), held)
    to = np.arange(len(row)) - points.start[row]
    for number, each in enumerate(file.categories):
        own, order = _names_of(each), known[clean(each.name)].names
        if order and order[: len(own)] != own:
            place = _places(own, order)
            moved = np.flatnonzero(((file.category_rows == number) & (held <= len(own)))[row])
            to[moved] = np.array(place)[to[moved]]
            limbs = [[place[a] + 1, place[b] + 1] for a, b in skeleton_of(each)]
            categories[number] = replace(each, keypoints=[*order], skeleton=limbs)
    stop = np.cumsum(n_joints)
    start = stop - n_joints
    to += start[row]
    xy, visibility = np.zeros((n_points, 2)), np.zeros(n_points, np.uint8)
    xy[to], visibility[to] = points.xy, points.visibility
    points = replace(points, xy=xy, visibility=visibility, start=start, stop=stop)
    return replace(file, categories=categories, columns=replace(file.columns, keypoints=points))


def _names_of(category: Category) -> tuple[str, ...]:
    names = category.keypoints
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(map(clean, names))


def skeleton_of(category: Category) -> tuple[tuple[int, int], ...]:
    """Return the pairs of joint indices that a skeleton connects; empty if it is not as in COCO."""
    pairs = category.skeleton if isinstance(category.skeleton, list) else []
    ends = [[whole_number(end) or 0 for end in e] if isinstance(e, list) else [] for e in pairs]
    most = len(_names_of(category)) or np.inf
    are_pairs = all(len(e) == 2 and min(e) >= 1 and max(e) <= most for e in ends)
    return tuple((a - 1, b - 1) for a, b in ends) if are_pairs else ()
