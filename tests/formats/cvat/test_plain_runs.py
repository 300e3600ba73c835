"""Plain boxes of CVAT, which are read as columns: the same as with a parser."""

import numpy as np
import pytest
from support.cvat_xml import box, document, head, image, project, shape, track

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat.cvat import translate
from bboxqa.formats.translation.translated import Wanted


def columns(path):
    """Return what is read of a file, and how many boxes were read as columns."""
    fast = []
    translate(path, lambda *_: None, Wanted(in_full=False, add_boxes=fast.append))
    data = read_coco(path, min_annotators=1)
    each = data.annotations
    shown = each.shown_ids(np.arange(len(each)))
    rows = zip(each.image, each.annotator, each.category, each.bbox.tolist(), shown, strict=True)
    named = [
        (data.image_names[i], data.annotator_names[a], data.category_names[c], box, own)
        for i, a, c, box, own in rows
    ]
    return named, sum(map(len, fast))


def random_box(rng, **more):
    x, y, width, height = rng.uniform(0, 40, 4)
    label = str(rng.choice(["cat", "dog"]))
    return box(x, y, x + width, y + height, label, **more)


def images(rng, n=150, odd=lambda _: ""):
    return [
        image(f"{number}.jpg", *(random_box(rng) for _ in range(rng.integers(6))), odd(number))
        for number in range(n)
    ]


def compared(tmp_path, text):
    """Return how many boxes were read as columns, having compared them all."""
    # Nothing behind a comment is read as columns.
    commented = text.replace("<annotations>", "<annotations><!-- -->", 1)
    fast, slow = tmp_path / "fast" / "a.xml", tmp_path / "slow" / "a.xml"
    for each, written in ((fast, text), (slow, commented)):
        each.parent.mkdir(exist_ok=True)
        each.write_bytes(written.encode())
    found, n_fast = columns(fast)
    wanted, n_slow = columns(slow)
    assert found == wanted
    assert n_slow == 0
    return n_fast, len(found)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_images_are_the_same_with_and_without_a_parser(tmp_path, line_end):
    text = document(head("ann"), *images(np.random.default_rng(1))).replace("\n", line_end)
    n_fast, n_all = compared(tmp_path, text)
    assert n_fast == n_all


def test_other_shapes_between_plain_boxes_keep_their_order(tmp_path):
    def odd(number):
        return shape("polygon", points="1,2;3,4;5,9") if number in (20, 148) else ""

    parts = images(np.random.default_rng(2), 300, odd)
    n_fast, n_all = compared(tmp_path, document(head("ann"), *parts))
    assert 0 < n_fast < n_all


def test_boxes_with_more_to_say_are_read_by_the_parser(tmp_path):
    rng = np.random.default_rng(3)
    turned = image("turned.jpg", random_box(rng, rotation="30.00"))
    said = image("said.jpg", box(inside='<attribute name="a">b</attribute>'))
    parts = [
        *images(rng, 400),
        turned,
        said,
        image("a&amp;b.jpg", box()),
        *images(rng, 1),
    ]
    n_fast, n_all = compared(tmp_path, document(head("ann"), *parts))
    assert 0 < n_fast < n_all


def test_attributes_of_boxes_change_nothing(tmp_path):
    rng = np.random.default_rng(9)
    said = "".join(f'\n      <attribute name="a{n}">b c</attribute>' for n in range(2))
    boxes = [random_box(rng, inside=said if n % 3 else "") for n in range(900)]
    parts = [image(f"{n}.jpg", *boxes[3 * n : 3 * n + 3]) for n in range(300)]
    n_fast, n_all = compared(tmp_path, document(head("ann"), *parts))
    assert n_fast == n_all


def test_an_attribute_that_names_the_annotator_is_kept(tmp_path):
    rng = np.random.default_rng(10)
    said = '\n      <attribute name="annotator">ann</attribute>'
    parts = [image(f"{n}.jpg", random_box(rng, inside=said)) for n in range(200)]
    n_fast, n_all = compared(tmp_path, document(head("ann"), *parts))
    assert (n_fast, n_all) == (0, 200)


def test_tracks_are_the_same_with_and_without_a_parser(tmp_path):
    rng = np.random.default_rng(4)

    def frame(number):
        more = {"frame": number, "outside": int(rng.random() < 0.2), "keyframe": 1}
        return random_box(rng, **more).replace(' label="cat"', "").replace(' label="dog"', "")

    tracks = [track(n, *map(frame, range(n, n + 9)), label="dog") for n in range(60)]
    n_fast, n_all = compared(tmp_path, document(head("ann"), *tracks))
    assert n_fast == n_all


def test_people_of_a_project_and_images_annotated_twice(tmp_path):
    rng = np.random.default_rng(5)
    parts = [
        image(f"{n % 100}.jpg", random_box(rng), random_box(rng), task_id=1 + n % 3)
        for n in range(400)
    ]
    meta = project((1, "ann", ""), (2, "bob", ""), (3, "ann", ""))
    n_fast, n_all = compared(tmp_path, document(meta, *parts))
    assert n_fast == n_all


def test_what_a_machine_began_is_counted(tmp_path):
    path = tmp_path / "a.xml"
    rng = np.random.default_rng(6)
    parts = [image(f"{n}.jpg", *(random_box(rng) for _ in range(3))) for n in range(90)]
    path.write_text(document(head("ann"), *parts).replace("manual", "semi-auto"))
    assert any("machine" in each for each in read_coco(path, min_annotators=1).headlines)


def test_a_broken_number_among_plain_boxes_has_its_line(tmp_path):
    path = tmp_path / "a.xml"
    text = document(head("ann"), *images(np.random.default_rng(7)))
    before, found, after = text.rpartition('ytl="')
    path.write_text(f"{before}{found}x{after}")
    line = before.count("\n") + 1
    with pytest.raises(DatasetError, match=rf"a\.xml:{line}:1: T001 error box: ytl is 'x"):
        read_coco(path, min_annotators=1)


def test_blank_lines_at_the_end_are_nothing(tmp_path):
    compared(tmp_path, document(head("ann"), *images(np.random.default_rng(8), 9)) + "\n\n")


@pytest.mark.parametrize("value", [b"149.jpg", b"dog", b"manual"])
def test_broken_encodings_are_refused(tmp_path, value):
    path = tmp_path / "a.xml"
    text = document(head("ann"), *images(np.random.default_rng(8))).encode()
    before, found, after = text.rpartition(b'"%s"' % value)
    path.write_bytes(before + found.replace(b'"', b'"\xff', 1) + after)
    with pytest.raises(DatasetError, match="is XML that is not in utf-8: found byte 0xff"):
        read_coco(path, min_annotators=1)
