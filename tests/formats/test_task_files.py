"""Files of COCO for several tasks, and several files in one archive."""

import json
import zipfile

import pytest
from support import cli
from support.datasets import annotation, document, image

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.registry import format_of

BOXES = [annotation(n, 1 + n % 2, bbox=[10 * n, 5, 8, 8]) for n in range(1, 7)]
IMAGES = [image(n, file_name=f"{n}.jpg") for n in (1, 2)]
NOSE = [{"id": 1, "name": "cat", "keypoints": ["nose"], "skeleton": []}]
POSES = [each | {"keypoints": [each["bbox"][0] + 2, 7, 2], "num_keypoints": 1} for each in BOXES]
CAPTIONS = [{"id": 1, "image_id": 1, "caption": "a cat"}]


def moved(boxes, by):
    return [each | {"bbox": [each["bbox"][0] + by, *each["bbox"][1:]]} for each in boxes]


def named(boxes):
    return [each | {"annotator": "ann" if each["id"] < 4 else "bob"} for each in boxes]


def placed(folder, **documents):
    folder.mkdir()
    for name, content in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def packed(folder):
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"annotations/{file.name}")
    return path


@pytest.fixture(params=["folder", "archive"])
def pack(request):
    return packed if request.param == "archive" else lambda folder: folder


def test_files_are_one_annotator_each(tmp_path, pack):
    files = {"ann": document(BOXES, IMAGES), "bob": document(moved(BOXES, 2), IMAGES)}
    data = bboxqa.read_coco(pack(placed(tmp_path / "in", **files)))
    assert data.annotator_names == ("ann", "bob")
    assert len(data.annotations) == 12


@pytest.mark.parametrize("kind", ["captions", "labels", "image_info", "panoptic", "stuff"])
def test_other_tasks_are_left_out(tmp_path, pack, kind):
    whole = document(named(BOXES), IMAGES)
    other = whole | {"annotations": CAPTIONS}
    folder = placed(tmp_path / "in", instances_val2017=whole, **{f"{kind}_val2017": other})
    data = bboxqa.read_coco(pack(folder))
    assert len(data.annotations) == 6
    (note,) = (each for each in data.notes if "left out" in each)
    assert note.startswith("1 JSON file left out: other tasks than objects (")
    assert note.endswith(f"{kind}_val2017.json)")


def test_captions_alone_or_of_another_part_stay(tmp_path):
    others = {"instances_train": document(named(BOXES), IMAGES)}
    others["captions_val"] = document([], IMAGES) | {"annotations": CAPTIONS}
    with pytest.raises(DatasetError, match="captions_val"):
        bboxqa.read_coco(placed(tmp_path / "in", **others))


@pytest.mark.parametrize("keypoints", [False, True])
def test_the_same_objects_are_read_once(tmp_path, pack, keypoints):
    whole = document(named(BOXES), IMAGES)
    poses = document(named(POSES), IMAGES, NOSE)
    folder = placed(tmp_path / "in", instances_val=whole, person_keypoints_val=poses)
    data = bboxqa.read_coco(pack(folder), keypoints=keypoints)
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob"), 6)
    names = ["instances_val.json", "person_keypoints_val.json"]
    kept, left = reversed(names) if keypoints else names
    expected = f"{kept} and {left} have the same 6 annotations; the second is left out"
    assert expected in data.notes


def test_nobody_agrees_with_their_own_copy(tmp_path, pack):
    files = {"instances_val": document(BOXES, IMAGES)}
    files["person_keypoints_val"] = document(POSES, IMAGES, NOSE)
    with pytest.raises(DatasetError, match="no annotator is named"):
        bboxqa.read_coco(pack(placed(tmp_path / "in", **files)))


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": moved(POSES, 3)},
        {"annotations": [*POSES, annotation(9, 1)]},
        {"images": [image(n, file_name=f"{3 - n}.jpg") for n in (1, 2)]},
    ],
)
def test_other_objects_stay(tmp_path, change):
    files = {"instances_val": document(BOXES, IMAGES)}
    files["person_keypoints_val"] = document(POSES, IMAGES, NOSE) | change
    data = bboxqa.read_coco(placed(tmp_path / "in", **files))
    assert len(data.annotator_names) == 2


def test_parts_of_a_data_set_are_named(tmp_path, pack):
    files = {
        f"instances_{part}2017": document([annotation(1, n)], [image(n, file_name=f"{n}.jpg")])
        for n, part in enumerate(("train", "val"), start=1)
    }
    with pytest.raises(DatasetError) as error:
        bboxqa.read_coco(pack(placed(tmp_path / "in", **files)))
    assert error.value.problems[0].endswith("val2017.json: no annotator is named in the files")
    assert "splits of one data set (train, val)" in error.value.advice
    assert error.value.advice.endswith("one annotator nevertheless: --attribution files")


def test_findings_name_the_file_in_the_archive(tmp_path):
    wrong = document(moved(BOXES, -40), IMAGES)
    path = packed(placed(tmp_path / "in", ann=document(BOXES, IMAGES), bob=wrong))
    files = {each.file for each in bboxqa.validate(path).findings if each.code == "B003"}
    assert files <= {f"{path}/annotations/bob.json"}
    assert {each.name for each in bboxqa.validate(path).files} == {
        f"{path}/annotations/{name}.json" for name in ("ann", "bob")
    }


