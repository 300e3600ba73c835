"""The content of Label Studio's tasks: images, regions and brush masks; and writing tasks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.document import Record
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED
from bboxqa.formats.translation.masks import Masks, RowMask, Size, checked_size, picture_mask
from bboxqa.formats.translation.shapes import MaskProblemError, ValueProblemError, items, plain_text
from bboxqa.formats.writing.content import (
    Content,
    Loss,
    Writer,
    Written,
    image_name,
    is_point,
    shown_id,
)
from bboxqa.formats.writing.losses import losses_of, name_losses
from bboxqa.formats.writing.outlines import rings_of
from bboxqa.model.masks import joined
from bboxqa.model.rotated_boxes import corners

_ENDING = r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)"
_PICTURE = re.compile(rf"{_ENDING}(?:[?#&]\S*)?\Z", re.IGNORECASE)
_WHOLE = re.compile(rf".*{_ENDING}", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"im(?:a?ge?|g)|pic|photo|ocr|frame|url|scan", re.IGNORECASE)
# Uploaded files have a prefix before their own name.
_UPLOAD = re.compile(r"(?:.*/)?data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?(?=.)", re.DOTALL)

Images = dict[str, list[str]]
"""The addresses of the images of a task by data key; several of a key are pages."""
_BOX = ("x", "y", "width", "height")
GROUND_TRUTH = "ground truth"
"""The name of the annotator of annotations that are marked as ground truth."""
REVIEW = {"bboxqa": "review"}
"""In the data of tasks whose predictions are annotations of people, to be reviewed."""
SHAPES = ("rectangle", "ellipse", "polygon", "keypoint", "vector", "brush", "bitmask")
"""The types of results that are shapes which can be read."""
_PIXELS = 200
"""Coordinates above it are pixels, not percentages."""
_LENGTH_WIDTHS = (3, 4, 8, 16)


def person(value: object) -> str:
    """Return who completed an annotation; "" if nobody is named."""
    given = shapes.mapping(value)
    both = f"{plain_text(given.get('first_name'))} {plain_text(given.get('last_name'))}".strip()
    named = plain_text(given.get("email")) or plain_text(given.get("username")) or both
    return named or plain_text(given.get("id")) or plain_text(value)


def images_of(data: dict[str, Any], said: str = "") -> Images:
    """Return the addresses of the images of a task by data key; several of a key are pages.

    In a task without addresses, words under keys such as "image" are names of images.
    """
    listed = {key: each if isinstance(each, list) else [each] for key, each in data.items()}
    # The pages of a Repeater are objects, such as {"url": "1.png"}.
    listed = {key: [_page(key, each) for each in values] for key, values in listed.items()}
    if listed.get(said):
        return {said: [str(each) for each in listed[said]]}
    ranks = {key: min((_rank(key, v) for v in values), default=0) for key, values in listed.items()}
    best = max(ranks.values(), default=0)
    return {key: listed[key] for key, rank in ranks.items() if rank == best > 0}


def _page(key: str, value: object) -> object:
    """Return the address in an object; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return max(value.values(), key=lambda each: _rank(key, each), default=None)


def _rank(key: str, value: object) -> int:
    """Return 2 for the address of an image, 1 for a word that may name one, else 0."""
    if not isinstance(value, str) or not value:
        return 0
    first = value.partition(" ")[0]
    is_place = first.startswith(("/", "data:")) or "://" in first or "?d=" in first
    is_named = _KEY.search(key) is not None
    if _PICTURE.search(value) or (is_named and is_place):
        return 2
    return int(is_named and " " not in value)


def image_names(addresses: Iterable[str]) -> dict[str, str]:
    """Return the name of each image by its address: the short name where it is unique.

    Queries of URLs belong to names where the path names no picture, or is that of several URLs.
    """
    names = {address: short_path(address) for address in dict.fromkeys(addresses)}
    known = Counter(names.values())
    return {
        address: _path(address, query=True) if known[name] > 1 else name
        for address, name in names.items()
    }


def short_path(address: str) -> str:
    """Return the short name of an image, which other images may have as well."""
    return _UPLOAD.sub("", _path(address), 1)


