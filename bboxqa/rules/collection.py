"""D, Q and C010: annotations that are in the file twice, unusual sizes and numbers, and tracks."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray, deviations, run_starts
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count, first_few
from bboxqa.geometry.boxes import bbox_iou, corners, from_corners
from bboxqa.model import rotated_boxes
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout, shapes
from bboxqa.rules.base import Checked, Defect, Rows, ids_of, record_edit, rule, summary
from bboxqa.rules.document import Document
from bboxqa.rules.people import authorship

# Most boxes that a box is compared with; only hundreds of boxes in one place need more.
_MOST_STEPS = 500
# Rounding must not lose pairs exactly at the bound, nor boxes that are equal but for it.
_SLACK = 1e-9
# The least IoU of the bounds of rotated boxes, as a share of that of the boxes.
_OF_BOUNDS = 0.75


def overlapping(
    bbox: FloatArray, group: IndexArray, kind: NDArray[Any], threshold: float
) -> Iterator[IndexArray]:
    """Yield the pairs of boxes in one group whose IoU reaches a threshold, (2, P) int64 at a time.

    Equal boxes of one kind are paired with the first of them; each is compared with at most 500.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sound = np.isfinite(bbox).all(axis=1) & (bbox[:, 2:] > 0).all(axis=1) & (group >= 0)
        of = np.flatnonzero(sound)
        first = layout.first_equal([column[of] for column in (group, *bbox.T, kind)])
        alone = first == np.arange(len(of))
        yield np.stack([of[first[~alone]], of[~alone]])
        of = of[alone]
        # The IoU along each side is at least t, so that the distance of the two centres is at most
        # (1 - t) / (2 (1 + t)) of the sum of the sides: boxes that much smaller overlap.
        centre = bbox[of, :2] + bbox[of, 2:] / 2
        half = ((1 - threshold) / (1 + threshold) + _SLACK) * bbox[of, 2:] / 2
        half += _SLACK * np.abs(centre)
        order = np.lexsort((centre[:, 0] - half[:, 0], group[of]))
        of, (x, y), (half_x, half_y) = of[order], centre[order].T, half[order].T
        group, box, here = group[of], corners(bbox[of]), np.arange(len(of))
        for step in range(1, min(len(of), _MOST_STEPS + 1)):
            here = here[here + step < len(of)]
            other = here + step
            # If a box is out of reach, so are all later boxes.
            reach = x[other] - half_x[other] <= x[here] + half_x[here]
            here = here[(group[other] == group[here]) & reach]
            if not len(here):
                return
            near = here[np.abs(y[here + step] - y[here]) <= half_y[here + step] + half_y[here]]
            found = near[bbox_iou(box[near], box[near + step]) >= threshold]
            yield np.sort(of[np.stack([found, found + step])], axis=0)


# Categories with fewer annotations are rare, with a larger share dominant.
_FEW, _MOST = 10, 0.9
# Boxes of a category, and images, whose median is known.
_ENOUGH, _ENOUGH_IMAGES = 20, 8
_FAR = 6.0
# A number that a larger share of images has is not unusual.
_RARE = 0.1
# Minimum spreads of logarithms, so that small deviations from nearly equal values do not count.
_MIN_SIZE_SPREAD, _MIN_NUMBER_SPREAD = 0.25, 0.2


def _repeats(document: Document) -> IndexArray:
    """Return the first annotation with an equal record except for the id, (N,); -1 for none."""
    columns = document.annotations
    result, rows = np.full(len(columns), -1), document.once(shapes.equal_boxes)[0]
    # These columns distinguish many records without decoding them.
    codes = (columns.image_id, columns.category_id, document.annotator, columns.iscrowd)
    numbers = (*document.once(shapes.rotations).written.T, columns.area, *document.outline_bounds.T)
    rows = shapes.with_equals(rows, [*codes, columns.form, *map(np.nan_to_num, numbers)])
    first: dict[str, int] = {}
    # Annotation tools have ids of their own.
    ids = {"id"} if document.reading.origin is None else {"id", "own_id"}
    for row in rows.tolist():
        record = {key: value for key, value in document.record(row).items() if key not in ids}
        earlier = first.setdefault(json.dumps(record, sort_keys=True), row)
        result[row] = -1 if earlier == row else earlier
    return result


