"""What rules say of a defect: where, of how many records, how severe, and what a fix changes."""

import pytest
from support.validation import codes, edits_of, only

from bboxqa.rules.base import ABSENT

CAT_DOG = [{}, {"name": "dog"}]
RING = [10, 10, 30, 10, 30, 40, 10, 40]
BOW = [10, 10, 30, 40, 30, 10, 10, 40]
WIDE = [[85, 10, 110, 10, 110, 40, 85, 40]]
MASK = {"size": [80, 100], "counts": [810, 100, 7090]}
POINTS = [12, 12, 2, 20, 20, 1, 0, 0, 0]
INSIDE = [20, 20, 2, 15, 30, 1, 0, 0, 0]


def of(*records, **lists):
    """Return a file of annotations."""
    return {"annotations": [*records], **lists}


def boxes(*many, **more):
    return of(*({"bbox": [*box], **more} for box in many))


def row(*records, **same):
    """Return annotations beside each other, which have some values in common."""
    return of(*({"bbox": [5 + 20 * n, 10, 10, 10], **same, **e} for n, e in enumerate(records)))


def asked(*lists):
    return [{"rater_list": names} for names in lists]


def drawn_by(*images_of):
    """Return a box of each annotator, named by letters, in each image."""
    pairs = ((image, who) for image, names in enumerate(images_of, 1) for who in names)
    return [{"rater": who, "image_id": image} for image, who in pairs]


def set_of(rater, number=3, *, shift=0.0, **more):
    """Return boxes of an annotator, each of another width."""
    places = [[5 + 3 * n + shift, 5, 10 + n / 7, 10] for n in range(number)]
    return [{"bbox": box, "rater": rater, **more} for box in places]


def of_class(category, number):
    return [{"category_id": category, "bbox": [n, n, 9, 9]} for n in range(number)]


def usual(*last):
    """Return boxes of usual sizes, and others."""
    return boxes(*([n, n, 20 + n % 4, 20] for n in range(30)), *last)


def on_images(*numbers, n_images=8):
    """Return a number of annotations in each image."""
    pairs = ((image, n) for image, number in enumerate(numbers, 1) for n in range(number))
    drawn = [{"image_id": image, "bbox": [n % 90, n % 70, 9, 9]} for image, n in pairs]
    return of(*drawn, images=[{}] * n_images)


def tracked(*records, **lists):
    """Return annotations (image, more) of a video of three images."""
    drawn = [{"image_id": i, "bbox": [10 + 9 * n, 10, 20, 30], **more}
             for n, (i, more) in enumerate(records)]  # fmt: skip
    return of(*drawn, **{"images": [{}] * 3, **lists})


def two(first="cat", second="dog", ids=(1, 2), used=(1, 2), key="name"):
    """Return two categories, and annotations that use them."""
    records = [{"id": n, key: name} for n, name in zip(ids, (first, second), strict=True)]
    drawn = [{"category_id": each, "bbox": [20 * n, 5, 9, 9]} for n, each in enumerate(used)]
    return of(*drawn, categories=records)


def root(names=("rbc", "wbc"), name="cells", used=(1, 2), **more):
    """Return categories as Roboflow exports them, below a root that nothing is annotated with."""
    own = {"id": 0, "name": name, "supercategory": "none", **more}
    others = [{"id": n, "name": each, "supercategory": name} for n, each in enumerate(names, 1)]
    return two(used=used) | {"categories": [own, *others]}


def named(*names):
    return {"categories": [{"name": name} for name in names]}


def with_ids(*ids):
    return boxes() | of(*({"id": each, "bbox": [n, n, 20, 30]} for n, each in enumerate(ids)))


def referring(*references, images=(1, 2, 3)):
    drawn = [{"image_id": each, "bbox": [n, n, 20, 30]} for n, each in enumerate(references)]
    return of(*drawn, images=[{"id": value} for value in images])


def images(*names, **more):
    return {"images": [{"file_name": name, "width": 60, "height": 40, **more} for name in names]}


def outline(segmentation, **more):
    return of({"segmentation": segmentation, **more})


def masks(*many, **more):
    return of(*({"segmentation": mask, "area": 100, **more} for mask in many))


def pose(points, n_labelled=2, names=("a", "b", "c"), **category):
    """Return key points of a category in a large image."""
    drawn = {"keypoints": points, "num_keypoints": n_labelled}
    kind = {"keypoints": [*names], **category}
    return of(drawn, categories=[kind], images=[{"width": 400, "height": 300}])


def rotated(box, *others):
    return row(*[{"bbox": box}] * 3, *others)


LONG = [f"{n}.jpg" for n in range(20)]
CVAT = {"segmentation": MASK, "iscrowd": 1, "attributes": {"occluded": True}}
UNMASKED = {"segmentation": [], "iscrowd": 0, "attributes": {"occluded": False}}
# Rows 10 to 39 of the columns 10 to 29 of an image of 80 rows.
RUNS = [810, *[30, 50] * 19, 30]
SQUARE_MASK = {"size": [80, 100], "counts": [*RUNS, 8000 - sum(RUNS)]}


def case(code, *contents, said="", settings=None, **fields):
    """Return what the only finding of a rule is; `values` are those of its changes."""
    return pytest.param(code, contents, said, settings or {}, fields, id=code)


