"""Memory of commands on small hostile files: at most 1 GB.

By default files are half as large; `make fuzz` takes them whole, and more of the random ones.
"""

import json
import os
from random import Random

import pytest
from support.forks import LIMITS, alone, forked
from support.rings import slanted_comb

FUZZ = "BBOXQA_FUZZ" in os.environ
SEEDS = int(os.environ.get("BBOXQA_FUZZ", "2"))
SHARE = 1 if FUZZ else 1 / 2
BYTES = 1 << 30


def of_size(number):
    """Return how many there are of something, of which a whole file has this number."""
    return round(SHARE * number)


def document(annotations, categories=2):
    return {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}],
        "categories": [{"id": i + 1, "name": f"c{i}"} for i in range(categories)],
        "annotations": [{"id": i + 1, "image_id": 1, **a} for i, a in enumerate(annotations)],
    }


def annotation(annotator, bbox, ring=None):
    outline = {} if ring is None else {"segmentation": [[round(v, 1) for v in ring]]}
    return {"category_id": 1, "bbox": bbox, "annotator": annotator, **outline}


def scribble(n, values, shift=0):
    return [values.random() * side + shift for _ in range(n) for side in (640, 480)]


def identical_boxes(n=7000):
    return document([annotation("ab"[i % 2], [10, 10, 50, 50]) for i in range(of_size(n))])


def boxes_that_overlap():
    values = Random(1)
    boxes = [[values.randint(0, 20), values.randint(0, 20), 300, 300] for _ in range(of_size(7000))]
    return document([annotation("a", box) for box in boxes])


def many_annotators():
    # About as many as are measured: more pairs are refused.
    boxes = [(f"p{i // 2}", [300 * (i % 2), 9, 50, 50]) for i in range(of_size(3700))]
    return document([annotation(*box) for box in boxes])


def one_scribble(n):
    ring = scribble(of_size(n), Random(1))
    moved = [value + 1 for value in ring]
    box = [0, 0, 640, 480]
    return document([annotation("a", box, ring), annotation("b", box, moved)])


def a_line_back_and_forth():
    values = Random(1)
    ring = [value for _ in range(of_size(3000)) for value in (values.random() * 640, 7)]
    return document([annotation(who, [0, 7, 640, 0], ring) for who in "ab"])


def many_scribbles():
    values = Random(1)
    box = [0, 0, 640, 480]
    rings = [scribble(30, values) for _ in range(of_size(150))]
    return document([annotation("ab"[i % 2], box, ring) for i, ring in enumerate(rings)])


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


def combs(n, n_vertices):
    ring = slanted_comb(of_size(n_vertices)).ravel()
    return document([annotation("ab"[i % 2], [0, 0, 640, 480], ring) for i in range(n)])


def with_list(name, records):
    """Return the text of a document with the text of some records in one of its lists."""
    lists = {"images": "", "categories": "", "annotations": "", name: records}
    return "{" + ", ".join(f'"{key}": [{value}]' for key, value in lists.items()) + "}"


def lists_repeated():
    return (
        '{"annotations": [], "categories": [], ' + '"images": [{}], ' * of_size(50_000) + '"a": 1}'
    )


def keys_at_the_top():
    return (
        with_list("images", "")[:-1] + "".join(f', "a{i}": 1' for i in range(of_size(70_000))) + "}"
    )


def keys_repeated_in_pairs():
    pairs = "".join(f'"a{i}": 1, "a{i}": 2, ' for i in range(of_size(35_000)))
    return with_list("annotations", "{" + pairs + '"id": 1}')


def control_characters():
    return with_list("annotations", '{"id": "\t"}, ' * of_size(60_000) + "{}")


def categories_of_one_name():
    records = (f'{{"id": {i}, "name": "a"}}' for i in range(of_size(35_000)))
    return with_list("categories", ", ".join(records))


def boxes_of_one_annotator():
    values = Random(2)
    boxes = (
        [values.randint(0, 30), values.randint(0, 30), 300, 300] for _ in range(of_size(16_000))
    )
    records = (f'{{"image_id": 1, "category_id": 1, "bbox": {box}}}' for box in boxes)
    image = '{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}'
    return with_list("annotations", ",".join(records)).replace("[]", f"[{image}]", 1)


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
    "identical boxes": identical_boxes,
    "boxes that overlap": boxes_that_overlap,
    "many annotators": many_annotators,
    "a ring of random points": lambda: one_scribble(400),
    "a long ring of random points": lambda: one_scribble(20_000),
    "a line back and forth": a_line_back_and_forth,
    "rings of 30 random points": many_scribbles,
    "2 combs": lambda: combs(2, 20_000),
    "40 combs": lambda: combs(40, 1_400),
    "a list again and again": lists_repeated,
    "many keys": keys_at_the_top,
    "many keys twice": keys_repeated_in_pairs,
    "control characters": control_characters,
    "categories of one name": categories_of_one_name,
    "boxes of one annotator": boxes_of_one_annotator,
}