def _earlier(document: Document, threshold: float) -> dict[bool, IndexArray]:
    """Return the earlier box, (N,), that each repeats, of the same (True) or another category."""
    kind, none = document.annotations.category_id, len(document.annotations)
    found = {True: np.full(none, none), False: np.full(none, none)}
    # Rotated boxes that cross may have equal bounds, and the bounds of thin ones overlap less.
    turned, numbers = document.once(shapes.rotations).turned
    bbox, lowest = document.annotations.bbox, threshold
    if len(turned):
        bbox, lowest = bbox.copy(), _OF_BOUNDS * threshold
        bbox[turned] = from_corners(rotated_boxes.bounds(numbers))
    distinct = layout.first_equal([kind, document.once(shapes.equal_boxes)[1]])
    columns, authors = document.annotations, document.once(authorship)
    # The group of each annotation is its image and annotator.
    group = document.image * (len(authors.names) + 1) + 1 + authors.author
    shared = np.bincount(authors.asked[:, 0], minlength=len(document.images) + 1) > 1
    # Boxes without a name may be by two annotators, and those in another layout overlap by chance.
    left_out = (authors.author < 0) & shared[document.image]
    left_out |= (columns.iscrowd == 1) | (document.once(_repeats) >= 0)
    left_out |= ~columns.named("category_id") | document.once(shapes.box_facts).in_other
    group = np.where(left_out | (document.image < 0), -1, group)
    parts = overlapping(bbox, group, distinct, lowest)
    pairs = np.concatenate([np.zeros((2, 0), np.int64), *parts], axis=1)
    if lowest < threshold:
        pairs = pairs[:, shapes.box_iou(document, *pairs) >= threshold]
    left, right = pairs[:, ~(shapes.outline_iou(document, *pairs) < threshold)]
    alike = kind[left] == kind[right]
    np.minimum.at(found[True], right[alike], left[alike])
    if (origin := document.reading.origin) is not None:
        # Some tools allow several labels of one region.
        regions, rows = np.arange(none), document.once(shapes.equal_boxes)[0]
        regions[rows] = origin.regions_of(rows)
        alike |= regions[left] == regions[right]
    np.minimum.at(found[False], right[~alike], left[~alike])
    return {same: np.where(first == none, -1, first) for same, first in found.items()}


# Examples of annotations of (image, track, category).
_TWO_CATEGORIES, _TWO_TRACKS, _TWICE, _ONCE = (
    {
        "images": [{}, {}, {}],
        "categories": [{}, {}],
        "annotations": [
            {"image_id": image, "track_id": track, "category_id": category,
             "bbox": [10 + 9 * number, 10 + 5 * number, 20, 30]}
            for number, (image, track, category) in enumerate(places)
        ],
    }
    for places in (
        ((1, 7, 1), (2, 7, 1), (3, 7, 2)), ((1, 7, 1), (2, 7, 1), (3, 8, 2)),
        ((1, 7, 1), (1, 7, 1), (2, 7, 1)), ((1, 7, 1), (1, 8, 1), (2, 7, 1)),
    )
)  # fmt: skip
_OF_ONE_SIZE = [{"bbox": [place, place, 20 + place % 3, 30]} for place in range(20)]
_ONE_EACH = [{"image_id": place + 1} for place in range(8)]
_MORE = [{"bbox": [5 * place, 40, 4, 30]} for place in range(15)]
_DOG = {"categories": [{}, {"name": "dog"}]}
_NEARLY = {"bbox": [10, 10, 20, 31]}


