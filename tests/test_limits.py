"""Memory of commands on small hostile files, of COCO and of annotation tools: at most 1 GB.

By default files are half as large; `make fuzz` takes them whole, and more of the random ones.
"""

import base64
import io
import json
import os
import zlib
from random import Random

import pytest
from PIL import Image
from support.cvat_xml import image, shape
from support.datasets import document_of
from support.forks import LIMITS, alone, forked
from support.rings import slanted_comb

FUZZ = "BBOXQA_FUZZ" in os.environ
SEEDS = int(os.environ.get("BBOXQA_FUZZ", "2"))
SHARE = 1 if FUZZ else 1 / 2
BYTES = 1 << 30
WHOLE = [0, 0, 640, 480]


def of_size(number):
    """Return how many there are of something, of which a whole file has this number."""
    return round(SHARE * number)


def document(rows, categories=2):
    names = [f"c{number}" for number in range(categories)]
    return document_of(rows, ["a.jpg"], names, size=(640, 480))


def annotation(annotator, bbox, ring=None):
    outline = {} if ring is None else {"segmentation": [[round(v, 1) for v in ring]]}
    return 1, annotator, 1, bbox, outline


def drawn(people, boxes, rings=None):
    """Return a document of boxes, and outlines, by people in turns."""
    rings = rings or [None] * len(boxes)
    pairs = enumerate(zip(boxes, rings, strict=True))
    return document([annotation(people[i % len(people)], *each) for i, each in pairs])


def scribble(n, values, shift=0):
    return [values.random() * side + shift for _ in range(n) for side in (640, 480)]


def overlapping(n, most=20, heights=(300,)):
    """Return boxes in nearly one place."""
    values = Random(1)
    places = [[values.randint(0, most), values.randint(0, most)] for _ in range(n)]
    return [[*place, 300, heights[i % len(heights)]] for i, place in enumerate(places)]


def one_scribble(n):
    ring = scribble(of_size(n), Random(1))
    return drawn("ab", [WHOLE] * 2, [ring, [value + 1 for value in ring]])


def a_line_back_and_forth():
    values = Random(1)
    ring = [value for _ in range(of_size(3000)) for value in (values.random() * 640, 7)]
    return drawn("ab", [[0, 7, 640, 0]] * 2, [ring] * 2)


def many_scribbles():
    values = Random(1)
    rings = [scribble(30, values) for _ in range(of_size(150))]
    return drawn("ab", [WHOLE] * len(rings), rings)


def combs(n, n_vertices):
    return drawn("ab", [WHOLE] * n, [slanted_comb(of_size(n_vertices)).ravel()] * n)


def random_document(seed):
    """Return annotations of random kinds, numbers and outlines, in one image."""
    values = Random(seed)
    sizes = [0, 1e-9, 1, 50, 640, 1e6]
    result = []
    for _ in range(values.choice([3, 100, of_size(1500)])):
        box = [values.random() * values.choice(sizes) for _ in range(4)]
        ring = None
        if values.random() < 0.5:
            ring = scribble(values.choice([3, 4, 12, 40]), values, values.choice([-100, 0, 1e5]))
        result.append(annotation(f"p{values.randint(0, 5)}", box, ring))
    return document(result, values.choice([1, 2, 500]))


def with_list(name, records):
    """Return the text of a document with the text of some records in one of its lists."""
    lists = {"images": "", "categories": "", "annotations": "", name: records}
    return "{" + ", ".join(f'"{key}": [{value}]' for key, value in lists.items()) + "}"


def keys_repeated_in_pairs():
    pairs = "".join(f'"a{i}": 1, "a{i}": 2, ' for i in range(of_size(35_000)))
    return with_list("annotations", "{" + pairs + '"id": 1}')


def boxes_of_one_annotator():
    boxes = overlapping(of_size(16_000), 30)
    records = ",".join(f'{{"image_id": 1, "category_id": 1, "bbox": {box}}}' for box in boxes)
    record = '{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}'
    return with_list("annotations", records).replace("[]", f"[{record}]", 1)