ANNOTATORS = [
    case("A001", of({"rater": "ann"}, {}, {"rater": ""}, {"rater": None}), count=3,
         said='3 of 4 annotations do not name their annotator under "rater"; expected it on all',
         severity="error", pointer="/annotations/1/rater"),
    case("A001", of(*({"annotator": e} for e in ("a", ["x", {}], '["x"]', 3))), severity="error",
         said='annotator is ["x", {}]; expected the name', pointer="/annotations/1/annotator"),
    case("A001", of({"annotator": "ann"}, {"annotator": {"id": 1}}), severity="error",
         said='annotator is {"id": 1}; expected the name', pointer="/annotations/1/annotator"),
    *(case("A001", of(*records), said="expected the same", count=1) for records in (
        [{"annotator": "ann", "rater": "bob"}],
        [{"annotator": "ann", "attributes": {"annotator": "bob"}}],
        [{"annotator_id": 1, "rater_id": 2}],
        [{"annotator": "ann", "rater_id": "ann"}, {"annotator": "ann", "rater_id": "bob"}],
    )),
    *(case("A001", of({"rater": "ann"}, images=asked(value)), pointer="/images/0/rater_list",
           said="; expected a list of names")
      for value in ("ann, bob", 2, [{"id": 1}], [["ann"]], True)),
    *(case("A001", of({"rater": "ann"}, {"rater": "ann"}, {"rater": other}), severity="warning",
           pointer="/annotations/2/rater", found=["ann", other]) for other in ("Ann", " ann")),
    case("A002", of({"rater": "ann"}, {"rater": "eve"}, images=asked(["ann", "bob"])),
         said='annotator "eve" is not in "rater_list" of the image: ["ann", "bob"]',
         pointer="/annotations/1/rater"),
    case("A003", of(*drawn_by("ab", "ab", "a"), images=[{}] * 3), severity="warning",
         said="only one annotator on 1 of 3 annotated images", pointer="/images/2"),
    case("A003", of(*drawn_by("ab", "a"), images=asked(["a", "b"], ["a", "b"])), severity="info",
         pointer="/images/1", found="b", count=1),
    case("A003", of(*drawn_by("ab", "ab"), images=asked(*[["a", "b", "eve"]] * 2)),
         severity="warning", said='no annotations by 1 annotator ("eve") listed on 2 images'),
    case("A004", of(*set_of("ann"), *set_of("bob")), pointer="/images/0",
         said='annotators "ann" and "bob" have exactly the same boxes and categories on 1 of 1'),
]  # fmt: skip

FILES = [
    case("F001", "", said="the file is empty; expected a JSON object"),
    case("F001", '{"images": [], "annotations": [{"id": 1, ', said="the file ends at byte 41"),
    case("F001", '{"images": [],, "annotations": []}', said="not JSON at byte 14: ", fix=None),
    case("F001", '{"info": %s}' % ("[" * 600 + "]" * 600), said="at byte 10: lists nested more"),
    case("F001", b"PK\x03\x04\x14\0\x08\0\x8b\xff" + bytes(200), said="is a compressed archive"),
    case("F003", '{"images": [{"file_name": "ä.jpg"}]}'.encode("latin-1"), said="0xe4", fix=None),
    case("F004", '{"annotations": [{"id": 7, "bbox": [NaN, 1e400, -Infinity, 3]}]}', found="NaN",
         said="number is NaN; expected", pointer="/annotations/0/bbox/0",
         ids={"annotation": 7}),
    case("F004", '{"annotations": {"0": NaN}}', pointer="/annotations/0", count=1),
    case("F004", '{"info": {"a/b": [Infinity]}, "annotations": []}', pointer="/info/a~1b/0"),
    case("F005", '{"annotations": [{"iscrowd": 0, "iscrowd": 1}], "images": []}',
         pointer="/annotations/0/iscrowd", said='key "iscrowd" appears more than once'),
    case("F005", '{"annotations": [], "images": [], "images": []}', pointer="/images"),
    case("F002", '{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}', edits=[]),
    case("F002", '{"images": [], "annotations": []}\n{"images": [], "annotations": []}', edits=[],
         said="has a document in each line; expected one document"),
    case("F007", {}, settings={"large_file_mb": 0.0001}, severity="info", said="has 0 MB"),
]  # fmt: skip