def _path(address: str, *, query: bool = False) -> str:
    """Return the path of a URL, decoded and without host; with its query if it is no picture's."""
    if address.startswith("data:"):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    is_key = "://" in address and parts.scheme not in ("http", "https")
    if is_key or not (parts.scheme or parts.query):
        # Names of files and keys of stores may contain a number sign.
        name = address.partition("://")[2].partition("/")[2] if is_key else address
        return unquote(name).lstrip("/")
    # Files that Label Studio serves from a folder are in the query.
    if of_folder := parse_qs(parts.query).get("d"):
        return of_folder[0].lstrip("/")
    path = unquote(parts.path).lstrip("/")
    is_whole = not parts.query or (not query and _WHOLE.fullmatch(path))
    return path if is_whole else f"{path}?{unquote(parts.query)}"


class Region(msgspec.Struct):
    """A shape, or another statement of an annotator about an image."""

    pointer: str
    result: Record
    kind: str
    """The type of the result, such as "rectangle"."""
    id: str
    value: Record
    """Its geometry, or what else it says, without labels."""
    labels: list[str]
    attributes: Record = msgspec.field(default_factory=dict)
    points: "list[Region]" = msgspec.field(default_factory=list)


def regions_of(results: Iterable[tuple[str, Record]], *, joined: bool = False) -> list[Region]:
    """Return the regions of an annotation, each with all of its labels.

    The results of a region share its id: the shape, often once per labelling control, and its
    attributes. If `joined`, key points inside of another shape belong to it.
    """
    whole: dict[str, Region] = {}
    rest: list[tuple[Region, str]] = []
    for pointer, result in results:
        kind, own = plain_text(result.get("type")), plain_text(result.get("id"))
        value = shapes.mapping(result.get("value"))
        given = items(value.get(kind)) if kind.endswith("labels") else []
        labels = [*dict.fromkeys(filter(None, map(plain_text, given)))]
        geometry = {key: each for key, each in value.items() if not key.endswith("labels")}
        region = Region(pointer, result, kind.removesuffix("labels"), own, geometry, labels)
        if region.kind not in SHAPES:
            rest.append((region, kind))
        elif own not in whole:
            whole[own or pointer] = region
        elif whole[own].value == region.value:
            whole[own].labels += [each for each in labels if each not in whole[own].labels]
        else:
            whole[pointer] = region
    for region, kind in rest:
        of_shape = whole.get(region.id)
        if of_shape is None:
            region.kind = kind
            whole[region.pointer] = region
        elif kind.endswith("labels"):
            of_shape.labels += [each for each in region.labels if each not in of_shape.labels]
        else:
            name = plain_text(region.result.get("from_name")) or kind
            of_shape.attributes[name] = region.value.get(kind)
    for key, region in [*whole.items()] if joined else ():
        parent = whole.get(plain_text(region.result.get("parentID")))
        is_point = region.kind == "keypoint"
        if is_point and parent and parent.kind in SHAPES and parent.kind != "keypoint":
            parent.points.append(whole.pop(key))
    return [*whole.values()]


def shape_of(region: Region, size: Size, masks: Masks) -> Record:  # noqa: PLR0911
    """Return the COCO geometry keys of a region."""
    kind, value = region.kind, region.value
    degrees = shapes.degrees_of(value.get("rotation"), "rotation")
    if kind == "rectangle":
        box = _pixels(value, _BOX, size)
        if not degrees % 360:
            return {"bbox": box}
        corners = shapes.rotated(shapes.corners(*box), (box[0], box[1]), degrees)
        return shapes.outlined(corners, degrees)
    if kind == "ellipse":
        x, y, *radii = _pixels(value, ("x", "y", "radiusX", "radiusY"), size)
        return shapes.outlined(shapes.ellipse((x, y), (radii[0], radii[1]), degrees), degrees)
    if kind == "polygon":
        return shapes.outlined(_points(value.get("points"), size))
    if kind == "vector":
        vertices = map(shapes.mapping, items(value.get("vertices")))
        points = _points([[each.get("x"), each.get("y")] for each in vertices], size)
        if value.get("closed") is True and len(points) >= 3:
            return shapes.outlined(points)
        return {"shape": "polyline", "points": points.ravel().tolist()}
    if kind == "keypoint":
        x, y = _pixels(value, ("x", "y"), size)
        return {"shape": "key point", "keypoints": [x, y, 2], "num_keypoints": 1}
    if kind == "brush":
        if "rle" not in value:
            raise MaskProblemError("has no rle")
        if value["rle"] == []:
            raise shapes.EmptyMaskProblemError("has no pixels")
        return masks.record(brush_mask(value["rle"], *checked_size(size)), size)
    # A bitmask is a picture that is transparent elsewhere.
    _, _, picture = plain_text(value.get("imageDataURL")).partition(";base64,")
    mask = picture_mask(picture, masks, within=size)
    if (mask.width, mask.height) != size:
        found = f"{mask.width} × {mask.height} pixels"
        raise MaskProblemError(f"has {found}; its image has {size[0]} × {size[1]}")
    return masks.record(mask, size)