PIECES = [
    "{", "}", "[", "]", ",", ":", '"', '"a"', '"id": 1', '"bbox": [1, 2, 3, 4]', '"name": "a"',
    '"segmentation": [[1, 2, 3, 4, 5, 6]]', '{"id": 1}', "{}", "[]", "null", "NaN", "1e999", "-1",
    "9" * 30, "\\", "\\u0000", "\t", "\n", "/*", "\x00", "é", "'", " ",
]  # fmt: skip


def random_text(seed):
    """Return a document in which random pieces of json are repeated very often."""
    values = Random(seed)
    piece = "".join(values.choice(PIECES) for _ in range(values.randint(1, 4)))
    piece += values.choice(["", ",", ", "])
    repeated = piece * (values.choice([30_000, of_size(900_000)]) // len(piece.encode()))
    name = values.choice(["images", "annotations", "categories"])
    return values.choice(
        [
            with_list(name, repeated),
            with_list(name, "{" + repeated + '"a": 1}'),
            with_list(name, '{"id": 1, "bbox": [' + repeated + "1]}"),
            with_list(name, '{"id": "' + repeated + '"}'),
            with_list(name, "")[:-1] + ", " + repeated + '"a": 1}',
            repeated,
        ]
    )


HOSTILE = {
    "identical boxes": lambda: drawn("ab", [[10, 10, 50, 50]] * of_size(7000)),
    "boxes that overlap": lambda: drawn("a", overlapping(of_size(7000))),
    # About as many as are measured: more pairs are refused.
    "many annotators": lambda: document(
        [annotation(f"p{i // 2}", [300 * (i % 2), 9, 50, 50]) for i in range(of_size(3700))]
    ),
    "a ring of random points": lambda: one_scribble(400),
    "a long ring of random points": lambda: one_scribble(20_000),
    "a line back and forth": a_line_back_and_forth,
    "rings of 30 random points": many_scribbles,
    "2 combs": lambda: combs(2, 20_000),
    "40 combs": lambda: combs(40, 1_400),
    "a list again and again": lambda: (
        '{"annotations": [], "categories": [], ' + '"images": [{}], ' * of_size(50_000) + '"a": 1}'
    ),
    "many keys": lambda: (
        with_list("images", "")[:-1] + "".join(f', "a{i}": 1' for i in range(of_size(70_000))) + "}"
    ),
    "many keys twice": keys_repeated_in_pairs,
    "control characters": lambda: with_list(
        "annotations", '{"id": "\t"}, ' * of_size(60_000) + "{}"
    ),
    "categories of one name": lambda: with_list(
        "categories", ", ".join(f'{{"id": {i}, "name": "a"}}' for i in range(of_size(35_000)))
    ),
    "boxes of one annotator": boxes_of_one_annotator,
}


def check(folder, content, *arguments, most=BYTES, expected=(0, 1, 2), name="a.json"):
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    assert len(text.encode()) < 1_000_000
    path.write_text(text)
    done = forked(arguments[0], path, *arguments[1:], limits=LIMITS)
    assert done.returncode in expected, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert done.memory < most
    return done


def check_all(folder, content, *similarities):
    """Check a file of any kind: in which boxes, and perhaps outlines, are compared."""
    check(folder, content, "validate")
    check(folder, content, "agree")
    for similarity in similarities:
        check(folder, content, "agree", "--similarity", similarity)


@pytest.mark.parametrize("name", HOSTILE)
def test_small_hostile_files_are_read(name, tmp_path):
    content = HOSTILE[name]()
    check_all(tmp_path, content, *["polygon"] * ("segmentation" in json.dumps(content)))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_files_are_read(seed, tmp_path):
    check_all(tmp_path, random_document(seed), "polygon")
    check_all(tmp_path, random_text(seed))


@pytest.mark.parametrize(
    ("matcher", "annotators", "n", "n_heights"),
    [
        # Each matcher, and each number of annotators; boxes of one height have equal similarities.
        ("recursive", "ab", 4000, 4000),
        ("greedy", "abc", 4000, 1),
        ("average", "abc", 3600, 3600),
    ],
)
def test_one_crowded_image_is_measured(matcher, annotators, n, n_heights, tmp_path):
    heights = [300 + i / n for i in range(n_heights)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(drawn(annotators, overlapping(n, heights=heights))))
    done = alone("agree", path, "--no-checks", "--matcher", matcher)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.memory < BYTES


def scattered(width, height, n, size, name):
    """Return a box of each name, in random places."""
    values = Random(1)
    places = [(values.randint(0, width), values.randint(0, height)) for _ in range(n)]
    return document([annotation(name(i), [*place, *size]) for i, place in enumerate(places)])


def people(n):
    """Return people of two annotators, beside each other, whose key points do not match."""
    values = Random(2)
    content = scattered(2000, 2000, n, (30, 30), lambda i: "ab"[i % 2])
    content["categories"] = [{"id": 1, "name": "p", "keypoints": ["a", "b"]}]
    for each in content["annotations"]:
        x, y = each["bbox"][:2]
        points = [(x + values.randint(0, 30), y + values.randint(0, 30)) for _ in "ab"]
        each |= {"keypoints": [v for point in points for v in (*point, 2)], "num_keypoints": 2}
    return content


def in_chains(n):
    """Return a box of each annotator, in places so near that many boxes match in chains."""
    return scattered(600, 440, n, (30, 30), lambda i: f"p{i}")


def in_many_images(n=9000, n_images=100):
    """Return crowded images of which each annotator has three."""
    values = Random(1)
    content = scattered(20, 0, of_size(n), (30, 30), lambda i: f"p{i // 3}")
    content["images"] = document_of([], n_images, size=(640, 480))["images"]
    for each in content["annotations"]:
        each["image_id"] = values.randint(1, n_images)
    return content


def beside_each_other(n):
    """Return a box of each annotator, in places of its own."""
    places = [(f"p{i}", [50 * (i % 40), 50 * (i // 40), 40, 40]) for i in range(n)]
    return document([annotation(*each) for each in places])


KEY_POINTS = ("--similarity", "keypoints", "--sigmas", "0.05")
MANY = {
    # 16 million pairs: refused.
    "8,000 equal boxes": (lambda: drawn("ab", [[10, 10, 50, 50]] * 8000), (), 2),
    "4,900 equal boxes": (lambda: drawn("ab", [[10, 10, 50, 50]] * 4900), (), 0),
    "6,000 boxes": (
        lambda: scattered(2000, 2000, 6000, (12, 9), lambda i: "abc"[i % 3]), ("--diagnose",), 0
    ),
    "4,000 people": (lambda: people(4000), ("--diagnose", *KEY_POINTS), 0),
    # A row for each two of 1,200 annotators took 2.4 GB, and most of the time finding groups.
    "1,200 annotators": (lambda: beside_each_other(1200 if FUZZ else 300), ("--diagnose",), 0),
    # Tables of all pairs, and of all objects and annotators, took 6.8 GB.
    "2,500 annotators": (lambda: in_chains(2500), (), 0),
    "9,000 annotators": (lambda: in_chains(9000), (), 2),
    "annotators of many images": (in_many_images, (), 0),
}  # fmt: skip


# Rows for each two of 300 took 150 MB more than is left here.
MOST = {} if FUZZ else {"1,200 annotators": 300e6}


@pytest.mark.parametrize("name", MANY)
def test_many_objects_or_annotators_are_measured(name, tmp_path):
    content, options, expected = MANY[name]
    out = ("--out", tmp_path / "made") if "--diagnose" in options else ()
    given = ("agree", "--no-checks", *options, *out)
    check(tmp_path, content(), *given, most=MOST.get(name, 1e9), expected=(expected,))


# Masks of annotation tools.


def cvat(n, runs, width, height):
    place = {"left": 0, "top": 0, "width": width, "height": height}
    masks = [shape("mask", rle=runs, **place)] * n
    return f"<annotations>{image('a.jpg', *masks, width=width, height=height)}</annotations>"


def darwin(n, width, height, runs):
    slot = {"slot_name": "0", "type": "image", "width": width, "height": height}
    layer = {"dense_rle": runs, "mask_annotation_ids_mapping": {"m": 1}}
    masks = [{"id": "m", "name": "cat", "mask": {}}] * n
    return {
        "version": "2.0", "item": {"name": "a.jpg", "path": "/", "slots": [slot]},
        "annotations": [{"id": "r", "raster_layer": layer}, *masks],
    }  # fmt: skip


def brush(width, height):
    """Return a mask that alternates between inside and outside in the longest runs."""
    left = 4 * width * height
    bits = [f"{left:032b}{7:05b}{2:04b}{3:04b}{7:04b}{15:04b}"]
    while left:
        n = min(left, 1 << 16)
        bits.append(f"111{n - 1:016b}{255 * (len(bits) % 2):08b}")
        left -= n
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    numbers = [*int(text, 2).to_bytes(len(text) // 8, "big")]
    value = {"format": "rle", "rle": numbers, "brushlabels": ["cat"]}
    size = {"original_width": width, "original_height": height}
    result = [{"id": "q", "type": "brushlabels", **size, "value": value}]
    work = [{"id": 1, "completed_by": 1, "result": result}]
    return [{"id": 1, "data": {"image": "a.jpg"}, "annotations": work}]


def picture(side):
    data = io.BytesIO()
    Image.new("1", (side, side), 1).save(data, "PNG")
    return data.getvalue()


def labelme(n, side):
    mask = base64.b64encode(picture(side)).decode()
    corners = [[0, 0], [side - 1, side - 1]]
    drawn = {"label": "cat", "points": corners, "shape_type": "mask", "mask": mask}
    size = {"imageWidth": side, "imageHeight": side}
    return {"version": "5.2.1", "imagePath": "a.jpg", **size, "shapes": [drawn] * n}


def supervisely(n, side):
    data = base64.b64encode(zlib.compress(picture(side), 9)).decode()
    bitmap = {"origin": [0, 0], "data": data}
    drawn = {"id": 1, "classTitle": "cat", "geometryType": "bitmap", "bitmap": bitmap}
    size = {"width": side, "height": side}
    return {"description": "", "tags": [], "size": size, "objects": [drawn] * n}


STRIPES = [each for i in range(50) for each in (i % 2, 20_000)]
MASKS = {
    # Pixels of the first took 40 bytes each, and of the second 16 GB in all.
    "a mask of CVAT.xml": lambda: cvat(1, "0,1600000000", 40_000, 40_000),
    "masks of CVAT.xml": lambda: cvat(10_000, "0,400000000", 20_000, 20_000),
    "wide masks of CVAT.xml": lambda: cvat(10_000, "0,1000000,1000000", 1_000_000, 2),
    "a mask of Darwin.json": lambda: darwin(1, 40_000, 40_000, [1, 1_600_000_000]),
    "masks of Darwin.json": lambda: darwin(20_000, 20_000, 50, STRIPES),
    "a brush of Label Studio.json": lambda: brush(30_000, 30_000),
    "a mask of LabelMe.json": lambda: labelme(1, 12_000),
    "masks of LabelMe.json": lambda: labelme(30, 8_000),
    "a mask of Supervisely.json": lambda: supervisely(1, 12_000),
    "masks of Supervisely.json": lambda: supervisely(1000, 8_000),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_take_memory_for_their_runs_alone(name, tmp_path):
    done = check(tmp_path, MASKS[name](), "validate", expected=(0, 1), name=name)
    assert done.stderr == ""


def test_an_ordinary_mask_takes_little_memory(tmp_path):
    # It took 528 MB: 40 bytes for each pixel.
    runs = ",".join(["500"] + ["3000,1000"] * 2999 + ["3000,500"])
    content = cvat(1, runs, 4000, 3000)
    done = check(tmp_path, content, "validate", most=200e6, expected=(0,), name="a.xml")
    assert done.stderr == ""