LISTS = ("images", "annotations", "categories")
BESIDE = {"bbox": ABSENT, "segmentation": [RING]}
TEXTS = ["10", 10.5, "2e1", "30.0"]
KEYS = [
    *(case("S001", {name: ABSENT, "objects": []}, said=f'"{name}" is missing', severity="error")
      for name in LISTS),
    *(case("S001", {"images": value}, pointer="/images") for value in (None, 7, "text", True)),
    case("S001", '{"metadata": {"name": "a.mp4", "projectId": 5}, "instances": [], "tags": []}',
         said="file is JSON of SuperAnnotate; export COCO JSON"),
    case("S001", '{"my coco": {"images": [], "annotations": []}}',
         said='are inside "my coco"; take them out: jq \'.["my coco"]\' FILE > OUT'),
    *(case("S002", row({}, {key: ABSENT}, {}), said=f"{key} is missing; expected ",
           pointer=f"/annotations/1/{key}", severity="error")
      for key in ("id", "image_id", "category_id", "bbox")),
    case("S002", of(BESIDE, {}), severity="warning"),
    case("S002", of({"bbox": ABSENT, "segmentation": []}, {}), severity="error"),
    *(case("S015", of(*[{}] * 3, more, *[{}] * 4), pointer=f"/annotations/3/{key}", said=said,
           settings={"select": ("B", "O", "P", "S015")})
      for key, more, said in (
        ("bbox", {"bbox": [5, -1e300, 9, 9]}, "a number of bbox is -1e+300"),
        ("bbox", {"bbox": [5, 5, 9, 2e9]}, "a number of bbox is 2000000000"),
        ("segmentation", {"segmentation": [[5, 5, 9, 5, 9, 9], [5, 5, 9, 5, 9, 1e300]]}, "1e+300"),
        ("attributes", {"attributes": {"rotation": 1e300}}, "attributes.rotation is 1e+300"),
        ("attributes", {"attributes": {"rotation": -(10**400)}}, "is more than a float can hold"),
    )),
    *(case("S003", row({}, {"id": value}, {}), pointer="/annotations/1/id", values=new,
           fix="safe" if new else None)
      for value, new in (
        ("7", [7]), (7.0, [7]), ("77", [77]), ("0", [4]), (7.5, []), ("a", []), (True, []),
        (None, []), (-3, []), ("-3", []), ([], []), ({}, []), (10**30, []),
    )),
    case("S003", referring("2", 1, 3), said='image_id is "2"; expected a whole number, 0 or more',
         edits=[("/annotations/0/image_id", "replace", 2)]),
    *(case("S005", row({}, {"iscrowd": value}, {}), severity="warning",
           edits=[("/annotations/1/iscrowd", *edit)] if edit else [])
      for value, edit in (
        (ABSENT, ("add", 0)), (None, ("replace", 0)), (True, ("replace", 1)),
        (1.0, ("replace", 1)), ("0", ("replace", 0)),
        *((value, ()) for value in (2, "yes", [1], {}, 0.5, -1)),
    )),
    *(case("S006", row({}, {"bbox": value}, {}), edits=[],
           said="expected four finite numbers: x, y, width, height")
      for value in (None, [], [1, 2, 3], [1, 2, 3, 4, 5], {"x": 1}, "1,2,3,4", 7, [1, 2, 3, None],
                    [[1], 2, 3, 4], [True, 2, 3, 4], [1, 2, 3, "1_0"], [1, 2, 3, 10**400])),
    case("S006", rotated([40, 40, 30, 20, 30], {"bbox": None, "segmentation": [RING]}), edits=[],
         said="expected five or eight numbers, as others have"),
    case("S006", rotated([9, 9, 40, 9, 40, 40, 9, 40], {"bbox": None, "segmentation": [RING]}),
         edits=[], said="expected five or eight numbers, as others have"),
    case("S006", row({}, {"bbox": TEXTS}, {}), values=[[10, 10.5, 20, 30]], fix="safe"),
    case("S006", row({}, {"bbox": None, "segmentation": [RING]}, {}), values=[[10, 10, 20, 30]],
         fix="unsafe"),
    case("S006", row({}, {"bbox": None, "segmentation": [[1, 1, 2, 2]]}, {}), edits=[]),
    *(case("S007", {"images": [{}, {"width": value}, {}]}, pointer="/images/1/width",
           ids={"image": 2}, values=[640] if value in ("640", 640.0) else [])
      for value in ("640", 640.0, 640.5, "", None, 0, -5, True, [], ABSENT, "0")),
    *(case("S009", {name: [{}, value, {}]}, pointer=f"/{name}/1", said="expected an object")
      for name in LISTS for value in (None, 7, "a", [1], True, 1.5)),
    case("S009", {"licenses": {}}, said="licenses is {}; expected a list"),
    *(case("S010", row({}, {"segmentation": value}, {}, segmentation=[RING]),
           said=", as most annotations here have") for value in (None, [], "", ABSENT)),
    *(case("S010", row({}, {"segmentation": value}, segmentation=[RING]), severity="info")
      for value in (None, [], "", ABSENT)),
    case("S011", row({"area": ABSENT, "segmentation": [[0, 0, 10, 0, 0, 10]]}, {}, {}),
         edits=[("/annotations/0/area", "add", 50)], severity="warning"),
    *(case("S011", row({}, {"area": odd, "bbox": [9, 9, 0, 9]}, {}), edits=[])
      for odd in ("1_0", "10,5", "nan", "1e400", "", True, None)),
]  # fmt: skip

