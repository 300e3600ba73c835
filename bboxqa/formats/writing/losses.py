"""What a format cannot hold of a content, computed from what it holds."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.label_folders import place_of
from bboxqa.formats.records import extent_of
from bboxqa.formats.writing.content import Content, image_name, shown_id
from bboxqa.formats.writing.key_points import KEY_POINT, has_joints
from bboxqa.formats.writing.names import people_paths, safe_paths
from bboxqa.formats.writing.outlines import Kind, Record, bounds_of, corners_of
from bboxqa.formats.writing.writer import Loss, Noun, Options, Writer

ATTRIBUTES = "attributes"
ANNOTATIONS = Noun("annotation", "annotations")
_NAMES = {
    each: Noun(f"name of {article} {each}", f"names of {plural}")
    for each, article, plural in (
        ("category", "a", "categories"), ("image", "an", "images"),
        ("annotator", "an", "annotators"),
    )
}  # fmt: skip
_OUTLINES: dict[Kind, tuple[Noun, str]] = {
    "rotation": (Noun("rotated box", "rotated boxes"), "no angle"),
    "polygon": (Noun("polygon", "polygons"), "no polygon"),
    "holes": (
        Noun("polygon of several rings", "polygons of several rings"), "a single ring of each"
    ),
    "mask": (Noun("mask", "masks"), "no mask"),
}  # fmt: skip

_OF_ANNOTATIONS = {"id", "own_id", "image_id", "category_id", "bbox", "annotator", "area"}
# Keys that follow from other keys, or carry no information.
_OF_ANNOTATIONS |= {"num_keypoints", "shape", "segmentation", "iscrowd"}
_OF_IMAGES = {"id", "own_id", "file_name", "width", "height", "annotators"}
_IMAGE_ORIGINS = ("license", "flickr_url", "coco_url", "date_captured")
_OF_CATEGORIES = {"id", "own_id", "name"}
# What `Writer.holds` names that is no key of annotations.
_NO_KEYS = {*_OUTLINES, "corners", "visibility", "crowd", "skeleton", "keys", "line", "polyline"}
# Marks of objects, which say nothing if they are not set, as in all exports of CVAT.
_MARKS = ("occluded", "truncated", "difficult")
# How CVAT says that a shape began; other tools write what they like.
_SOURCES = ("auto", "semi-auto", "file", "consensus", "prediction")
# Tolerances in pixels, as files round to two decimals, and as a share of areas.
_ROUNDED, _ROUNDED_AREA = 0.011, 1e-3
_LISTED = 5
_EMPTY: tuple[object, ...] = (None, "", [], {}, 0)


def losses(content: Content, to_format: Writer, options: Options) -> Iterator[Loss]:
    """Yield the data of annotators that a format cannot hold."""
    if content.repeats:
        noun = Noun(
            "annotation of an image that a person repeated",
            "annotations of an image that a person repeated",
        )
        why = "only the first by each person is written"
        yield Loss(len(content.repeats), noun, why, one_line(content.repeats[0]))
    yield from _outline_losses(content, to_format)
    if "keypoints" in to_format.holds:
        yield from _key_point_losses(content, to_format)
    yield from _record_losses(content, to_format)
    if to_format.folder:
        yield from _path_losses(content, to_format)
    yield from to_format.losses(content, options)


def losses_of(
    lost: Sequence[Record],
    noun: Noun,
    why: str,
    how: Literal["left out", "changed", "ambiguous"] = "left out",
) -> Iterator[Loss]:
    """Yield the loss of annotations, if there are any."""
    if lost:
        yield Loss(len(lost), noun, why, f"annotation {one_line(shown_id(lost[0]))}", how)


def name_losses(
    kind: Literal["category", "image", "annotator"],
    names: Iterable[str],
    read: Callable[[str], str],
    why: str,
) -> Iterator[Loss]:
    """Yield the loss of names that are read back differently, as `read` returns them.

    "{}" in `why` is replaced by the first such name as it is read back.
    """
    lost = [name for name in names if not name or read(name) != name]
    if lost:
        first = one_line(lost[0])
        words = why.format(repr(one_line(read(lost[0])))) if "{}" in why else why
        yield Loss(len(lost), _NAMES[kind], words, repr(first), "changed")


def label_losses(
    content: Content, title: str, plain: Callable[[str], str] | None = None
) -> Iterator[Loss]:
    """Yield the loss of category names that would be read back differently.

    `plain` returns a name as written, without control characters that the format refuses.
    """
    why = f"{title} has no blanks around labels"
    why += "" if plain is None else ", and no control characters"
    names = content.category_names.values()
    yield from name_losses(
        "category", names, lambda name: (plain(name) if plain else name).strip(), why
    )


def key_losses(
    records: Iterable[Record],
    noun: Noun,
    why: str,
    is_held: Callable[[str, object], bool],
    name: Callable[[Record], str] = shown_id,
) -> Iterator[Loss]:
    """Yield a loss for each key that the format cannot hold.

    Parameters
    ----------
    records : iterable of dict
    noun : Noun
        What the records are.
    why : str
        Why keys are lost.
    is_held : callable
        (key, value) → whether the format holds it. Keys of attributes are such as
        "attributes.occluded".
    name : callable
        Returns the name of a record.
    """
    n_of: Counter[str] = Counter()
    first: dict[str, str] = {}
    for record in records:
        for key, value in _said(record):
            if not is_held(key, value):
                shown = f"{key} = {value}" if key == "source" and value in _SOURCES else key
                n_of[shown] += 1
                first.setdefault(shown, name(record))
    for key in sorted(n_of):
        example = f"{noun.one} {one_line(first[key])}"
        with_key = Noun(*(f"{each} with {one_line(key)!r}" for each in noun))
        yield Loss(n_of[key], with_key, why, example)


def _said(record: Record) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of a record, and those of its attributes, that say something."""
    own_name = record.get("name")
    for key, value in record.items():
        if key == ATTRIBUTES and isinstance(value, dict):
            for name, each in value.items():
                # Outlines keep the angle.
                if name != "rotation" and not (name in _MARKS and each in (0, "0", "false")):
                    yield f"{ATTRIBUTES}.{name}", each
        elif value in ("", [], {}) or (key == "supercategory" and value in ("none", own_name)):
            continue
        elif key != "keypoints" or not _are_unlabelled(value):
            yield key, value