@rule(
    "D001 warning, safe fix: annotation is in the file twice",
    breaks="Even a perfect model misses one of the two, and recall and AP fall.",
    explanation="""Two annotations of one image are equal in all keys except the id (of such lines
        of YOLO, Ultralytics keeps one). It is an error if they are a twentieth of the annotations.
        The fix removes all but the first, unless images or categories share the id.""",
    bad={"annotations": [{}, {}]},
    good={"annotations": [{"rater": "ann"}, {"rater": "bob"}]},
)
def _exact(document: Document, _settings: ValidateSettings) -> Checked:
    earlier, columns = document.once(_repeats), document.annotations
    repeats = earlier >= 0
    same_id = columns.whole["id"] & (columns.id == columns.id[earlier])
    # Whether another image or category has the id of the one that an annotation refers to.
    ambiguous = np.zeros(len(columns), np.bool_)
    for records, _, row in document.references.values():
        _, place, times = np.unique(records.id, return_inverse=True, return_counts=True)
        ambiguous |= np.append((times[place] > 1) & records.named, False)[row]

    def says(row: int) -> str:
        first, origin = int(earlier[row]), document.reading.origin
        if same_id[row]:
            where = pointer_to("annotations", first) if origin is None else origin.place_of(first)
            return f"annotation is equal to an earlier one, {where}"
        name = shortened(ids_of(document, "annotations", first).get("annotation"))
        return f"annotation is equal to annotation {name} in all but the id"

    # With equal ids, pycocotools keeps one in some places and both in others.
    most = max(layout.FEW_REPEATS, layout.FEW_OF_ALL * len(earlier))
    wrong = repeats & (same_id | (repeats.sum() >= most))
    for where, severity in ((wrong, Severity.ERROR), (repeats & ~wrong, None)):
        yield Rows(
            where, says, expected="each annotation once", severity=severity,
            found=lambda row: document.record(row).get("id"),
            edits=lambda row: () if ambiguous[row] else record_edit("annotations", row),
            summary="{share} are equal to an earlier one",
            mark=lambda row: _key(document, int(earlier[row]), row),
        )  # fmt: skip


def _key(document: Document, *rows: int) -> str:
    """Return the ids of annotations in an order that does not depend on that of the records."""
    return " ".join(sorted(shortened(document.record(row).get("id")) for row in rows))


def _near(document: Document, settings: ValidateSettings, *, same: bool) -> Checked:
    """D002 and D003: boxes that nearly coincide, of the same or of different categories."""
    least = settings.duplicate_iou
    earlier = document.once(_earlier, least)[same]

    def says(row: int) -> str:
        first = int(earlier[row])
        iou = float(shapes.box_iou(document, np.array([first]), np.array([row]))[0])
        kinds = [_category(document, int(document.category[each]), each) for each in (first, row)]
        what = f"which is {kinds[0]} and not {kinds[1]}"
        what = f"of the same category {kinds[0]}" if same else what
        other = shortened(document.ids(first).get("annotation"))
        return f"bbox has an IoU of {shapes.figure(iou, 3)} with annotation {other}, {what}"

    yield Rows(
        earlier >= 0, says, "annotations/bbox", f"less than {least:g} for one annotator",
        mark=lambda row: _key(document, int(earlier[row]), row),
        examples=lambda row: tuple(pointer_to("annotations", e) for e in (int(earlier[row]), row)),
    )  # fmt: skip


def _category(document: Document, place: int, row: int = -1) -> str:
    """Return the name of a category; of one without a name, the id in a row."""
    name = document.categories.get(place, "name") if place >= 0 else None
    if name is None and row >= 0:
        name = document.annotations.category_id[row].item()
    return shortened(name)