IDS = [
    case("I004", referring("im_1", "im_2", "im_9", images=("im_1", "im_2", "im_3")), found="im_9",
         pointer="/annotations/2/image_id"),
    case("I007", referring("im_1", "im_2", "im_2", images=("im_1", "im_2", "im_3")),
         examples=("/images/2",)),
    case("I004", referring(1, 7, 3), fix="unsafe", edits=[("/annotations/1", "remove", None)],
         said="image_id is 7, which none of the images has"),
    case("I004", of({}, {}, {"category_id": 9}), said="category_id is 9"),
    case("I004", referring(0, 1, 2), edits=[],
         said="image_id counts from 0 and the ids of images from 1"),
    case("I004", referring(1, 2, 3, images=(0, 1, 2)), edits=[],
         said="image_id counts from 1 and the ids of images from 0"),
    *(case("I004", {**row(*[{}] * 4), name: []},
           said=f"{key} of 4 of 4 annotations matches none of the {name}")
      for name, key in (("images", "image_id"), ("categories", "category_id"))),
    case("I004", of({}, images=[]), said="image_id is 1, which none of the images has"),
    case("I006", of({}, {"image_id": 2}, {"image_id": 3}, **images("a", "a", "b")),
         said='file_name "a" is used by 2 images (ids 1, 2); expected', severity="warning",
         examples=("/images/0/file_name", "/images/1/file_name")),
    case("I007", {"images": [{}, {}, {}]}, said="no annotations on 2 of 3 images; ", count=2,
         severity="info", examples=("/images/1", "/images/2")),
]  # fmt: skip

NAMES = [
    *(case("M005", images(name), said=f"is {what}; expected",
           edits=[("/images/0/file_name", "replace", "b/a.jpg")] if "back" in what else [])
      for name, what in (
        ("/data/a.jpg", "an absolute path"), ("C:\\data\\a.jpg", "an absolute path"),
        ("https://example.org/a.jpg", "a URL"), ("data:image/png;base64,AA", "a URL"),
        ("../a.jpg", 'a path with ".."'), ("b\\..\\a.jpg", 'a path with ".."'),
        ("b\\a.jpg", "a path with backslashes"),
    )),
    case("M006", images("a.jpg", "A.jpg"), said='"A.jpg" differs only in case'),
    case("M008", images("a.jpg", "b.jpg"), images("c.jpg", "b.jpg"), file="b.json",
         said='image "b.jpg" has the same name as "b.jpg" in export.json', pointer="/images/1"),
    case("M008", images("train/a.jpg", "train/b.jpg"), images("test/a.jpg", "test/c.jpg"),
         said="has the same name and size as"),
    case("M008", images(*LONG), images(*LONG), severity="info", count=20,
         said="several annotators"),
    # One copy of a dog, and another one, are in both files.
    case("M010", images(*(f"{name}_jpg.rf.{n:032x}.jpg"
                          for name, n in (("cat", 1), ("dog", 3), ("dog", 5)))),
         images(*(f"{name}_jpg.rf.{n:032x}.jpg"
                  for name, n in (("cat", 4), ("dog", 3), ("dog", 5)))),
         file="b.json", pointer="/images/0", said=" has the original name of ",
         found=f"cat_jpg.rf.{4:032x}.jpg"),
]  # fmt: skip