def _percent(given: object, name: str) -> float:
    number = shapes.number_of(given, name)
    if abs(number) > _PIXELS:
        problem = f"{name} is {number:g}, which is in pixels"
        raise ValueProblemError(f"{problem}; expected 0 to 100, in percent of the image")
    return number


def _pixels(value: Record, names: Sequence[str], size: Size) -> list[float]:
    """Convert values that are alternately percentages of width and of height to pixels."""
    pairs = enumerate(names)
    return [_percent(value.get(name), name) * size[place % 2] / 100 for place, name in pairs]


def joints_of(points: Sequence[Region], size: Size) -> Record:
    """Return the key points of a region with their names; empty without points."""
    joints = [each.labels[0] if each.labels else UNLABELLED for each in points]
    flat = [e for each in points for e in (*_pixels(each.value, ("x", "y"), size), 2)]
    return {"keypoints": flat, "joints": joints} if joints else {}


def _points(given: object, size: Size) -> FloatArray:
    points = shapes.points_of(given)
    _percent(float(points.flat[abs(points).argmax()]), "a coordinate")
    found: FloatArray = points * size / 100
    return found


def brush_mask(numbers: object, width: int, height: int) -> RowMask:
    """Decode the numbers under `rle` to a mask of the pixels that are not transparent.

    The bits are: 32 for the number of bytes of the image, 4 per pixel; 5 for the bit width of a
    value minus 1; 4 times 4 for the bit widths of run lengths minus 1; then the runs. A run
    consists of 1 bit that is set if one value is repeated, 2 bits that select the width of its
    length, the length minus 1, and the value or values. Pixels go row by row. Memory is taken for
    the bits only, as a run of one value may be long.
    """
    try:
        data = bytes(numbers)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise MaskProblemError("is not a list of bytes") from None
    bit = 0

    def read(n: int) -> int:
        """Return the number in the next bits, the highest bit first."""
        nonlocal bit
        first, bit = bit, bit + n
        if bit > 8 * len(data):
            raise MaskProblemError("is cut off")
        number = int.from_bytes(data[first >> 3 : (bit + 7) >> 3], "big")
        return (number >> (-bit % 8)) & ((1 << n) - 1)

    n_bytes, value_width = read(32), read(5) + 1
    if n_bytes != 4 * width * height:
        raise MaskProblemError(f"has {n_bytes // 4:,} pixels; expected {width} × {height}")
    if value_width != 8:
        raise MaskProblemError(f"has values of {value_width} bits; expected 8")
    length_widths = [read(4) + 1 for _ in range(4)]
    opaque: list[tuple[int, int]] = []
    place = 0
    while place < n_bytes:
        repeats = read(1)
        n = read(length_widths[read(2)]) + 1
        if place + n > n_bytes:
            raise MaskProblemError("has more pixels than it says")
        # The last of the four bytes of a pixel is its opacity.
        if not repeats:
            opacity = read(8 * n).to_bytes(n, "big")[(3 - place) % 4 :: 4]
            first = place // 4
            opaque += ((first + k, first + k + 1) for k, value in enumerate(opacity) if value)
        elif read(8) > 0 and place // 4 < (place + n) // 4:
            opaque.append((place // 4, (place + n) // 4))
        place += n
    spans = joined(np.array(opaque, np.int64).reshape(-1, 2))
    # A byte takes two characters or more, with its comma.
    return RowMask(spans, width, height, n_characters=2 * len(data))


def brush_numbers(runs: IndexArray) -> list[int]:
    """Encode (R,) run lengths of all pixels, row by row, as the numbers under `rle`."""
    bits = [f"{4 * runs.sum():032b}{7:05b}", *(f"{width - 1:04b}" for width in _LENGTH_WIDTHS)]
    longest = 1 << _LENGTH_WIDTHS[-1]
    for number, length in enumerate(runs.tolist()):
        value = 255 * (number % 2)
        # A run has four equal bytes for each pixel.
        n_longest, rest = divmod(4 * length, longest)
        bits.append(_run_bits(longest, value) * n_longest)
        if rest:
            bits.append(_run_bits(rest, value))
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


@lru_cache(1 << 12)
def _run_bits(n: int, value: int) -> str:
    place = next(i for i, width in enumerate(_LENGTH_WIDTHS) if n <= 1 << width)
    return f"1{place:02b}{n - 1:0{_LENGTH_WIDTHS[place]}b}{value:08b}"


_TITLE = "Label Studio"
TIMES = ("created_at", "updated_at", "lead_time")
"""Keys of the work of an annotator on a task."""
_BEGUN = "prediction"
_LINES = ("polyline", "line")
# Characters of a URL that need an escape.
_ESCAPED = re.compile(r"[^\w/.~+,@()-]")
# The displayed size of a point, in percent.
_DOT = 0.5


def _files(content: Content) -> Iterator[Written]:
    tasks = []
    for place, image in enumerate(content.images):
        data: Record = {"image": _address(image_name(image))}
        data |= {key: image[key] for key in ("width", "height") if key in image}
        if isinstance(image.get("gain"), int | float):
            # The gain in agreement by reviewing the image, from review.json.
            data["gain"] = image["gain"]
        if content.as_predictions and "gain" in data:
            data |= REVIEW
        task: Record = {"id": image["id"], "data": data, "annotations": []}
        listed = task.setdefault("predictions" if content.as_predictions else "annotations", [])
        for name, drawn in content.works(place):
            work: Record = {"was_cancelled": False, "ground_truth": name == GROUND_TRUTH}
            if content.as_predictions:
                scores = [e["score"] for e in drawn if isinstance(e.get("score"), int | float)]
                scores = scores or [data[key] for key in ("gain",) if key in data]
                work = {"model_version": name or "predictions"}
                work |= {"score": sum(scores) / len(scores)} if scores else {}
            else:
                if name and name != GROUND_TRUTH:
                    work["completed_by"] = _written_person(name)
                work |= {key: drawn[0][key] for key in TIMES if drawn and key in drawn[0]}
            lines = [_vector(image, line) for line in content.lines(place, name, _LINES)]
            regions = (region for each in drawn for region in _regions(content, image, each))
            listed.append(work | {"result": [*lines, *regions]})
        tasks.append(msgspec.json.encode(task))
    yield Written((), b"[" + b",\n".join(tasks) + b"]\n")


def _vector(image: Record, line: Record) -> Record:
    own, sides = shown_id(line), (image["width"], image["height"])
    points = np.reshape(line["points"], (-1, 2)) * (100 / np.array(sides))
    vertices = [
        {"id": f"{own}-{n}", "x": x, "y": y, "prevPointId": f"{own}-{n - 1}" if n > 1 else None}
        for n, (x, y) in enumerate(points.tolist(), start=1)
    ]
    value = {"vertices": [{**each, "isBezier": False} for each in vertices], "closed": False}
    return {"id": own, **_labelled(image, "vector", value, line["label"])}


def _regions(content: Content, image: Record, annotation: Record) -> Iterator[Record]:
    joints = content.joints_of(annotation)
    width, height = image["width"], image["height"]
    dots = [{"x": e.x * 100 / width, "y": e.y * 100 / height, "width": _DOT} for e in joints]
    is_alone, own = is_point(annotation), shown_id(annotation)
    kind, value = ("keypoint", dots[0]) if is_alone else _shape(content, image, annotation)
    label = content.category_names[annotation["category_id"]]
    region = {"id": own, **_labelled(image, kind, value, label)}
    if isinstance(annotation.get("score"), int | float):
        region["score"] = annotation["score"]
    if annotation.get("source") == _BEGUN:
        region["origin"] = _BEGUN
    if "reason" in annotation:
        region["meta"] = {"text": [str(annotation["reason"])]}
    yield region
    for number, (joint, dot) in enumerate(zip(joints, dots, strict=True), start=1):
        if not is_alone and joint.visibility:
            inside = {"id": f"{own}-{number}", "parentID": own}
            yield inside | _labelled(image, "keypoint", dot, joint.name)


def _labelled(image: Record, kind: str, value: Record, name: str) -> Record:
    return {
        "type": f"{kind}labels",
        "from_name": "label" if kind == "rectangle" else kind,
        "to_name": "image",
        "original_width": int(image["width"]),
        "original_height": int(image["height"]),
        "image_rotation": 0,
        "value": {**value, f"{kind}labels": [name]},
    }


def _shape(content: Content, image: Record, annotation: Record) -> tuple[str, Record]:
    outline = content.outlines[annotation["id"]]
    across, down = 100 / image["width"], 100 / image["height"]
    if outline.kind == "polygon":
        points = rings_of(annotation)[0] * [across, down]
        return "polygon", {"points": points.tolist(), "closed": True}
    if outline.kind == "mask":
        runs = content.masks.runs_in_image(annotation)
        return "brush", {"format": "rle", "rle": brush_numbers(runs)}
    x, y, wide, high = annotation["bbox"]
    degrees: float = 0
    if outline.box is not None:
        # Label Studio rotates a box about its first corner.
        x, y = corners(outline.box[None])[0, 0].tolist()
        wide, high, degrees = outline.box[2:].tolist()
    box = {"x": x * across, "y": y * down, "width": wide * across, "height": high * down}
    return "rectangle", {**box, "rotation": degrees}


def _losses(content: Content) -> Iterator[Loss]:
    lost = []
    for drawn in (drawn for of in content.by_image.values() for drawn in of.values()):
        kept = {} if content.as_predictions else drawn[0]
        lost += [e for e in drawn if any(e.get(key) != kept.get(key) for key in TIMES)]
    why = f"{_TITLE} holds one time for all annotations of an annotator in an image"
    why = f"{_TITLE} has no times of predictions" if content.as_predictions else why
    yield from losses_of(lost, "differing time", why)
    names = [image_name(each) for each in content.images]
    read = image_names(map(_address, names))
    yield from name_losses("image", names, lambda name: read[_address(name)])
    ids = [str(each["id"]) for each in content.images if not 0 < each["id"] < 1 << 53]
    if ids:
        why = f"{_TITLE} numbers tasks from 1"
        yield Loss(len(ids), "id of an image", why, ids[0], "changed")

    def read_person(name: str) -> str:
        if content.as_predictions:
            return f"model {name}" if name.isdecimal() else name.strip()
        return name if name == GROUND_TRUTH else person(_written_person(name))

    yield from name_losses("annotator", content.annotators, read_person)


def _written_person(name: str) -> object:
    return int(name) if name.isdecimal() and str(int(name)) == name else {"email": name}


def _address(name: str) -> str:
    """Return the name of an image as a part of a URL."""
    plain = _ESCAPED.sub(lambda found: quote(found[0]), name)
    return plain if images_of({"image": plain}) else quote(name)


STUDIO_JSON = Writer(
    _TITLE,
    "file",
    (".json",),
    _files,
    frozenset({
        "polygon", "mask", "rotation", "keypoints", "keypoint box", "score", "source", "reason",
        "gain", "unasked images", "image ids", "annotation ids", "image sizes", *_LINES, *TIMES,
    }),
    keeps=lambda key, value: key != "source" or value == _BEGUN,
    reads={"category": str.strip},
    losses=_losses,
    needs_sizes="drawn images",
)  # fmt: skip
