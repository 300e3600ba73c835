"""People who are named by the files: which are taken, and which are refused with what to type."""

import json
import re

import pytest
from support.datasets import annotation, document, image, write

from bboxqa import convert, validate
from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.sources import listed, sources_of
from bboxqa.model.annotations import Choices

FIRST, SECOND = [0, 1, 2, 3], [4, 5, 6, 7]


def coco(path, images, x=0, **keys):
    """Write COCO JSON with a box in each image."""
    boxes = [annotation(n, n, bbox=[x + n, 5, 20, 20], **keys) for n in images]
    return write(path, document(boxes, [image(n, width=100, height=100) for n in images]))


def cvat(path, images, x=0, assignee=""):
    """Write a job of CVAT with a box in each image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    who = f"<username>{assignee}</username>" if assignee else ""
    inside = "".join(
        f'<image id="{n}" name="{n}.jpg" width="100" height="100"><box label="cat" '
        f'xtl="{x + n}" ytl="5" xbr="{x + n + 20}" ybr="25"></box></image>'
        for n in images
    )
    meta = f"<meta><job><id>1</id><assignee>{who}</assignee></job></meta>"
    path.write_text(f"<annotations><version>1.1</version>{meta}{inside}</annotations>")
    return path


def labelme(folder, images, x=0):
    """Write files of LabelMe with a box each."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in images:
        shape = {"label": "cat", "points": [[x, 5], [x + 20, 25]], "shape_type": "rectangle"}
        size = {"imageWidth": 100, "imageHeight": 100}
        content = {"version": "5", "shapes": [shape], "imagePath": f"{n}.jpg", **size}
        (folder / f"{n}.json").write_text(json.dumps(content))
    return folder