PLAIN = [[60, 50, 20, 10], [50, 60, 25, 18], [76, 30, 22, 10], [8, 60, 30, 19], [75, 65, 24, 14]]
BOXES = [
    case("B001", boxes([10, 10, -5, 4]), said="bbox width is -5; expected more than 0",
         edits=[("/annotations/0/bbox", "replace", [5, 10, 5, 4])]),
    case("B001", boxes([10, 10, 0, 4]), edits=[("/annotations/0", "remove", None)]),
    case("B001", boxes([10, 10, 0, 4], segmentation=[[1, 2, 9, 2, 9, 8]]), values=[[1, 2, 8, 6]]),
    *(case("B002", boxes(box), said=f"bbox lies {where} its image (100 x 80)",
           settings={"select": ("B002", "B003", "B004")})
      for box, where in (([100, 10, 5, 5], "right of"), ([-9, 10, 9, 5], "left of"),
                         ([5, -20, 5, 5], "above"), ([5, 80, 5, 5], "below"))),
    case("B003", boxes([85, -10.5, 20, 30]), values=[[85, 0, 15, 19.5], 292.5],
         said="bbox extends 10.5 px beyond the top edge of its image (100 x 80)"),
    case("B008", boxes([10, 10, 9, 1.5]), said="bbox height is 1.5 px; expected at least 2 px"),
    case("B009", boxes([10, 10, 63, 3]), said="bbox of 63 x 3 px is 21 : 1; expected at most 20"),
    case("B010", boxes([0, 0, 100, 80]), said="bbox covers 100.0% of its image (100 x 80)"),
    *(case("B011", boxes([10, 10, 20, 30], area=area), values=values)
      for area, values in ((0, [600]), (700, []))),
    # x1, y1, x2, y2; x1, x2, y1, y2; and a box beyond the image.
    *(case("B011", boxes(box, area=area), edits=[])
      for box, area in (([10, 20, 40, 70], 1500), ([10, 40, 20, 70], 1500), ([70, 2, 40, 9], 20))),
    *(case("B011", of(*[{"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 600}] * n,
                      {"segmentation": [RING]}), count=n, values=[300] * n) for n in (4, 5)),
    case("B011", of(*[{"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 600}] * 5, *[{}] * 50),
         count=5, values=[300] * 5,
         said="area is width x height of the box in 5 of 5 annotations whose outlines have"),
    *(case("B011", of(*({"bbox": [10, 10, 20 + n, 30], "area": value} for n in range(12))),
           values=[30 * (20 + n) for n in range(12)]) for value in (0, 1)),
    case("B011", outline([[80, 10, 130, 10, 130, 60, 80, 60]], bbox=[80, 10, 20, 50], area=700),
         edits=[]),
    *(case("B011", of(*[{}] * 20, {"bbox": box, "area": area}), edits=[])
      for box, area in (([90, 10, 40, 30], 400), ([10, 20, 40, 70], 1500))),
]  # fmt: skip

OUTLINES = [
    case("P001", outline([RING, [1, 2, 3, 4]]), edits=[("/annotations/0/segmentation/1", "remove",
         None)], said="polygon has 4 numbers;"),
    case("P001", outline([[7]]), said="polygon has 1 number;"),
    *(case(code, of(*({"segmentation": e} for e in ([ring], [RING], [RING]))), edits=[])
      for code, ring in (("P001", [1, 2, 3, 4]), ("P004", []))),
    *(case(code, of(*({"segmentation": e} for e in ([ring, RING], [RING], [RING]))),
           edits=[("/annotations/0/segmentation/0", "remove", None)])
      for code, ring in (("P001", [1, 2, 3, 4]), ("P004", []))),
    *(case("P003", outline(written), said=f"segmentation is {what}; expected a list of rings",
           values=[[RING]]) for written, what in (
        (RING, "a flat list of numbers"),
        ([[10, 10], [30, 10], [30, 40], [10, 40]], "a list of points"),
        ([[[10, 10], [30, 10], [30, 40], [10, 40]]], "lists of points"),
    )),
    *(case("P003", outline(odd), edits=[])
      for odd in ("[[10,10,30,10,30,40,10,40]]", "POLYGON ((1 2))", [1, 2, 3, 4], "[[",
                  "[" * 99_999, "1 2 x")),
    case("P005", outline([BOW]), said="polygon crosses itself at (20, 25)",
         pointer="/annotations/0/segmentation/0"),
    # A ring around a hole.
    case("P005", outline([[0, 0, 40, 0, 40, 40, 0, 40, 0, 0, 10, 10, 10, 20, 20, 20, 20, 10, 10,
                           10]]), edits=[]),
    case("P006", outline(WIDE), said="outline extends 10 px beyond the right edge of its image"),
    case("P007", outline([RING], bbox=[10, 10, 25.5, 30]), values=[[10, 10, 20, 30]],
         said="right edge of bbox is at 35.5; expected 30"),
    case("P007", outline(SQUARE_MASK, bbox=[10, 10, 60, 30], area=600), said="at 70; expected 30",
         expected="30, the right edge of its outline",
         values=[[10, 10, 20, 30]]),
    case("P010", outline([RING, [14, 16, 26, 16, 26, 34, 14, 34]], area=600),
         settings={"select": ("B011", "P")},
         said="rings overlap by 216 px²; pycocotools fills them, 600 px²"),
    case("P010", outline([RING, [20, 10, 40, 10, 40, 40, 20, 40]], area=900, bbox=[10, 10, 30, 30]),
         settings={"select": ("B011", "P")},
         said="rings overlap by 300 px²; pycocotools fills them, 900 px²"),
    # An area without what rings share does not fit the outline that pycocotools fills.
    *(case("B011", outline([RING, other], area=filled - shared, bbox=[10, 10, width, 30]), edits=[],
           said=f"expected {filled}, the area of its outline") for other, width, filled, shared in (
        ([14, 16, 26, 16, 26, 34, 14, 34], 20, 600, 216),
        ([20, 10, 40, 10, 40, 40, 20, 40], 30, 900, 300),
    )),
]  # fmt: skip

MASKS = [
    case("R001", masks({**MASK, "size": [40, 50]}), said="mask has size [40, 50]; expected [80, 1"),
    *(case("R002", masks(mask)) for mask in (
        {}, {"size": [80, 100]}, {"counts": [8000]}, {**MASK, "counts": None},
        {**MASK, "counts": [8001, -1]}, {**MASK, "counts": "~~"}, {**MASK, "counts": "P"},
        {**MASK, "counts": []}, {**MASK, "counts": ""}, {**MASK, "size": [1 << 40, 1 << 40]},
        {**MASK, "size": "80x100"}, {**MASK, "counts": [10**400]},
    )),
    case("R003", masks(MASK, MASK, MASK, iscrowd=1), count=3,
         edits=[(f"/annotations/{n}/iscrowd", "replace", 0) for n in range(3)]),
    case("R003", of(UNMASKED, CVAT), edits=[("/annotations/1/iscrowd", "replace", 0)],
         said="iscrowd is 1 in 1 mask, all of them; expected"),
    *(case("R008", outline({"size": [80, 100], "counts": [8000]}, **more),
           said="mask has no pixels; expected", settings={"select": ("B001", "B011", "P", "R")})
      for more in ({}, {"bbox": [10, 10, 0, 0], "area": 0}, {"bbox": None, "area": 7})),
]  # fmt: skip

KEY_POINTS = [
    case("K001", pose(POINTS[:6]), said="keypoints has 6 numbers; expected 9", edits=[]),
    *(case("K001", pose(POINTS, wrong), said="expected 2, the points with a visibility above 0",
           edits=[("/annotations/0/num_keypoints", "replace", 2)])
      for wrong in (3, "2", None, 1.5, [2])),
    *(case("K001", pose(odd), said="keypoints is not a list of numbers; expected 9")
      for odd in ("text", {}, 7, ["a", 1, 2], [[1, 2, 2]])),
    # Labelled points in the corner may be left out of the number.
    case("K003", pose([12, 12, 2, 0, 0, 2, 20, 20, 1]), settings={"select": ("K001", "K003")}),
    case("K001", pose([12, 12, 2, 0, 0, 2, 20, 20, 1], 1)),
    *(case("K002", pose([*INSIDE[:5], seen, *INSIDE[6:]]), pointer="/annotations/0/keypoints/5",
           said=f"visibility of keypoint 2 is {seen}") for seen in (3, -1, 0.5)),
    *(case("K002", of({"keypoints": [16, 15, 9, 20, 20, 1], "category_id": 7}, categories=kinds),
           said="visibility of keypoint 1 is 9") for kinds in (ABSENT, [], [{"keypoints": ["a"]}])),
    case("K003", pose([*INSIDE[:3], 0, 0, 2, 0, 0, 0]), settings={"select": ("K",)},
         pointer="/annotations/0/keypoints/3", said="keypoint 2 is at (0, 0) with"),
    *(case("K004", pose([*INSIDE[:3], *point, 2, 0, 0, 0]), settings={"select": ("K",)}, said=said)
      for point, said in (
        ((405, 20), "5 px beyond the right edge of its image; expected it in or near"),
        ((20, -4), "4 px beyond the top edge of its image"),
        ((70, 20), "40 px beyond the right edge of its bbox"),
    )),
    *(case("K006", pose(INSIDE, skeleton=skeleton), settings={"select": ("K",)}, said=said)
      for skeleton, said in (
        ([[0, 1], [1, 2]], "skeleton joins keypoint 0; expected numbers from 1 to 3"),
        ([[1, 2], [3, 4]], "skeleton joins keypoint 4"), ([[1, -2]], "skeleton joins keypoint -2"),
    )),
]  # fmt: skip

CATEGORIES = [
    *(case("C001", two(ids=ids, used=()), pointer="/categories/1/id",
           said='is already used by category "cat"')
      for ids in ((1, 1), ("a", "a"), (1, "1"), (1, 1.0))),
    case("C001", two("cat", "cat", ids=(1, 1), used=(1,)), severity="warning", fix="safe",
         said='category "cat" is equal to an earlier one, /categories/0',
         edits=[("/categories/1", "remove", None)]),
    *(case("C003", two("cat", name), edits=[])
      for name in ("Cat", " cat", "cat  ", "CAT", "cat\u200b", "\ufeffcat")),
    case("C005", root(), fix="unsafe", edits=[("/categories/0", "remove", None)],
         settings={"select": ("C",)}),
    # Counted are the categories with such ids, and not the ids that are missing.
    *(case("C006", two(ids=ids), count=count, said=f"category ids go from {said}; expected 1 to 2")
      for ids, count, said in (
        ((0, 1), 1, "0 to 1"), ((1, 4), 1, "1 to 4"), ((10, 11), 2, "10 to 11"),
        ((7, 6_283_630_679), 2, "7 to 6,283,630,679"),
    )),
    case("C007", two(), two("oak", "elm"), severity="info", count=2, said="no name is in both"),
    *(case("C008", named(name), pointer="/categories/0/name")
      for name in ("", "  ", None, 3, [], {}, True)),
    *(case("C009", named(name, "dog"), said=" has invisible characters; expected")
      for name in ("c\u200bat", "\ufeffcat", "cat\n", "cat ", "a\tlight", "caf\u00ad\u00e9")),
    case("C010", tracked(*((n, {"track_id": 7, "category_id": 1 + (n == 3)}) for n in (1, 2, 3)),
                         categories=[{}, {}]), pointer="/annotations/2/category_id",
         said='category is "dog", but "cat" in most images of track "7"'),
]  # fmt: skip

NEAR = {"bbox": [10, 10, 20, 31]}
COLLECTION = [
    *(case("D001", of(extra, {"bbox": [50, 10, 9, 9]}, extra), pointer="/annotations/2",
           said="annotation is equal to annotation 1 in all but the id")
      for extra in (
        {}, {"note": [1, {"a": None}]}, {"rater": "ann"}, {"iscrowd": 1}, {"image_id": "a"},
        {"segmentation": [RING]}, {"bbox": "none", "segmentation": [RING]}, {"bbox": [0, 0, 0, 0]},
    )),
    # Each of two annotations may belong to another of the images or categories of one id.
    *(case("D001", of({}, {}, **{name: [{}, {"id": 1, "file_name": "b.jpg", "name": "dog"}]}),
           edits=[]) for name in ("images", "categories")),
    case("D002", of({"id": 5}, NEAR), pointer="/annotations/1/bbox", edits=[],
         said='bbox has an IoU of 0.968 with annotation 5, of the same category "cat"',
         examples=("/annotations/0", "/annotations/1")),
    case("D002", of({}, NEAR, images=[{"rater_list": ["ann"]}])),
    case("D003", of({}, {"category_id": 2, **NEAR}, categories=CAT_DOG),
         said='with annotation 1, which is "cat" and not "dog"'),
    case("D004", tracked(*((n, {"track_id": 7}) for n in (1, 1, 2))), pointer="/annotations/1",
         said='track "7" has annotation 1 in this image already'),
    case("D004", tracked(*[(1, {"attributes": {"track_id": 7}, "annotator": "ann"})] * 2)),
    case("Q001", of(*of_class(1, 12), *of_class(2, 3), *of_class(3, 2),
                    categories=[{}, {"name": "dog"}, {"name": "cow"}, {"name": "bee"}]), count=2,
         said='fewer than 10 annotations in 2 of 3 used categories: "cow" (2), "dog" (3)',
         severity="info", examples=("/categories/1", "/categories/2")),
    case("Q001", of(*of_class(1, 110), *of_class(2, 10), categories=CAT_DOG),
         said='category "cat" has 110 of 120 annotations; expected at most 90%'),
    case("Q003", on_images(3, 4, 5, 90, 3, 4, 5, 4), pointer="/images/3", ids={"image": 4},
         said="image has 90 annotations; the median of the annotated images is 4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "contents", "said", "settings", "fields"),
    [*ANNOTATORS, *FILES, *KEYS, *IDS, *NAMES, *BOXES, *OUTLINES, *MASKS, *KEY_POINTS, *CATEGORIES,
     *COLLECTION],
)  # fmt: skip
def test_a_defect_is_one_finding(code, contents, said, settings, fields):
    found = only(*contents, code=None if "select" in settings else code, **settings)
    assert found.code == code
    assert said in found.message
    edits = [(edit.pointer, edit.action, edit.value) for edit in found.edits]
    more = {"edits": edits, "values": [value for *_, value in edits]}
    assert {key: more.get(key, getattr(found, key, None)) for key in fields} == fields


def quiet(code, *contents, **settings):
    """Return what a rule finds nothing in; the first letters of codes stand for several."""
    return pytest.param(code, contents, settings, id=code)


CUT = '{"annotations": [{"id": 1, "image_id": 5}], "images": [{"id": 1}, {"id"'
ONE = {"rater": "ann", "note": "a", "segmentation": [[10, 10, 30, 10, 30, 40]]}
VOC_MARKS = {"occluded": True, "truncated": False, "difficult": False}
SHARED = {"images": [{}, {}], "categories": CAT_DOG}
QUIET = [
    *(quiet("A001", of(*records)) for records in (
        [{"annotator": "ann", "rater": "ann"}], [{}, {}], [],
        [{"annotator": "ann", "annotator_id": 1}, {"annotator": "bob", "annotator_id": 2}],
        [{"annotator": "ann", "annotator_id": 1}, {"annotator": "ann", "annotator_id": 2}],
        [{"annotator": "ann", "created_by": "admin"}, {"annotator": "bob", "created_by": "admin"}],
        [{"rater": 1}, {"rater": 2}], [{"rater": "1"}, {"rater": "2"}],
    )),
    *(quiet("A002", of({"rater": "ann"}, images=asked(names)))
      for names in (["ann"], {"ann": []}, [], None, ["ANN "], "ann", ["bob", "ann"])),
    quiet("A003", of(*drawn_by("ab", ""), images=asked(["a", "b"], ["a", "b"]))),
    *(quiet("A004", of(*set_of("ann"), *others, **SHARED)) for others in (
        set_of("bob", shift=1e-6), set_of("bob", 2), set_of("bob", 4), set_of("bob")[:2] * 2,
        set_of("bob", category_id=2), set_of("bob", image_id=2), set_of("ann"),
        set_of("bob", attributes={"rotation": 30}),
    )),
    quiet("F007", {}, large_file_mb=0.01),
    quiet("I001", with_ids(3, 1, 2)),
    quiet("I004", {"images": ABSENT}), quiet("I004", {"categories": {"1": "cat"}}),
    quiet("I004", referring("2", 1, 3)), quiet("I004", CUT), quiet("I007", CUT),
    quiet("I006", images("a", "x/a", "A")),
    *(quiet("S009", {"images": value}) for value in (None, 7, "text", True)),
    *(quiet("S002", {name: [{}, value, {}]}) for name in LISTS for value in (None, 7, "a", [1])),
    quiet("S009", {"info": None}),
    *(quiet("S010", row({}, {}, segmentation=value)) for value in (None, [], "", ABSENT)),
    *(quiet("S010", row({"segmentation": [[]]}, {"segmentation": e})) for e in (None, [], "")),
    quiet("M008", images("train/a.jpg", "train/b.jpg"), images("x/a.jpg", "x/c.jpg", width=6)),
    quiet("B", boxes([100, 10, 1e-10, 5]), select=("B002", "B003", "B004")),
    *(quiet(code, boxes([10, 10, 9, 1.5], [0, 0, 100, 3]), min_side_px=1, max_aspect_ratio=50)
      for code in ("B008", "B009")),
    # Areas of outlines that were left out.
    quiet("B011", boxes([10, 10, 20, 30], area=629)), quiet("B011", boxes(*PLAIN, area=70)),
    quiet("B011", outline([[80, 10, 130, 10, 130, 60, 80, 60]], bbox=[80, 10, 20, 50], area=1000)),
    quiet("P003", outline([RING])), quiet("P006", outline(WIDE), overshoot_px=10),
    quiet("P007", outline([RING], bbox=[9, 9, 22, 32])),
    quiet("P007", outline([RING], bbox=[10, 10, 25.5, 30]), bounds_px=6),
    quiet("P007", outline(SQUARE_MASK, bbox=[10, 10, 20, 30], area=600)),
    # A box may be the bounds of the part inside the image: the right side is cut at x = 100.
    quiet("P007", outline([[80, 10, 120, 30, 120, 40, 80, 40]], bbox=[80, 10, 20, 30])),
    quiet("P007", outline([[60, 40, 140, 0, 140, 80]], bbox=[60, 20, 40, 40])),
    quiet("P010", outline([RING, [30, 10, 50, 10, 50, 40, 30, 40]])),
    quiet("R001", masks(MASK)), quiet("R003", of(UNMASKED, CVAT, {**CVAT, "iscrowd": 0})),
    *(quiet("R003", of(UNMASKED, CVAT, {**CVAT, "attributes": attributes}))
      for attributes in (None, {}, {"occluded": "no"}, VOC_MARKS)),
    quiet("K", pose(POINTS)), quiet("K", pose(INSIDE)), quiet("K", pose([*INSIDE[:6], -5, -5, 0])),
    *(quiet("K", pose(INSIDE, skeleton=skeleton))
      for skeleton in (None, [], "1-2", [1, 2], [["a", "b"]], [[1, 3]], {})),
    *(quiet("C005", content) for content in (
        root(used=(0, 1, 2)), root(used=("0", 1, 2)), root(id=3), root(name=""), root(names=()),
        {"categories": [{"id": 0, "name": "cells"}, {"id": 1, "supercategory": "other"}]},
    )),
    quiet("C010", tracked((1, {"track_id": 7}), (2, {"track_id": 7, "category_id": 2}),
                          images=[{"video_id": 1}, {"video_id": 2}], categories=[{}, {}])),
    *(quiet("D001", of(ONE, {**ONE, **other}, **SHARED)) for other in (
        {"rater": "bob"}, {"note": "b"}, {"category_id": 2}, {"image_id": 2}, {"area": 599},
        {"bbox": [10, 10, 20, 30.5]}, {"segmentation": [[10, 10, 30, 10, 30, 41]]},
    )),
    *(quiet(code, of(left, {**NEAR, "category_id": kind, **right}, **SHARED))
      for code, kind in (("D002", 1), ("D003", 2)) for left, right in (
        ({"rater": "ann"}, {"rater": "bob"}), ({"image_id": 1}, {"image_id": 2}),
        ({"iscrowd": 1}, {}), ({}, {"bbox": [10, 10, 20, 34]}),
        ({"bbox": [10, 10, 0, 30]}, {"bbox": [10, 10, 0, 30], "note": 1}),
        ({"image_id": 9}, {"image_id": 9, "note": 1}), ({"image_id": 9}, {"image_id": [9]}),
        ({"bbox": None}, {"bbox": ["10", 10, 20, 30]}),
    )),
    quiet("D002", of({}, NEAR, images=[{"rater_list": ["ann", "bob"]}])),
    quiet("D002", of({}, {"category_id": 2, **NEAR}, categories=CAT_DOG)),
    quiet("D004", tracked(*((1, {"attributes": {"track_id": 7}, "annotator": e}) for e in "ab"))),
    quiet("Q001", of(*of_class(1, 90), *of_class(2, 10), categories=CAT_DOG)),
    quiet("Q003", on_images(*[1] * 12, *[9] * 8, n_images=20)),
]  # fmt: skip


@pytest.mark.parametrize(("code", "contents", "settings"), QUIET)
def test_what_is_no_defect_is_no_finding(code, contents, settings):
    assert not [each for each in codes(*contents, **settings) if each.startswith(code)]


CHANGES = [
    ("I001", with_ids(1, 5, 1, 4, 5), [("/annotations/2/id", 6), ("/annotations/4/id", 7)]),
    ("S004", {"info": ABSENT, "licenses": ABSENT}, [("/info", {}), ("/licenses", [])]),
    # Clipping does not make a box too small or too long, and leaves an outline its box.
    ("B003", boxes([99, 10, 20, 30]), []), ("B003", boxes([97, 10, 40, 69]), []),
    ("B003", boxes([85, 10, 25, 30], segmentation=WIDE), []),
    ("B011", boxes([10, 10, 0, 30], area=-4), []),
    # Two boxes of one image are half as large as their areas say.
    ("B011", of(*[{}] * 20, *({"bbox": [n, 9, n, 9], "area": 36 * n, "image_id": 2}
                              for n in (20, 30)), images=[{}, {}]), []),
    # No number is fixed safely where many boxes are in a wrong place.
    ("B004", boxes([80.5, 10, 20, 30], *([85, 10 * n, 40, 30] for n in range(5))), []),
    ("B011", boxes([10, 10, 20, 30], *([85, 10 * n, 40, 30] for n in range(5)), area=0), []),
    ("C001", {"categories": [{"id": 1, "name": name} for name in ("cat", "dog", "cat")]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("code", "content", "expected"), CHANGES)
def test_changes_that_findings_propose(code, content, expected):
    assert codes(content, select=(code,)) == {code}
    edits = edits_of(content, code, select=(code,))
    assert [(pointer, value) for pointer, _, value in edits] == expected
