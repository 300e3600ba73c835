"""What a format cannot hold of a content, computed from what it holds."""

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.label_folders import place_of
from bboxqa.formats.records import extent_of
from bboxqa.formats.writing.content import (
    KEY_POINT,
    Content,
    Loss,
    NameKind,
    Writer,
    has_joints,
    image_name,
    shown_id,
)
from bboxqa.formats.writing.outlines import ROUNDED, Record, corners_of, has_other_bounds

ATTRIBUTES = "attributes"
_OUTLINES = {
    "rotation": "rotated box",
    "polygon": "polygon",
    "holes": "polygon of several rings",
    "mask": "mask",
}

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
_ROUNDED_AREA = 1e-3
_LISTED = 5
_EMPTY: tuple[object, ...] = (None, "", [], {}, 0)
_How = Literal["left out", "changed", "ambiguous"]


def losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    """Yield the data of annotators that a format cannot hold."""
    if content.repeats:
        noun = "annotation of an image that a person repeated"
        why = "only the first by each person is written"
        yield Loss(len(content.repeats), noun, why, one_line(content.repeats[0]))
    yield from _outline_losses(content, to_format)
    if "keypoints" in to_format.holds:
        yield from _key_point_losses(content, to_format)
    yield from _record_losses(content, to_format)
    if "keys" not in to_format.holds:
        yield from _keys_lost(content, to_format)
    names = {
        "category": _names_written(content, to_format),
        "image": [image_name(each) for each in content.images],
        "annotator": content.annotators,
    }
    if to_format.folder:
        yield from name_losses(
            "annotator", content.annotators, lambda name: content.people[name][0]
        )
        files = content.paths.items()
        paths = {name: "/".join((to_format.folder, *parts)) for name, parts in files}
        places = {name: place_of(f"{path}.txt") for name, path in paths.items()}
        n_at = Counter(places.values())
        # The whole path tells apart files of one place.
        read_from = {
            name: place if n_at[place] == 1 else paths[name] for name, place in places.items()
        }
        read_name = to_format.read_name
        yield from name_losses("image", places, lambda name: read_name(name, read_from[name]))
    for kind, read in to_format.reads.items():
        yield from name_losses(kind, names[kind], read)
    yield from to_format.losses(content)


def losses_of(
    lost: Sequence[Record], noun: str, why: str, how: _How = "left out"
) -> Iterator[Loss]:
    """Yield the loss of annotations, if there are any."""
    if lost:
        yield Loss(len(lost), noun, why, f"annotation {one_line(shown_id(lost[0]))}", how)


def name_losses(kind: NameKind, names: Iterable[str], read: Callable[[str], str]) -> Iterator[Loss]:
    """Yield the loss of names that are read back differently, as `read` returns them."""
    if lost := [name for name in names if not name or read(name) != name]:
        first, other = (repr(one_line(each)) for each in (lost[0], read(lost[0])))
        noun = f"name of {'a' if kind == 'category' else 'an'} {kind}"
        yield Loss(len(lost), noun, f"read as {other}", first, "changed")