def _are_unlabelled(keypoints: object) -> bool:
    """Return whether none of an annotation's key points is labelled; False for names of joints."""
    seen = keypoints[2::3] if isinstance(keypoints, list) else ()
    return len(seen) > 0 and not any(seen)


def _outline_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    """Yield losses of outlines that a format cannot hold, and of boxes next to outlines."""
    holds, title = to_format.holds, to_format.title
    has_polygons = "polygon" in holds
    of_kind: dict[Kind, list[Record]] = {kind: [] for kind in (*_OUTLINES, "box")}
    held = []
    for each in content.annotations:
        kind = content.kind_of(each, any_rectangle=not has_polygons and "rotation" in holds)
        is_cornered = "corners" in holds and corners_of(each) is not None
        if kind == "box" or kind in holds or is_cornered:
            held.append(each)
        else:
            of_kind[kind].append(each)
    for kind, (noun, has) in _OUTLINES.items():
        lost = of_kind[kind]
        instead = "its box is written" if len(lost) == 1 else "their boxes are written"
        held_instead = "four corners" if "corners" in holds and not has_polygons else has
        yield from losses_of(lost, noun, f"{title} holds {held_instead}; {instead}")
    has_outlines = not holds.isdisjoint(_OUTLINES.keys() | {"corners"})
    if has_outlines and "box and outline" not in holds:
        noun = Noun(
            "box that differs from the bounds of the outline",
            "boxes that differ from the bounds of the outline",
        )
        why = f"{title} holds the outline, whose bounds are the box"
        yield from losses_of([each for each in held if _has_other_bounds(each)], noun, why)
    if "rotation" in holds and "corners" not in holds:
        yield from _moved_corners(content, title, any_rectangle=not has_polygons)


def _has_other_bounds(annotation: Record) -> bool:
    found = bounds_of(annotation)
    if found is None:
        return False
    x, y, width, height = annotation["bbox"]
    own = x, y, x + width, y + height
    return not all(abs(left - right) <= _ROUNDED for left, right in zip(own, found, strict=True))


def _moved_corners(content: Content, title: str, *, any_rectangle: bool) -> Iterator[Loss]:
    """Yield the loss of rotated boxes whose corners move in a format of sides and angle."""
    moves = [
        (content.outlines[each["id"]].moved, each)
        for each in content.annotations
        if content.kind_of(each, any_rectangle=any_rectangle) == "rotation"
    ]
    moved = [each for distance, each in moves if distance > _ROUNDED]
    farthest = max((distance for distance, _ in moves), default=0.0)
    why = (
        f"{title} holds sides and angle, and their corners are not exact rectangles: "
        f"corners move by up to {farthest:.2g} px"
    )
    yield from losses_of(moved, _OUTLINES["rotation"][0], why, "changed")