def test_one_file_of_an_archive_can_be_named(tmp_path):
    folder = placed(tmp_path / "in", ann=document(named(BOXES), IMAGES), bob=document([], IMAGES))
    path = packed(folder)
    assert format_of(path / "annotations/ann.json").name == "coco-archive"
    assert len(bboxqa.read_coco(path / "annotations/ann.json").annotations) == 6
    with pytest.raises(DatasetError, match="no such file in the archive; it has ann"):
        bboxqa.read_coco(path / "annotations/eve.json")
    outcome = cli.run("validate", str(path), "--fix")
    assert outcome.returncode == 2
    assert "fixes are written to files of COCO JSON only" in outcome.output
    assert "Unpack the archive, and name the file." in outcome.output


def test_several_files_are_converted(tmp_path):
    files = {"ann": document(BOXES, IMAGES), "bob": document(moved(BOXES, 2), IMAGES)}
    path = packed(placed(tmp_path / "in", **files))
    outcome = cli.run("convert", str(path), str(tmp_path / "out.json"), "--to", "coco")
    assert outcome.returncode == 0, outcome.output
    data = bboxqa.read_coco(tmp_path / "out.json")
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob"), 12)


def split_parts():
    """Return the documents of two splits, by name."""
    later = [image(n, file_name=f"{n}.jpg") for n in (3, 4)]
    moved_there = [each | {"image_id": each["image_id"] + 2} for each in BOXES]
    return {"train": document(BOXES, IMAGES), "val": document(moved_there, later)}


def test_copies_of_splits_are_not_annotators(tmp_path):
    for name, content in split_parts().items():
        for place in (f"annotations/{name}.json", f"{name}/_annotations.coco.json"):
            path = tmp_path / place
            path.parent.mkdir(exist_ok=True)
            # A copy that another program wrote is one as well.
            path.write_text(json.dumps(content, indent=len(path.stem)))
    with pytest.raises(DatasetError, match="named as splits of one data set") as error:
        bboxqa.read_coco(tmp_path)
    assert "train, val" in error.value.advice
    data = bboxqa.read_coco(tmp_path, min_annotators=1, attribution="files")
    assert len(data.annotations) == 2 * len(BOXES)
    assert any("have the same 6 annotations; the second is left out" in n for n in data.notes)


def test_splits_of_two_annotators_stay(tmp_path):
    for who, by in (("ann", 0), ("bob", 2)):
        for name, content in split_parts().items():
            path = tmp_path / who / f"{name}.json"
            path.parent.mkdir(exist_ok=True)
            boxes = moved(content["annotations"], by)
            path.write_text(json.dumps(content | {"annotations": boxes}))
    data = bboxqa.read_coco(tmp_path)
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob"), 4 * len(BOXES))


@pytest.mark.parametrize("keypoints", [False, True])
@pytest.mark.parametrize("people", [("",), ("ann/", "bob/")])
def test_objects_and_key_points_of_splits_are_read_once(tmp_path, keypoints, people):
    for by, who in enumerate(people):
        for split, content in split_parts().items():
            boxes = moved(content["annotations"], by)
            poses = [box | {"keypoints": [box["bbox"][0], 7, 2]} for box in boxes]
            folder = tmp_path / f"in/{who}annotations"
            folder.mkdir(parents=True, exist_ok=True)
            for kind, found in (("instances", boxes), ("person_keypoints", poses)):
                whole = document(found, content["images"], NOSE)
                (folder / f"{kind}_{split}2017.json").write_text(json.dumps(whole))
    data = bboxqa.read_coco(tmp_path / "in", keypoints=keypoints, min_annotators=len(people))
    assert (len(data.annotations), len(data.image_names)) == (12 * len(people), 4)
    assert data.annotator_names == (("ann", "bob") if len(people) > 1 else ("(not named)",))
    notes = [each for each in data.notes if "left out" in each]
    kept = "person_keypoints" if keypoints else "instances"
    assert len(notes) == 2 * len(people)
    assert all(f"{kept}_" in each.partition(" and ")[0] for each in notes)
    assert len({*notes}) == len(notes)


@pytest.mark.parametrize("keypoints", [False, True])
def test_files_of_a_named_annotator_are_read_once(tmp_path, keypoints):
    for who in ("ann", "bob"):
        for split, content in split_parts().items():
            boxes = content["annotations"]
            poses = [box | {"keypoints": [box["bbox"][0], 7, 2]} for box in boxes]
            places = {
                f"annotations/instances_{split}2017": boxes,
                f"annotations/person_keypoints_{split}2017": poses,
                f"{split}/_annotations.coco": poses if keypoints else boxes,
            }
            for place, found in places.items():
                path = tmp_path / who / f"{place}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(document(found, content["images"], NOSE)))
    data = bboxqa.read_coco({"Ann": tmp_path / "ann", "Bob": tmp_path / "bob"}, keypoints=keypoints)
    assert (data.annotator_names, len(data.annotations)) == (("Ann", "Bob"), 24)
    assert data.assigned.sum(1).tolist() == [2] * 4
    assert len({note for note in data.notes if "the second is left out" in note}) == 8
