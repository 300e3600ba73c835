"""A clean random COCO document, and every kind of defect that can be put into one."""

# Every mutation takes a document and random numbers, whether it needs them or not.
# ruff: noqa: ARG005

import json
from functools import cache

import numpy as np

__all__ = ["MUTATIONS", "clean", "kinds", "mutant"]

N_IMAGES = 8


def clean(seed, *, annotators=False):
    """Return a document in which nothing is wrong: polygons and masks, each in its own cell."""
    return json.loads(_clean(seed, annotators=annotators))


@cache
def _clean(seed, *, annotators):
    rng = np.random.default_rng(seed)
    images = [
        {"id": n + 1, "file_name": f"photo_{n:03}.jpg", "width": 640, "height": 480}
        for n in range(N_IMAGES)
    ]
    annotations = []
    for image in images:
        for cell in rng.permutation(12)[:6].tolist():
            left, top = cell % 4 * 160 + 10, cell // 4 * 160 + 10
            drawn = [(rng.integers(0, 30, 2), rng.integers(60, 110, 2), rng.integers(1, 4))]
            if annotators:
                drawn *= 2
            for number, (shift, side, category) in enumerate(drawn):
                x, y = (int(v) for v in shift + [left, top] + 2 * number)
                width, height = (int(v) for v in side)
                outline, area = hexagon(x, y, width, height)
                annotation = {
                    "id": len(annotations) + 1, "image_id": image["id"],
                    "category_id": int(category), "bbox": [x, y, width, height], "area": area,
                    "iscrowd": 0, "segmentation": outline,
                }  # fmt: skip
                if annotators:
                    annotation["annotator"] = ("ann", "bob")[number]
                annotations.append(annotation)
    if annotators:
        for image in images:
            image["annotators"] = ["ann", "bob"]
    names = ("cat", "dog", "bird")
    categories = [{"id": n + 1, "name": name} for n, name in enumerate(names)]
    document = {
        "info": {"description": "clean", "year": 2026}, "licenses": [], "images": images,
        "annotations": annotations, "categories": categories,
    }  # fmt: skip
    return json.dumps(document)


def hexagon(x, y, width, height):
    """Return a hexagon that fills a box, and its area."""
    quarter = width // 4
    ring = [
        x + quarter, y, x + width - quarter, y, x + width, y + height // 2,
        x + width - quarter, y + height, x + quarter, y + height, x, y + height // 2,
    ]  # fmt: skip
    points = np.array(ring, float).reshape(-1, 2)
    after = np.roll(points, -1, axis=0)
    area = abs((points[:, 0] * after[:, 1] - after[:, 0] * points[:, 1]).sum()) / 2
    return [ring], float(area)


def mask(document, annotation, *, total=0, swapped=False):
    """Make the outline of an annotation an uncompressed mask of its box."""
    x, y, width, height = annotation["bbox"]
    runs, at = [], 0
    for column in range(x, x + width):
        start = column * 480 + y
        runs += [start - at, height]
        at = start + height
    runs.append(640 * 480 - at + total)
    size = [640, 480] if swapped else [480, 640]
    annotation["segmentation"] = {"size": size, "counts": runs}
    annotation["area"] = width * height


def one(document, rng):
    return document["annotations"][rng.integers(len(document["annotations"]))]


def image(document, rng):
    return document["images"][rng.integers(len(document["images"]))]


def category(document, rng):
    return document["categories"][rng.integers(len(document["categories"]))]