def yolo(folder, images, x=0.5):
    """Write labels of YOLO with a box each."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in images:
        (folder / f"{n}.txt").write_text(f"0 {x} 0.5 0.2 0.2\n")
    return folder


def lines(error):
    """Return the files in the lines of an error that name annotators."""
    return re.findall(r"--annotator NAME=(\S+)", error.value.advice)


def test_jobs_of_nobody_in_groups_of_images_are_refused_with_lines_to_edit(tmp_path):
    for n in range(3):
        cvat(tmp_path / f"job{n}.xml", FIRST, n)
        cvat(tmp_path / f"job{n + 3}.xml", SECOND, n)
    with pytest.raises(NothingToCompareError, match="2 groups that share no image") as error:
        read_dataset(tmp_path)
    assert lines(error) == [str(tmp_path / f"job{n}.xml") for n in range(6)]
    assert "CVAT names the assignee of a job" in error.value.advice
    named = {
        who: [tmp_path / f"job{n}.xml", tmp_path / f"job{n + 3}.xml"]
        for n, who in enumerate(("ann", "bob", "cid"))
    }
    assert read_dataset(named).annotator_names == ("ann", "bob", "cid")
    assert len(read_dataset(tmp_path, Reading(attribution="files")).annotator_names) == 6


def test_jobs_with_assignees_may_share_no_image(tmp_path):
    for n, who in enumerate(("ann", "bob", "cid")):
        cvat(tmp_path / f"job{n}.xml", FIRST, n, who)
        cvat(tmp_path / f"job{n + 3}.xml", SECOND, n, who)
    assert read_dataset(tmp_path).annotator_names == ("ann", "bob", "cid")


def test_splits_of_one_person_are_refused(tmp_path):
    coco(tmp_path / "train/ann.json", FIRST)
    coco(tmp_path / "val/ann.json", SECOND)
    with pytest.raises(NothingToCompareError, match="nobody is named") as error:
        read_dataset(tmp_path)
    assert len(lines(error)) == 2
    assert len(read_dataset(tmp_path, Reading(min_annotators=1)).image_names) == 8


def test_the_only_folder_with_annotations_is_entered(tmp_path):
    coco(tmp_path / "export/annotations/ann.json", FIRST)
    coco(tmp_path / "export/annotations/bob.json", FIRST, 1)
    (tmp_path / "images").mkdir()
    assert read_dataset(tmp_path).annotator_names == ("ann", "bob")


def test_whatever_is_deeper_in_a_folder_is_by_its_person(tmp_path):
    coco(tmp_path / "ann/day1/a.json", FIRST[:2])
    coco(tmp_path / "ann/b.json", FIRST[2:])
    coco(tmp_path / "bob/all.json", FIRST, 1)
    data = read_dataset(tmp_path)
    assert data.annotator_names == ("ann", "bob")
    assert data.attribution == "one folder per annotator"
    coco(tmp_path / "ann/again.json", FIRST[:1])
    with pytest.raises(NothingToCompareError, match=r"image '0\.jpg' is in ") as error:
        read_dataset(tmp_path)
    assert len(lines(error)) == 4


@pytest.mark.parametrize("kind", [labelme, yolo])
@pytest.mark.parametrize("place", ["", "labels/"])
def test_folders_of_labels_are_people(tmp_path, kind, place):
    kind(tmp_path / f"{place}ann", FIRST)
    kind(tmp_path / f"{place}bob", FIRST, 0.4)
    (tmp_path / "classes.txt").write_text("cat\n")
    data = read_dataset(tmp_path, Reading(choices=Choices(image_size=(100, 100))))
    assert data.annotator_names == ("ann", "bob")
    assert data.attribution == "one folder per annotator"
    assert len(data.image_names) == 4


def test_equal_annotations_in_a_folder_are_refused(tmp_path):
    paths = [coco(tmp_path / f"{name}.json", FIRST) for name in "ab"]
    with pytest.raises(NothingToCompareError, match="have the same annotations"):
        read_dataset(tmp_path)
    # Two files that are typed are people, and so are those with other outlines.
    assert read_dataset(paths).annotator_names == ("a", "b")
    content = json.loads(paths[0].read_text())
    for each in content["annotations"]:
        each["segmentation"] = [[1, 1, 9, 1, 9, 9]]
    write(paths[0], content)
    assert read_dataset(tmp_path).annotator_names == ("a", "b")


def test_several_formats_in_one_folder_are_refused_with_lines(tmp_path):
    sources = [
        coco(tmp_path / "ann/a.json", FIRST),
        cvat(tmp_path / "bob/b.xml", FIRST, 1),
        labelme(tmp_path / "cid", FIRST),
    ]
    with pytest.raises(NothingToCompareError, match="in several formats: COCO JSON ") as error:
        read_dataset(tmp_path)
    assert lines(error) == [*map(str, sources)]
    assert "--from coco or --from cvat or --from labelme" in error.value.advice
    with pytest.raises(NothingToCompareError, match="in several formats: COCO JSON "):
        convert(tmp_path, tmp_path / "out.json", to="coco")
    assert len(validate(tmp_path).files) == 3
    assert listed(tmp_path, choices=Choices(from_format="cvat"))[0] == [sources[1]]


def test_annotators_who_are_named_in_part_are_refused(tmp_path):
    coco(tmp_path / "a.json", FIRST[:2], annotator="ann")
    coco(tmp_path / "b.json", FIRST[:2], 1, annotator="bob")
    coco(tmp_path / "c.json", FIRST)
    with pytest.raises(DatasetError, match=r"c\.json: names nobody, while the key 'annotator'"):
        read_dataset(tmp_path)
    assert read_dataset(tmp_path, Reading(attribution="files")).annotator_names == ("a", "b", "c")


@pytest.mark.parametrize("deep", ["", "a/b/c"])
def test_labels_of_nobody_are_converted_from_any_depth(tmp_path, deep):
    labelme(tmp_path / "in" / deep, FIRST)
    found = convert(tmp_path / "in", tmp_path / "out.json", to="coco")
    assert (found.n_images, found.n_annotations, found.annotators) == (4, 4, ())


def test_equal_names_of_images_of_nobody_are_converted_only_as_the_user_says(tmp_path):
    paths = [coco(tmp_path / f"{name}.json", FIRST, x) for name, x in (("a", 0), ("b", 40))]
    with pytest.raises(DatasetError, match=r"both have an image '0\.jpg'") as error:
        convert(paths, tmp_path / "merged.json", to="coco")
    assert re.findall(r'\w+="\w+"', error.value.advice) == [
        'join="name"', 'join="none"', 'attribution="files"'
    ]  # fmt: skip
    merged = convert(paths, tmp_path / "1.json", to="coco", join="name")
    assert (merged.n_images, merged.n_annotations, merged.annotators) == (4, 8, ())
    apart = convert(paths, tmp_path / "2.json", to="coco", join="none")
    assert (apart.n_images, apart.n_annotations, apart.annotators) == (8, 8, ())
    names = [each["file_name"] for each in json.loads((tmp_path / "2.json").read_text())["images"]]
    assert sorted(names)[:1] + sorted(names)[-1:] == ["a/0.jpg", "b/3.jpg"]
    people = convert(paths, tmp_path / "3.json", to="coco", attribution="files")
    assert people.annotators == ("a", "b")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["in/ann.json", "in/bob.json"], ["ann", "bob"]),
        (["ann/annotations/instances.json", "bob/annotations/instances.json"], ["ann", "bob"]),
        (["day1/ann.json", "day2/ann.json", "day2/bob.json"],
         ["day1/ann", "day2/ann", "day2/bob"]),
    ],
)  # fmt: skip
def test_people_are_called_by_the_part_that_differs(tmp_path, paths, names):
    given = [coco(tmp_path / each, FIRST) for each in paths]
    assert sources_of(given).names == names