def _key_point_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    """Yield losses of boxes, outlines, areas and visibility of annotations with key points."""
    holds, title = to_format.holds, to_format.title
    pointed = [each for each in content.annotations if has_joints(each)]
    if "keypoint box" not in holds:
        why = f"key points of {title} have neither box nor outline; they are written without"
        outlined = [each for each in pointed if each.get("segmentation")]
        noun = Noun("outline around key points", "outlines around key points")
        yield from losses_of(outlined, noun, why)
        boxed = [each for each in pointed if "shape" not in each and not _is_extent(each)]
        yield from losses_of(boxed, Noun("box around key points", "boxes around key points"), why)
    if "visibility" not in holds:
        # As in `joints_of`, these are written as visible.
        hidden = [
            (each, sum(0 < seen <= 1 for seen in each["keypoints"][2::3])) for each in pointed
        ]
        if lost := [(each, n) for each, n in hidden if n]:
            noun = Noun("joint that is hidden", "joints that are hidden")
            why = f"{title} has no visibility: written as visible"
            example = f"in annotation {shown_id(lost[0][0])}"
            yield Loss(sum(n for _, n in lost), noun, why, example, "changed")
    if "area" not in holds:
        lost_areas = [each for each in pointed if not _has_area_of_box(each)]
        why = (
            f"{title} has no place for it: OKS takes the area of the box, or of the points, instead"
        )
        noun = Noun("area of an object with key points", "areas of objects with key points")
        yield from losses_of(lost_areas, noun, why)


def _is_extent(annotation: Record) -> bool:
    extent = extent_of(annotation["keypoints"])
    return extent is not None and np.allclose(extent, annotation["bbox"], rtol=0, atol=1e-3)


def _has_area_of_box(annotation: Record) -> bool:
    area = annotation.get("area")
    if not isinstance(area, int | float) or not area > 0:
        return True
    width, height = annotation["bbox"][2:]
    return math.isclose(area, width * height, rel_tol=_ROUNDED_AREA, abs_tol=1)


def _record_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    """Yield losses of lines, crowds, images of nobody, and keys of records."""
    holds, title = to_format.holds, to_format.title
    held = content.held(holds)
    apart = Counter(each["shape"] for each in content.apart)
    apart.subtract(each["shape"] for each in held)
    for shape, n in apart.most_common():
        if n:
            yield Loss(n, Noun(shape, f"{shape}s"), f"{title} is written without them")
    if "crowd" not in holds:
        crowds = [each for each in content.annotations if "iscrowd" in each]
        yield from losses_of(crowds, Noun("crowd", "crowds"), f"{title} has no mark of a group")
    if "unasked images" not in holds and content.annotators:
        lost = [
            image for image, asked in zip(content.images, content.asked, strict=True) if not asked
        ]
        if lost:
            noun = Noun("image of no annotator", "images of no annotator")
            why, first = f"{title} only holds images of annotators", one_line(image_name(lost[0]))
            yield Loss(len(lost), noun, why, first)
    unnamed = [image_name(each) for each in content.images if not each.get("file_name")]
    if unnamed and "unnamed images" not in holds:
        noun = Noun("image without a name", "images without a name")
        example = f"image {one_line(unnamed[0])}"
        yield Loss(len(unnamed), noun, f"{title} has their id as name", example, "changed")
    if "keys" in holds:
        return
    known = {*_OF_ANNOTATIONS, *(holds - _NO_KEYS), *to_format.keys(content)}
    why = f"{title} has no place for it"
    yield from key_losses(content.annotations, ANNOTATIONS, why, _among(known))
    of_lines = _among(known | {"points", "label"})
    yield from key_losses(held, Noun("line", "lines"), why, of_lines)
    of_images = _among({*_OF_IMAGES, *_IMAGE_ORIGINS, *(holds & {"gain"})})
    yield from key_losses(content.images, Noun("image", "images"), why, of_images, image_name)
    of_categories = _among({*_OF_CATEGORIES, *(holds & {"keypoints", "skeleton"})})
    noun = Noun("category", "categories")
    yield from key_losses(
        content.categories, noun, why, of_categories, lambda each: str(each["name"])
    )


def _among(known: Collection[str]) -> Callable[[str, object], bool]:
    """Return whether a key, or the attributes that it is one of, are known, as a function."""
    return lambda key, _: key in known or (ATTRIBUTES in known and key.startswith(f"{ATTRIBUTES}."))