def check(folder, content, *arguments, most=BYTES, expected=(0, 1, 2)):
    path = folder / "a.json"
    text = content if isinstance(content, str) else json.dumps(content)
    assert len(text.encode()) < 1_000_000
    path.write_text(text)
    done = forked(arguments[0], path, *arguments[1:], limits=LIMITS)
    assert done.returncode in expected, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert done.memory < most


@pytest.mark.parametrize("name", HOSTILE)
def test_small_hostile_files_are_validated(name, tmp_path):
    check(tmp_path, HOSTILE[name](), "validate")


def in_one_place(n, annotators, n_heights):
    values = Random(1)
    heights = [300 + (i % n_heights) / n for i in range(n)]
    boxes = [[values.randint(0, 20), values.randint(0, 20), 300, height] for height in heights]
    return document([annotation(annotators[i % len(annotators)], b) for i, b in enumerate(boxes)])


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
    path = tmp_path / "a.json"
    path.write_text(json.dumps(in_one_place(n, annotators, n_heights)))
    options = ("--no-checks", "--matcher", matcher)
    done = alone("agree", path, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.memory < BYTES


def test_eight_thousand_equal_boxes_are_measured(tmp_path):
    content = identical_boxes(8000 / SHARE)
    check(tmp_path, content, "agree", "--no-checks", most=1e9, expected=(0,))


@pytest.mark.parametrize("name", HOSTILE)
def test_small_hostile_files_are_measured(name, tmp_path):
    content = HOSTILE[name]()
    check(tmp_path, content, "agree")
    if "segmentation" in json.dumps(content):
        check(tmp_path, content, "agree", "--similarity", "polygon")


def scattered(n, annotators, box):
    values = Random(1)
    places = [(values.randint(0, 2000), values.randint(0, 2000)) for _ in range(n)]
    return document(
        [annotation(annotators[i % len(annotators)], box(x, y)) for i, (x, y) in enumerate(places)]
    )


def people(n):
    """Return people of two annotators, beside each other, whose key points do not match."""
    values = Random(2)
    content = scattered(n, "ab", lambda x, y: [x, y, 30, 30])
    content["categories"] = [{"id": 1, "name": "p", "keypoints": ["a", "b"]}]
    for each in content["annotations"]:
        x, y = each["bbox"][:2]
        points = [(x + values.randint(0, 30), y + values.randint(0, 30)) for _ in "ab"]
        each |= {"keypoints": [v for point in points for v in (*point, 2)], "num_keypoints": 2}
    return content


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (lambda: scattered(6000, "abc", lambda x, y: [x, y, 12, 9]), ()),
        (lambda: people(4000), ("--similarity", "keypoints", "--sigmas", "0.05")),
    ],
    ids=["boxes", "people"],
)
def test_an_image_of_many_objects_is_diagnosed(content, options, tmp_path):
    check(tmp_path, content(), "agree", "--no-checks", "--diagnose", *options, expected=(0,))


def test_an_image_of_many_annotators_is_written_within_its_memory(tmp_path):
    # A row for each two of 1,200 annotators took 2.4 GB, and most of the time finding groups.
    boxes = [(f"p{i}", [50 * (i % 40), 50 * (i // 40), 40, 40]) for i in range(of_size(1200))]
    out = ("--out", tmp_path / "made")
    content = document([annotation(*each) for each in boxes])
    check(tmp_path, content, "agree", "--diagnose", "--no-checks", *out, expected=(0,))


def annotators_of_one_image(n):
    """Return a box of each annotator, in places so near that many boxes match in chains."""
    return scattered_in(600, 440, n, lambda i: f"p{i}")


def annotators_of_images(n=9000, n_images=100):
    """Return crowded images of which each annotator has three."""
    values = Random(1)
    content = scattered_in(20, 0, of_size(n), lambda i: f"p{i // 3}")
    content["images"] = [
        {"id": k + 1, "file_name": f"{k}.jpg", "width": 640, "height": 480} for k in range(n_images)
    ]
    for each in content["annotations"]:
        each["image_id"] = values.randint(1, n_images)
    return content


def scattered_in(width, height, n, name):
    values = Random(1)
    places = [(values.randint(0, width), values.randint(0, height)) for _ in range(n)]
    return document([annotation(name(i), [*place, 30, 30]) for i, place in enumerate(places)])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lambda: annotators_of_one_image(2500), 0),
        (lambda: annotators_of_one_image(9000), 2),
        (annotators_of_images, 0),
    ],
    ids=["2,500 annotators", "9,000 annotators", "annotators of many images"],
)
def test_pairs_of_very_many_annotators_are_bounded(content, expected, tmp_path):
    # Tables of all pairs, and of all objects and annotators, took 6.8 GB.
    check(tmp_path, content(), "agree", "--no-checks", expected=(expected,))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_files_are_read(seed, tmp_path):
    content = random_document(seed)
    check(tmp_path, content, "validate")
    check(tmp_path, content, "agree")
    check(tmp_path, content, "agree", "--similarity", "polygon")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_repeated_pieces_of_json_are_read(seed, tmp_path):
    content = random_text(seed)
    check(tmp_path, content, "validate")
    check(tmp_path, content, "agree")