class Choices(np.random.Generator):
    """Random numbers of a seed; seeds in turn pick each combination of what can be picked."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.turn, self.n_combinations = seed, 1


def pick(rng, *values):
    rng.n_combinations *= len(values)
    rng.turn, place = divmod(rng.turn, len(values))
    return values[place]


def text(document):
    return json.dumps(document).encode()


def boxes(document, change):
    for annotation in document["annotations"]:
        annotation["bbox"] = change(*annotation["bbox"])


def again(document, rng, **changes):
    """Add a copy of an annotation with an id of its own."""
    copied = dict(one(document, rng), **changes)
    document["annotations"].append({**copied, "id": len(document["annotations"]) + 1, **changes})


def f001(document, rng):
    whole = text(document)
    return whole[: rng.integers(1, len(whole) - 1)]


def f005(document, rng):
    key = pick(rng, b'"id": ', b'"bbox": ', b'"category_id": ')
    whole = text(document)
    place = whole.index(key, int(rng.integers(len(whole) // 3)))
    return whole[:place] + key + b"null, " + whole[place:]


def s003(document, rng):
    record = pick(rng, image, one, category)(document, rng)
    record["id"] = pick(rng, str(record["id"]), record["id"] + 0.5, True, -7, None, [1])


def s006(document, rng):
    annotation = one(document, rng)
    # Numbers as text are those of the box: others would also differ from the outline.
    texts = [str(value) for value in annotation["bbox"]]
    annotation["bbox"] = pick(rng, None, [1, 2, 3], texts, {"x": 1}, [], [1, 2, None, 4])


def d003(document, rng):
    twin = one(document, rng)
    again(document, rng, **{**twin, "id": 999, "category_id": twin["category_id"] % 3 + 1})


def i006(document, rng):
    document["images"][0]["file_name"] = document["images"][1]["file_name"]


def i002(document, rng):
    document["images"][0]["id"] = document["images"][1]["id"]


def b012(document, rng):
    for record in document["images"]:
        record["width"], record["height"] = 300, 640
    for annotation in document["annotations"]:
        annotation.pop("segmentation")
        annotation["bbox"] = [320, 10 + annotation["id"] % 90, 200, 100]
        annotation["area"] = 20000


def b014(document, rng):
    for number, record in enumerate(document["images"]):
        record["width"] += 2 * number
    for number in rng.permutation(len(document["images"]))[:5].tolist():
        again(document, rng, image_id=number + 1, bbox=[5, 7, 3, 9], segmentation=[], area=27)


def p003(document, rng):
    annotation = one(document, rng)
    (ring,) = annotation["segmentation"]
    pairs = [ring[place : place + 2] for place in range(0, len(ring), 2)]
    annotation["segmentation"] = pick(rng, ring, pairs, [pairs], json.dumps([ring]))


def p005(document, rng):
    x, y, width, height = (annotation := one(document, rng))["bbox"]
    ring = [x, y, x + width, y + height, x + width, y, x, y + height]
    annotation["segmentation"] = [ring]
    annotation["area"] = width * height / 2


def p010(document, rng):
    outline = one(document, rng)["segmentation"]
    outline.append([*outline[0]])


def p006(document, rng):
    annotation = one(document, rng)
    ring, area = hexagon(600, 400, 100, 60)
    annotation.update(segmentation=ring, area=area, bbox=[600, 400, 100, 60])


def crowds(document, rng):
    for annotation in document["annotations"]:
        mask(document, annotation)
        annotation["iscrowd"] = 1


def r007(document, rng):
    annotation = one(document, rng)
    x, y, width, height = annotation["bbox"]
    runs, at = [], 0
    for start in range(y * 640 + x, (y + height) * 640, 640):
        runs += [start - at, width]
        at = start + width
    annotation["segmentation"] = {"size": [480, 640], "counts": [*runs, 640 * 480 - at]}
    annotation["area"] = width * height


def posed(change):
    """Return a mutation that gives all annotations sound keypoints, and then changes one."""

    def mutate(document, rng):
        for record in document["categories"]:
            record.update(keypoints=["a", "b"], skeleton=[[1, 2]])
        for annotation in document["annotations"]:
            x, y, width, height = annotation["bbox"]
            points = [x, y + height, 2, x + width // 2, y + height // 2, 1]
            annotation.update(keypoints=points, num_keypoints=2)
        change(document, rng)

    return mutate


def c005(document, rng):
    document["categories"].insert(0, {"id": 0, "name": "pets", "supercategory": "none"})
    for record in document["categories"][1:]:
        record["supercategory"] = "pets"


def a004(document, rng):
    for annotation in document["annotations"]:
        twin = document["annotations"][(annotation["id"] - 1) // 2 * 2]
        annotation.update(bbox=twin["bbox"], segmentation=twin["segmentation"], area=twin["area"])


def update(find, *choices):
    """Return a mutation that gives one record one of several changes."""

    def change(document, rng):
        find(document, rng).update(pick(rng, *choices))

    return change


def sole(*boxes):
    """Return a mutation that gives an annotation one of several boxes and no outline."""

    def change(document, rng):
        bbox = pick(rng, *boxes)
        annotation = one(document, rng)
        annotation.update(bbox=bbox, area=bbox[2] * bbox[3])
        del annotation["segmentation"]

    return change


def delete(find, *keys):
    def change(document, rng):
        del find(document, rng)[pick(rng, *keys)]

    return change


MUTATIONS = {
    "F001": f001,
    "F002": lambda d, rng: text(d) + pick(rng, b" {}", b"\n]", b"x", b"\x00"),
    "F003": lambda d, rng: pick(rng, b"\xef\xbb\xbf" + text(d), text(d).decode().encode("utf-16")),
    "F004": lambda d, rng: text(d).replace(
        b'"bbox": [',
        pick(rng, b'"bbox": [NaN, ', b'"x": -Infinity, "bbox": [', b'"x": 1e999, "bbox": ['),
        1,
    ),
    "F005": f005,
    "F006": lambda d, rng: text(d["annotations"]),
    "S001": lambda d, rng: d.update(
        {pick(rng, "images", "annotations", "categories"): pick(rng, None, {}, 5)}
    ),
    "S002": delete(one, "id", "image_id", "category_id"),
    "S003": s003,
    "S004": lambda d, rng: pick(rng, lambda: d.pop("info"), lambda: d["info"].update(year=""))(),
    "S005": update(one, {"iscrowd": 2}, {"iscrowd": None}, {"iscrowd": "0"}),
    "S006": s006,
    "S007": update(image, {"width": None}, {"width": "640"}, {"height": 0}, {"height": -4}),
    "S008": update(image, {"file_name": ""}, {"file_name": None}, {"file_name": 5}),
    "S009": lambda d, rng: d["annotations"].insert(
        int(rng.integers(9)), pick(rng, [1], 5, None, "x")
    ),
    "S010": update(one, *({"segmentation": e} for e in (5, None, [], [["a", 1]], [{"x": 1}]))),
    "S011": delete(one, "area"),
    "S013": lambda d, rng: d["info"].update(year=pick(rng, "2026", "unknown", 20266)),
    "S012": lambda d, rng: d[pick(rng, "images", "annotations", "categories")].append({}),
    "S017": update(one, {"ignore": 1}, {"ignore": 1, "iscrowd": 0}),
    "S015": update(
        one,
        {"bbox": [5, -1e12, 9, 9]},
        {"segmentation": [[5, 5, 9, 5, 3e9, 9]]},
        {"attributes": {"rotation": 10**400}},
    ),
    "I001": lambda d, rng: d["annotations"][0].update(id=int(rng.integers(2, 40))),
    "I002": i002,
    "I003": update(one, {"id": 0}),
    "I004": update(one, {"image_id": 999}, {"category_id": 99}, {"image_id": -1}),
    "I006": i006,
    "I007": lambda d, rng: d["images"].append(
        {"id": 99, "file_name": "z.jpg", "width": 9, "height": 9}
    ),
    "M005": update(
        image, *({"file_name": f"{e}x.jpg"} for e in ("../", "/", "C:\\", "http://a/", "a\\"))
    ),
    "M006": lambda d, rng: d["images"][0].update(file_name=d["images"][1]["file_name"].upper()),
    "B001": sole([10, 10, 0, 5], [10, 10, 5, -3], [10, 10, -5, -5]),
    "B002": sole([700, 10, 20, 20], [10, -50, 20, 20], [10, 480.5, 9, 9]),
    "B003": sole([600, 10, 60, 60], [-9, 10, 60, 60]),
    "B004": sole([600, 10, 40.5, 60], [-0.7, 10, 60, 60]),
    "B005": lambda d, rng: boxes(d, lambda x, y, w, h: [x, y, x + w, y + h]),
    "B006": lambda d, rng: boxes(d, lambda x, y, w, h: [x + w / 2, y + h / 2, w, h]),
    "B007": lambda d, rng: boxes(d, lambda x, y, w, h: [x / 640, y / 480, w / 640, h / 480]),
    "B008": sole([10, 10, 1, 5], [10, 10, 9, 0.5]),
    "B009": sole([10, 10, 300, 5], [10, 10, 5, 300]),
    "B010": sole([0, 0, 640, 480]),
    "B011": update(one, {"area": 0}, {"area": -5}, {"area": 99999.0}, {"area": 10}),
    "B012": b012,
    "B014": b014,
    "P001": update(one, {"segmentation": [[10, 10, 20, 20]]}, {"segmentation": [[10, 10]]}),
    "P002": update(one, {"segmentation": [[10, 10, 20, 20, 30, 30, 5]]}),
    "P003": p003,
    "P004": lambda d, rng: one(d, rng)["segmentation"].append([]),
    "P005": p005,
    "P006": p006,
    "P007": update(one, {"bbox": [300, 200, 40, 40]}),
    "P010": p010,
    "R001": lambda d, rng: mask(d, one(d, rng), swapped=True),
    "R002": lambda d, rng: mask(d, one(d, rng), total=int(rng.integers(1, 99))),
    "R003": crowds,
    "R004": update(one, {"iscrowd": 1}),
    "R007": r007,
    "R008": update(one, {"segmentation": {"size": [480, 640], "counts": [640 * 480]}}),
    "K001": posed(update(one, {"num_keypoints": 1}, {"keypoints": [1, 2]}, {"keypoints": [1] * 9})),
    "K002": posed(lambda d, rng: one(d, rng)["keypoints"].__setitem__(2, pick(rng, 3, -1, 0.9))),
    "K003": posed(lambda d, rng: one(d, rng)["keypoints"].__setitem__(slice(0, 2), [0, 0])),
    "K004": posed(lambda d, rng: one(d, rng)["keypoints"].__setitem__(pick(rng, 0, 1), 700)),
    "K006": posed(update(category, {"skeleton": [[0, 1]]}, {"skeleton": [[1, 3]]})),
    "C001": lambda d, rng: d["categories"][0].update(id=2),
    "C002": lambda d, rng: d["categories"][0].update(name="dog"),
    "C003": lambda d, rng: d["categories"][0].update(name=pick(rng, "Dog", "dog ", " DOG")),
    "C004": lambda d, rng: d["categories"].append({"id": 4, "name": "yak"}),
    "C005": c005,
    "C006": lambda d, rng: d["categories"].append({"id": 9, "name": "yak"}),
    "C008": update(category, {"name": ""}, {"name": None}, {"name": 7}),
    "C009": lambda d, rng: category(d, rng).update(name=pick(rng, "y\u200bak", "yak ", "yak\n")),
    "A001": lambda d, rng: one(d, rng).pop("annotator"),
    "A002": update(one, {"annotator": "eve"}),
    "A003": lambda d, rng: [
        image.update(annotators=["ann", "bob", "cid"]) for image in d["images"]
    ],
    "A004": a004,
    "D001": again,
    "D002": lambda d, rng: again(d, rng, area=1e4, extra=1),
    "D003": d003,
}
"""Code of a rule to what makes a clean document break it: changes it, or returns another text."""


@cache
def changed(code, seed):
    """Return a changed document or text, and how many combinations of picks there are."""
    rng = Choices(seed)
    document = clean(seed, annotators=code[0] == "A")
    text_or_none = MUTATIONS[code](document, rng)
    return text_or_none if isinstance(text_or_none, bytes) else text(document), rng.n_combinations


def mutant(code, seed):
    """Return a file with one defect, as bytes."""
    return changed(code, seed)[0]


def kinds(code):
    """Return how many seeds show each kind of a defect."""
    return changed(code, 0)[1]