def _path_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    """Yield names of annotators and images that files and folders named after them cannot hold."""
    title = to_format.title
    people = people_paths(content.annotators)
    why = f"{title} names folders after annotators, and has no such folders"
    yield from name_losses("annotator", content.annotators, lambda name: people[name][0], why)
    names = [image_name(each) for each in content.images]
    files = safe_paths(names)
    paths = {name: "/".join((to_format.folder, *files[name])) for name in names}
    places = {name: place_of(f"{path}.txt") for name, path in paths.items()}
    known = Counter(places.values())

    def read(name: str) -> str:
        place = places[name]
        return to_format.read_name(name, place if known[place] == 1 else paths[name])

    def is_twin(name: str) -> bool:
        return safe_paths([name])[name] != files[name]

    others = [name for name in places if not is_twin(name)]
    why = f"{title} names files after images, and has no such paths; read as {{}}"
    yield from name_losses("image", others, read, why)
    why = (
        f"{title} names files after images without the ending, and another image has this one; "
        "read as {}"
    )
    yield from name_losses("image", filter(is_twin, places), read, why)


def notes_on(content: Content, to_format: Writer) -> Iterator[str]:
    """Yield notes on what a format has no place for, but what no annotator said, and on numbers."""
    title, holds = to_format.title, to_format.holds
    if "descriptions" not in holds:
        yield from _descriptions(content, title)
    elif content.differing:
        yield f"left out: {_quoted(content.differing)}, in which the files differ"
    if "unused categories" not in holds:
        used = {content.category_names[each["category_id"]] for each in content.annotations}
        used |= {each["label"] for each in content.held(holds)}
        if unused := [name for name in content.category_names.values() if name not in used]:
            some = count(len(unused), "category", "categories")
            yield (
                f"left out: {some} that no annotation has ({_quoted(unused)}): {title} has no list "
                "of categories"
            )
    if lost := [*_lost_ids(content, holds)]:
        *first, last = lost
        words = f"{', '.join(first)} and {last}" if first else last
        yield f"left out: the ids of {words}: {title} has no place for ids"
    if number := sum(map(_is_boxed, content.annotations)) if "keypoint box" in holds else 0:
        some = count(number, "annotation") + " of key points"
        has, its, it = ("has", "its", "it is") if number == 1 else ("have", "their", "they are")
        yield (
            f"changed: {some} without a box {has} {its} extent as box in {title}: {it} compared "
            "with other boxes, and as key points with --similarity keypoints"
        )
    given = (each.get(ATTRIBUTES) for each in (*content.annotations, *content.apart))
    pairs = (pair for each in given if isinstance(each, dict) for pair in each.items())
    if names := sorted({key for key, each in pairs if to_format.becomes_text(key, each)}):
        yield f"changed: attributes that are numbers or true are texts in {title}: {_quoted(names)}"


def _is_boxed(annotation: Record) -> bool:
    """Return whether an annotation of key points has no box of its own, but an extent."""
    _, _, width, height = annotation["bbox"]
    return annotation.get("shape") not in (None, KEY_POINT) and width * height > 0


def _descriptions(content: Content, title: str) -> Iterator[str]:
    """Yield notes on keys of the file, and of images, that describe their origin."""
    said = [key for key, each in content.top.items() if each not in _EMPTY]
    if keys := sorted({*said, *content.differing}):
        yield f"left out: {_quoted(keys)} of the file: {title} has no place for such keys"
    images = content.images
    origins = (key for key in _IMAGE_ORIGINS if any(each.get(key) not in _EMPTY for each in images))
    if keys := [*origins]:
        yield f"left out: {_quoted(keys)} of images: {title} has no place for such keys"


def _lost_ids(content: Content, holds: Collection[str]) -> Iterator[str]:
    """Yield the numbers of records whose ids are lost, with their nouns."""
    lists = (
        ("images", "image", content.images),
        ("annotations", "annotation", content.annotations),
        ("categories", "category", content.categories),
    )
    for plural, noun, records in lists:
        # Only COCO and annotations have a place for ids that are texts.
        is_text = noun == "image" and any("own_id" in each for each in records)
        is_held = f"{'category' if is_text else noun} ids" in holds
        ids = [each["id"] for each in records]
        # As readers number records without ids.
        count_up = any(ids == [*range(first, first + len(ids))] for first in (0, 1))
        if not is_held and not (count_up and not any("own_id" in each for each in records)):
            yield count(len(records), noun, plural)


def _quoted(names: Sequence[str]) -> str:
    """Return the first names in quotes, and the number of others."""
    return first_few(names, _LISTED, lambda each: repr(one_line(each)))