def _counts(document: Document, _settings: ValidateSettings) -> Checked:
    """Q001 and Q003: categories and images with unusual numbers of annotations."""
    categories, images = document.categories, document.images
    number = np.bincount(document.category[document.category >= 0], minlength=len(categories))
    if not (document.complete("categories") and document.complete("annotations")):
        number[:] = 0
    used = np.flatnonzero(number)
    few = used[number[used] < _FEW]
    if len(few):
        rarest = few[np.argsort(number[few], kind="stable")].tolist()
        names = first_few(rarest, 3, lambda row: f"{_category(document, row)} ({number[row]})")
        what = f"fewer than {_FEW} annotations in {len(few):,} of {len(used):,} used categories: "
        what, expected = what + names, f"{_FEW} annotations or more"
        yield summary(what, "categories", few, document, expected=expected, code="Q001")
    total, largest = int(number.sum()), int(number.max(initial=0))
    if len(used) > 1 and largest > _MOST * total:
        top, expected = int(number.argmax()), f"at most {_MOST:.0%} of the annotations"
        name, pointer = _category(document, top), pointer_to("categories", top)
        yield Defect(
            f"category {name} has {largest:,} of {count(total, 'annotation')}; expected {expected}",
            pointer, found=largest, expected=expected, ids=ids_of(document, "categories", top),
            key=name, count=largest, code="Q001",
        )  # fmt: skip
    in_image = np.bincount(document.image[document.image >= 0], minlength=len(images))
    rows = np.flatnonzero(in_image)
    if len(rows) < _ENOUGH_IMAGES:
        return
    score, _ = deviations(np.log1p(in_image[rows]), rows * 0, _MIN_NUMBER_SPREAD)
    middle, odd = float(np.median(in_image[rows])), np.abs(score) > _FAR
    # If most images have the same number, the spread is 0, so many others would be unusual.
    if odd.sum() <= max(1, _RARE * len(rows)):

        def says(row: int) -> str:
            n = count(int(in_image[row]), "annotation")
            return f"image has {n}; the median of the annotated images is {middle:g}"

        found = lambda row: int(in_image[row])  # noqa: E731
        yield Rows(rows[odd], says, "images", found=found, code="Q003")


@rule(
    "Q002 info: size is unusual for the category",
    breaks="It is often a slip of the mouse or a wrong category.",
    explanation="""The logarithm of the area is more than 6 robust standard deviations (1.4826 times
        the median absolute deviation, at least 0.25) from the median of its category of 20 boxes or
        more. Check the box; keep it if the object has this size.""",
    bad={"annotations": [*_OF_ONE_SIZE, {"bbox": [50, 50, 2, 3]}]},
    good={"annotations": [*_OF_ONE_SIZE, {"bbox": [50, 50, 14, 20]}]},
    requires=("F004", "S015", "B002", "B008", "B009", "B010", "B014", "T003"),
)
def _sizes(document: Document, _settings: ValidateSettings) -> Checked:
    rows = np.flatnonzero(document.once(shapes.box_facts).plain & (document.category >= 0))
    bbox = document.annotations.bbox
    category = document.category[rows]
    enough = np.bincount(category, minlength=1)[category] >= _ENOUGH
    rows, category = rows[enough], category[enough]
    # The sum of two logarithms, since a product might overflow.
    area = np.log(bbox[rows, 2]) + np.log(bbox[rows, 3])
    score, middle = deviations(area, category, _MIN_SIZE_SPREAD)

    def says(place: int) -> str:
        width, height = bbox[rows[place], 2:]
        name = _category(document, int(category[place]))
        usual = f"the median area of boxes of {name} is {shapes.figure(np.exp(middle[place]))} px²"
        sides = map(shapes.figure, (width, height, width * height))
        own = "{} × {} px, {} px²".format(*sides)
        return f"bbox is {own}; {usual}"

    yield Rows(np.abs(score) > _FAR, says, "annotations/bbox", owner=rows)