def said(record: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
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
        elif key != "keypoints" or not isinstance(value, list) or any(value[2::3] or [1]):
            yield key, value


def _outline_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    holds, title = to_format.holds, to_format.title
    lost, held, moved = defaultdict[str, list[Record]](list), list[Record](), list[Record]()
    for each in content.annotations:
        outline = content.outlines[each["id"]]
        kind = outline.kind
        is_cornered = "corners" in holds and corners_of(each) is not None
        if kind != "box" and kind not in holds and not is_cornered:
            lost[kind].append(each)
            continue
        held.append(each)
        if kind == "rotation" and "corners" not in holds:
            moved += [each] * (outline.moved > ROUNDED)
    for name, noun in _OUTLINES.items():
        has = "four corners" if "corners" in holds else f"no {noun}"
        yield from losses_of(lost[name], noun, f"{title} holds {has}: the box is written")
    if not holds.isdisjoint({*_OUTLINES, "corners"}) and "box and outline" not in holds:
        why = f"{title} holds the outline, whose bounds are the box"
        other = [each for each in held if has_other_bounds(each)]
        yield from losses_of(other, "box beside an outline of other bounds", why)
    farthest = max((content.outlines[each["id"]].moved for each in moved), default=0)
    exact = "sides and angle, and their corners are not exact rectangles"
    why = f"{title} holds {exact}: corners move by up to {farthest:.2g} px"
    yield from losses_of(moved, _OUTLINES["rotation"], why, "changed")


def _key_point_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    holds, title = to_format.holds, to_format.title
    no_place = f"key points of {title} have no place for it"

    def has_box(each: Record) -> bool:
        extent = extent_of(each["keypoints"]) or np.nan
        return "shape" not in each and not np.allclose(extent, each["bbox"], rtol=0, atol=1e-3)

    def has_area(each: Record) -> bool:
        area, (_, _, width, height) = each.get("area"), each["bbox"]
        if not isinstance(area, int | float) or area <= 0:
            return False
        return not math.isclose(area, width * height, rel_tol=_ROUNDED_AREA, abs_tol=1)

    pointed = [*filter(has_joints, content.annotations)]
    if "keypoint box" not in holds:
        outlined = [each for each in pointed if each.get("segmentation")]
        yield from losses_of(outlined, "outline around key points", no_place)
        yield from losses_of([*filter(has_box, pointed)], "box around key points", no_place)
    if "visibility" not in holds:
        # As in `joints_of`, hidden joints are written as visible.
        hidden = [e for e in pointed if any(0 < seen <= 1 for seen in e["keypoints"][2::3])]
        why = f"{title} has no visibility: written as visible"
        yield from losses_of(hidden, "annotation with hidden joints", why, "changed")
    if "area" not in holds:
        instead = "OKS takes the area of the box, or of the points, instead"
        why = f"{title} has no place for it: {instead}"
        yield from losses_of([*filter(has_area, pointed)], "area of an object with key points", why)


def _record_losses(content: Content, to_format: Writer) -> Iterator[Loss]:
    holds, title = to_format.holds, to_format.title
    apart = Counter(each["shape"] for each in content.apart)
    apart.subtract(each["shape"] for each in content.held(holds))
    for shape, n in apart.most_common():
        if n:
            yield Loss(n, shape, f"{title} is written without them")
    if "crowd" not in holds:
        crowds = [each for each in content.annotations if "iscrowd" in each]
        yield from losses_of(crowds, "crowd", f"{title} has no mark of a group")
    if "unasked images" not in holds and content.annotators:
        pairs = zip(content.images, content.asked, strict=True)
        if lost := [image_name(image) for image, asked in pairs if not asked]:
            why = f"{title} only holds images of annotators"
            yield Loss(len(lost), "image of no annotator", why, one_line(lost[0]))
    unnamed = [image_name(each) for each in content.images if not each.get("file_name")]
    if unnamed and "unnamed images" not in holds:
        example = f"image {one_line(unnamed[0])}"
        why = f"{title} has their id as name"
        yield Loss(len(unnamed), "image without a name", why, example, "changed")


def _keys_lost(content: Content, to_format: Writer) -> Iterator[Loss]:
    holds, why = to_format.holds, f"{to_format.title} has no place for it"
    known = {*_OF_ANNOTATIONS, *(holds - _NO_KEYS), *to_format.keys(content)}
    lists: tuple[tuple[Iterable[Record], str, set[str], Callable[[Record], str]], ...] = (
        (content.annotations, "annotation", known, shown_id),
        (content.held(holds), "line", known | {"points", "label"}, shown_id),
        (content.images, "image", {*_OF_IMAGES, *_IMAGE_ORIGINS, *(holds & {"gain"})}, image_name),
        (content.categories, "category",
         {*_OF_CATEGORIES, *(holds & {"keypoints", "skeleton"})}, lambda each: str(each["name"])),
    )  # fmt: skip
    for records, one, keys, name in lists:
        # Attributes that are no object have no place beside those that are.
        plain, prefix = keys - {ATTRIBUTES}, f"{ATTRIBUTES}." if ATTRIBUTES in keys else "\0"
        lost: dict[str, list[Record]] = {}
        for record in records:
            for key, value in said(record):
                is_known = key in plain or key.startswith(prefix)
                if not (is_known and to_format.keeps(key, value)):
                    lost.setdefault(key, []).append(record)
        for key, having in sorted(lost.items()):
            example = f"{one} {one_line(name(having[0]))}"
            yield Loss(len(having), f"{one} with {one_line(key)!r}", why, example)


def _names_written(content: Content, to_format: Writer) -> list[str]:
    """Return the names of categories, without those of no annotation if these are not written."""
    if "unused categories" in to_format.holds:
        return [*content.category_names.values()]
    used = {content.category_names[each["category_id"]] for each in content.annotations}
    used |= {each["label"] for each in content.held(to_format.holds)}
    return [name for name in content.category_names.values() if name in used]


def notes_on(content: Content, to_format: Writer) -> Iterator[str]:
    """Yield notes on what a format has no place for, but what no annotator said, and on changes."""
    title, holds = to_format.title, to_format.holds
    lost = []
    if "descriptions" not in holds:
        said = (key for key, each in content.top.items() if each not in _EMPTY)
        if keys := sorted({*said, *content.differing}):
            lost.append(f"{_quoted(keys)} of the file")
        images = content.images
        if keys := [k for k in _IMAGE_ORIGINS if any(each.get(k) not in _EMPTY for each in images)]:
            lost.append(f"{_quoted(keys)} of images")
    elif content.differing:
        yield f"left out: {_quoted(content.differing)}, in which the files differ"
    if "unused categories" not in holds:
        used = {*_names_written(content, to_format)}
        if unused := [name for name in content.category_names.values() if name not in used]:
            some = count(len(unused), "category", "categories")
            lost.append(f"{some} that no annotation has ({_quoted(unused)})")
    elif (root := next((e for e in content.categories if e["id"] == 0), None)) is not None:
        above = {e.get("supercategory") for e in content.categories if e is not root}
        if above == {root["name"]} and all(e["category_id"] for e in content.annotations):
            option = f"--map {shlex.quote(root['name'] + '=')}"
            yield f"kept: the root category {root['name']!r}; to leave it out: {option}"
    lost += _lost_ids(content, holds)
    if lost:
        yield f"left out, as {title} cannot hold it: {', '.join(lost)}"
    if "image sizes" not in holds and any(each.get("width") for each in content.images):
        by_file = "read it with --image-size FILE, such as the input"
        todo = f"put the pictures into images beside it, or {by_file}"
        yield f"{title} holds no sizes of images: {todo}"
    boxed = [each for each in content.annotations if each.get("shape") not in (None, KEY_POINT)]
    number = sum(each["bbox"][2] * each["bbox"][3] > 0 for each in boxed)
    if number and "keypoint box" in holds:
        some = count(number, "annotation")
        yield f"changed: {some} of key points without a box got one around their points in {title}"
    given = (each.get(ATTRIBUTES) for each in (*content.annotations, *content.apart))
    pairs = (pair for each in given if isinstance(each, dict) for pair in each.items())
    numbers = (e for e in pairs if e[0] != "rotation" and isinstance(e[1], int | float))
    kept = {key for key, e in numbers if to_format.keeps(f"{ATTRIBUTES}.{key}", e)}
    if (names := sorted(kept)) and to_format.makes_texts:
        yield f"changed: numbers and true become text in attributes of {title}: {_quoted(names)}"


def _lost_ids(content: Content, holds: Collection[str]) -> Iterator[str]:
    """Yield the numbers of records whose ids are lost, with their nouns."""
    for plural, noun, records in (
        ("images", "image", content.images),
        ("annotations", "annotation", content.annotations),
        ("categories", "category", content.categories),
    ):
        has_texts = any("own_id" in each for each in records)
        # Only COCO and annotations have a place for ids that are texts.
        is_held = f"{'category' if noun == 'image' and has_texts else noun} ids" in holds
        ids = [each["id"] for each in records]
        # As readers number records without ids.
        count_up = any(ids == [*range(first, first + len(ids))] for first in (0, 1))
        if not is_held and (has_texts or not count_up):
            yield f"the ids of {count(len(records), noun, plural)}"


def _quoted(names: Sequence[str]) -> str:
    return first_few(names, _LISTED, lambda each: repr(one_line(each)))
