"""Parts of a data set: by image, by groups, in each format."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import run
from support.converted import written
from support.datasets import annotation, document, image

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.formats.writing.content import Content, Parts

PARTS = ("--parts", "train=0.8,val=0.2")
HALVES = (("train", 0.5), ("val", 0.5))


def coco(n_images, per_video=1):
    """Return a data set of two people, with videos of some images."""
    videos = {n: n // per_video for n in range(1, n_images + 1)}
    images = [image(n, f"v{video}/{n}.jpg", video_id=video) for n, video in videos.items()]
    drawn = [
        annotation(2 * n + k, n, bbox=[n, k, 9, 8], annotator=who)
        for n in videos
        for k, who in enumerate(("ann", "bob"))
    ]
    return document(drawn, images, [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}])


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(0, 5))
def test_groups_stay_whole_and_parts_do_not_depend_on_the_order(videos, seed):
    images = [{"id": n, "file_name": f"{n}.jpg", "v": {"id": v}} for n, v in enumerate(videos)]
    parts = Parts(HALVES, seed, "v.id")
    if len({*videos}) < 2:
        with pytest.raises(ConfigError, match="part val gets no image: there are 1 group of"):
            parts.of_images(Content(images, [], []))
        return
    found = parts.of_images(Content(images, [], []))
    assert len({(image["v"]["id"], found[image["id"]]) for image in images}) == len({*videos})
    assert found == parts.of_images(Content(images[::-1], [], []))
    # A greedy division is off by at most half of the largest group.
    n_of = Counter(found.values())
    assert abs(n_of["train"] - n_of["val"]) <= max(Counter(videos).values())


def test_copies_of_an_image_stay_together_and_are_told_where_they_do_not(tmp_path):
    path = tmp_path / "a.json"
    names = [f"{n}_jpg.rf.{n:04}{k:020}.jpg" for n in range(10) for k in range(3)]
    images = [image(n, name) for n, name in enumerate(names, 1)]
    path.write_text(json.dumps(document([annotation(1, 1)], images, [{"id": 1, "name": "cat"}])))
    told = "in several parts are copies by their names: --group-by stem keeps those of one original"
    for group_by, is_told in ((None, True), ("stem", False)):
        out = tmp_path / str(group_by)
        found = bboxqa.convert(path, out, to="coco", parts=dict(HALVES), group_by=group_by)
        assert any(told in note for note in found.notes) is is_told
        parts = [json.loads(each.read_text())["images"] for each in sorted(out.iterdir())]
        stems = [{each["file_name"].partition("_")[0] for each in part} for part in parts]
        assert stems[0].isdisjoint(stems[1]) is not is_told


def test_shares_of_single_images_are_exact_and_seeds_differ():
    content = Content(coco(20)["images"], [], [])
    found = [
        Parts((("train", 0.7), ("val", 0.2), ("test", 0.1)), s).of_images(content) for s in (1, 2)
    ]
    assert Counter(found[0].values()) == {"train": 14, "val": 4, "test": 2}
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("shares", "group_by", "words"),
    [
        ((("train", 0.8), ("val", 0.1)), None, "parts are train=0.8,val=0.1; expected shares"),
        ((("train", 1.0),), None, "such as train=0.8,val=0.2"),
        ((("a", 0.5), ("a", 0.5)), None, "expected shares that"),
        ((("../a", 0.5), ("b", 0.5)), None, "expected shares that"),
        ((("a", 1.5), ("b", -0.5)), None, "expected shares that"),
        ((("a", 0.5), ("b", float("nan"))), None, "expected shares that"),
        (HALVES, "patient", r"image v1/1.jpg has no text or number 'patient' to group by;"),
        ((("a", 0.99), ("b", 0.01)), "folder", "part b gets no image: there are 2 groups of 2"),
    ],
)  # fmt: skip
def test_what_is_no_division_is_refused(shares, group_by, words):
    with pytest.raises(ConfigError, match=words):
        Parts(shares, 0, group_by).of_images(Content(coco(2)["images"], [], []))


@pytest.mark.parametrize(
    ("to", "train"),
    [
        ("coco", "train.json"), ("label-studio", "train.json"), ("csv", "train.csv"),
        ("voc", "train"), ("cvat", "train"),
    ],
)  # fmt: skip
def test_parts_of_formats_hold_all_images_once(tmp_path, to, train):
    path = written(tmp_path / "a.json", coco(10, per_video=2))
    out = tmp_path / "out"
    made = bboxqa.convert(
        path, out, to=to, lossy=True, parts={"train": 0.8, "val": 0.2}, group_by="video_id", seed=1
    )
    assert any(note.startswith("images of parts, drawn by groups of") for note in made.notes)
    names = []
    for part in (train, train.replace("train", "val")):
        data = bboxqa.read_coco(out / part)
        names.append({*data.image_names})
        assert sorted(data.annotator_names) == ["ann", "bob"]
        assert len(data.annotations) == 2 * len(data.image_names)
    assert len(names[0] | names[1]) == 10
    assert not {each[:2] for each in names[0]} & {each[:2] for each in names[1]}


def test_data_yaml_names_the_lists_of_parts_or_says_that_they_are_one(tmp_path):
    path = written(tmp_path / "a.json", coco(10))
    done = run("convert", path, tmp_path / "y", "--to", "yolo", "--lossy", *PARTS)
    assert done.returncode == 0
    assert (tmp_path / "y/ann/data.yaml").read_text().startswith("train: train.txt\nval: val.txt\n")
    listed = [(tmp_path / f"y/ann/{part}.txt").read_text().split() for part in ("train", "val")]
    assert [len(each) for each in listed] == [8, 2]
    assert (tmp_path / "y/bob/val.txt").read_text().split() == listed[1]
    assert not [e for e in bboxqa.validate(tmp_path / "y/ann").findings if e.code == "T025"]
    done = run("convert", path, tmp_path / "same", "--to", "yolo", "--lossy")
    assert "Note: data.yaml trains and validates on the same images" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seed", "1"), "--seed and --group-by go with --parts"),
        (("--parts", "train=x"), "--parts is 'train=x'; expected train=0.8,val=0.2"),
        (("--parts", "train=0.9,test=0.1"), "YOLO detect needs the parts train and val"),
        (("--image-suffix", "jpg"), "image suffix is 'jpg'; expected such as .jpg"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options, words):
    path = written(tmp_path / "a.json", coco(3))
    done = run("convert", path, tmp_path / "out", "--to", "yolo", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", ["b.png", "a.jpg"])
def test_names_without_a_suffix_get_one_unless_another_image_has_it(tmp_path, other):
    content = coco(2)
    for each, name in zip(content["images"], ("a", other), strict=True):
        each["file_name"] = name
    path, out = written(tmp_path / "a.json", content), tmp_path / "out.json"
    made = run("convert", path, out, "--to", "coco", "--image-suffix", ".jpg")
    if other == "a.jpg":
        assert "with .jpg, 2 images are called 'a.jpg'" in made.stderr
        return
    names = [each["file_name"] for each in json.loads(out.read_text())["images"]]
    assert names == ["a.jpg", "b.png"]