def _in_tracks(document: Document, _settings: ValidateSettings, *, is_category: bool) -> Checked:
    """C010 and D004: categories that differ from most of a track, and tracks twice in an image."""
    columns, images = document.annotations, document.images
    rows = np.flatnonzero(columns.track >= 0)
    is_single = document.reading.origin is None or document.name.lower().endswith((".json", ".xml"))
    if not (is_single and len(rows)) or (is_category and "tracks" in document.reading.spans):
        return
    # A track is of one annotator and video. The video of an image is that of its id, or the folder
    # of its frames.
    videos = [
        str(images.get(row, "video_id") or PurePosixPath(name).parent)
        for row, name in enumerate(images.texts("file_name"))
    ]
    video = np.append(np.unique(videos, return_inverse=True)[1], -1)[document.image[rows]]
    keys = np.stack([columns.track[rows], document.once(authorship).author[rows], video], 1)
    track = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    category, image = document.category[rows], document.image[rows]
    first = layout.first_equal([track, image])
    keys, sizes = np.unique(np.stack([track, category], 1), axis=0, return_counts=True)
    # The most frequent category of each track, or the first if tied.
    order = np.lexsort((np.arange(len(keys)), -sizes, keys[:, 0]))
    most = keys[order[run_starts(keys[order, 0])], 1][track]

    def says(place: int) -> str:
        name = shortened(columns.track_names[columns.track[rows[place]]])
        if is_category:
            own, usual = (_category(document, int(each[place])) for each in (category, most))
            return f"category is {own}, but {usual} in most images of track {name}"
        other = shortened(document.ids(int(rows[first[place]])).get("annotation"))
        return f"track {name} has annotation {other} in this image already"

    if is_category:
        wrong, one = (category != most) & (category >= 0) & (most >= 0), "one category for a track"
        yield Rows(wrong, says, "annotations/category_id", one, owner=rows, key="category_id")
    else:
        where = (first != np.arange(len(track))) & (image >= 0)
        yield Rows(where, says, expected="one in each image", owner=rows)


RULES = (
    rule(
        "C010 warning: track with several categories",
        breaks="Trackers learn that an object becomes another one.",
        explanation="""Some annotations of a track have another category than most. Give all the
            same category, or split the track.""",
        bad=_TWO_CATEGORIES,
        good=_TWO_TRACKS,
    )(partial(_in_tracks, is_category=True)),
    rule(
        "D002 warning: object annotated twice by one annotator",
        breaks="Evaluation expects two detections of one object: recall and AP fall.",
        explanation="""Two boxes of one image, one category and one annotator have an IoU of at
            least 0.9 (duplicate_iou), and so have their outlines, if both have one. Crowds, and
            unnamed boxes on an image of several annotators, are not reported. Look at both, and
            delete one.""",
        bad={"annotations": [{}, _NEARLY]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob", **_NEARLY}]},
        requires=("B014",),
    )(partial(_near, same=True)),
    rule(
        "D003 warning: object with two categories by one annotator",
        breaks="One or both labels are wrong: training penalises either answer.",
        explanation="""Two boxes of one image, one annotator and different categories have an IoU of
            at least 0.9 (duplicate_iou), and so have their outlines, if both have one. Delete one
            of them. Ignore D003 if objects may have several categories, as in LVIS.""",
        bad={**_DOG, "annotations": [{}, {"category_id": 2, **_NEARLY}]},
        good={**_DOG, "annotations": [{}, {"category_id": 2, "bbox": [10, 10, 20, 36]}]},
        requires=("B014",),
    )(partial(_near, same=False)),
    rule(
        "D004 warning: track twice in one image",
        breaks="Evaluation of tracking counts a false positive and a switch of identities.",
        explanation="""Two annotations of one image by the same annotator belong to the same track,
            which is one object. Give them different tracks, or delete one.""",
        bad=_TWICE,
        good=_ONCE,
    )(partial(_in_tracks, is_category=False)),
    rule(
        "Q001 info: category with few annotations, or with nearly all",
        breaks="A model hardly learns a rare category, and its AP depends on a few objects.",
        explanation="""Categories with 1 to 9 annotations are counted, and one of several with more
            than 90 % of all. Collect more images, merge categories, or weight them in training.""",
        bad={"annotations": [{"bbox": [9 * place, 10, 7, 30]} for place in range(9)]},
        good={"annotations": [{"bbox": [9 * place, 10, 7, 30]} for place in range(10)]},
    )(_counts),
    rule(
        "Q003 info: image with an unusual number of annotations",
        breaks="Such images weigh more than others, and can exhaust the memory of a batch.",
        explanation="""log(1 + n) of the n annotations is more than 6 robust standard deviations
            (1.4826 times the median absolute deviation, at least 0.2) from the median of at least 8
            annotated images. If more than a tenth deviate, none is unusual.""",
        bad={"images": [{}] * 8, "annotations": [*_ONE_EACH, *_MORE]},
        good={"images": [{}] * 8, "annotations": [*_ONE_EACH, *_MORE[:3]]},
    )(_counts),
)
