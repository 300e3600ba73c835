"""Joining images of several files whose names differ."""

import json

import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.pipelines.read import read_coco

HASH = ".rf.0123456789abcdef0123456789abcdef"


def files(tmp_path, **names):
    """Return files, each with an image of each name and a box on it."""
    for who, own in names.items():
        images = [image(number, file_name=name) for number, name in enumerate(own, 1)]
        boxes = [annotation(number, number) for number in range(1, len(own) + 1)]
        write(tmp_path / f"{who}.json", document(boxes, images))
    return [tmp_path / f"{who}.json" for who in names]


@pytest.mark.parametrize(
    ("by", "ann", "bob"),
    [
        ("name", ["train/a.jpg", "train/b.jpg"], ["b.jpg", "a.jpg"]),
        ("stem", [f"a_jpg{HASH}.jpg", "x/b.png"], ["a.jpg", "b.jpg"]),
    ],
)
def test_images_are_joined_as_asked(tmp_path, by, ann, bob):
    both = files(tmp_path, ann=ann, bob=bob)
    data = read_coco(both, join=by)
    assert len(data.image_names) == 2
    assert data.assigned.all()
    with pytest.raises(NothingToCompareError) as caught:
        read_coco(both)
    advice = f"Images are joined by file_name: --join {by} would join 2 more images, such as '"
    assert advice in caught.value.advice


def test_names_of_both_unicode_forms_join(tmp_path):
    composed, decomposed = "M\xfcnchen.jpg", "Mu\u0308nchen.jpg"
    both = files(tmp_path, ann=[composed, "a.jpg"], bob=["a.jpg", decomposed])
    data = read_coco(both)
    assert data.image_names == (composed, "a.jpg")
    assert data.assigned.all()
    # As the first file spells it, by which its picture is found.
    other = read_coco(files(tmp_path, ann=[decomposed, "x/a.jpg"], bob=["a.jpg", composed]))
    assert other.image_names == (decomposed, "a.jpg", "x/a.jpg")
    by_name = read_coco(
        files(tmp_path, ann=[f"x/{decomposed}", "a.jpg"], bob=["a.jpg", composed]), join="name"
    )
    assert by_name.image_names == (decomposed, "a.jpg")
    twice = read_coco(files(tmp_path, cid=[composed, decomposed], dan=[composed, decomposed]))
    assert len(twice.image_names) == 2
    other = ["\xe9.jpg", "e\u0301.jpg"]
    one = read_coco(files(tmp_path, eve=[composed, other[0]], fay=[composed, decomposed, other[1]]))
    assert one.image_names == (decomposed, composed, other[0])
    assert one.assigned.sum(1).tolist() == [1, 2, 2]


def test_ambiguous_names_are_refused_with_examples(tmp_path):
    ann = [f"{folder}/{n}.jpg" for folder in ("x", "y") for n in range(5)]
    both = files(tmp_path, ann=ann, bob=["0.jpg"])
    with pytest.raises(DatasetError) as caught:
        read_coco(both, join="name")
    lines = str(caught.value).splitlines()
    assert lines[0] == "5 problems:"
    assert "images 'x/0.jpg' and 'y/0.jpg' have one name, '0.jpg'" in lines[1]
    assert len([line for line in lines if "have one name" in line]) == 3
    assert lines[-1] == "Images cannot be joined by name; use --join path."


def test_few_joined_images_are_a_headline_with_what_helps(tmp_path):
    both = files(tmp_path, ann=["a.jpg", "x/b.jpg", "x/c.jpg"], bob=["a.jpg", "b.jpg", "c.jpg"])
    headline = (
        "only 1 image of 5 joined: --join name would join 2 more images, such as "
        "'x/b.jpg' = 'b.jpg', 'x/c.jpg' = 'c.jpg'"
    )
    assert read_coco(both).headlines == (headline,)
    assert read_coco(both, join="name").headlines == ()
    lines = run("agree", *both).stdout.splitlines()
    assert lines.index(f"Warning: {headline}") < lines.index("")
    assert not any(line.startswith(" Note: only 1 image") for line in lines)
    values = json.loads(run("agree", *both, "--format", "json").stdout)
    assert values["notes"][0] == headline
