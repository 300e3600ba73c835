"""Kinds of COCO other than objects, what is looked for in them, and which tool wrote a file."""

import json

import numpy as np
import pytest
from PIL import Image
from support.cli import run
from support.validation import codes, document_of, exact, findings, loud

from bboxqa import agree, validate
from bboxqa.core.errors import DatasetError
from bboxqa.rules.document import exporter, kind_of
from bboxqa.rules.panoptic import panoptic_example

IMAGES = [
    {"id": number, "file_name": f"{number}.jpg", "width": 100, "height": 80} for number in (1, 2, 3)
]
CATEGORIES = [{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 2, "name": "dog"}]
TOP = {"info": {"year": 2017}, "licenses": [], "images": IMAGES}
BOX = {"bbox": [10, 10, 20, 30], "area": 600, "iscrowd": 0}


def captions(**more):
    records = [{"id": n, "image_id": 1 + n % 3, "caption": f"cat {n}"} for n in range(1, 7)]
    records[2] |= more
    return exact({**TOP, "annotations": records})


def objects(images=None, **more):
    record = {"id": 1, "image_id": 1, "category_id": 1, **BOX}
    document = {**TOP, "categories": CATEGORIES, "annotations": [record], **more}
    return exact(document | ({"images": images} if images else {}))


def lvis():
    marks = {"neg_category_ids": [2], "not_exhaustive_category_ids": []}
    record = {"id": 1, "image_id": 1, "category_id": 1, "bbox": BOX["bbox"], "area": 600}
    return objects([{**image, **marks} for image in IMAGES], annotations=[record])


def tao():
    track = {"id": 1, "category_id": 1, "video_id": 1}
    record = {"id": 1, "image_id": 1, "category_id": 1, "track_id": 1, "video_id": 1, **BOX}
    return objects(videos=[{"id": 1, "name": "a"}], tracks=[track], annotations=[record])


def videos():
    record = {"id": 1, "video_id": 1, "category_id": 1, "bboxes": [None, [1, 2, 3, 4]]}
    return exact({"videos": [{"id": 1}], "categories": CATEGORIES, "annotations": [record]})


def results(*changes, n=6, **more):
    records = [
        {"image_id": 1 + k % 3, "category_id": 1, "bbox": [k, 5, 20, 30], "score": 0.5, **more}
        for k in range(n)
    ]
    for record, change in zip(records, changes, strict=False):
        record.update(change)
    return json.dumps(records)


LABELS = [{"id": n, "image_id": n, "category_id": 1} for n in (1, 2, 3)]
PANOPTIC_RESULTS = json.dumps({"annotations": json.loads(panoptic_example())["annotations"]})
CAPTION_RESULTS = json.dumps([{"image_id": 1, "caption": "a cat"}])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (captions(), "COCO captions"), (captions(category_id=0), "COCO captions"),
        (panoptic_example(), "panoptic COCO"), (lvis(), "LVIS"), (tao(), "TAO"),
        (videos(), "YouTube-VIS"), (results(), "COCO results"),
        (CAPTION_RESULTS, "results of COCO captions"),
        (PANOPTIC_RESULTS, "results of panoptic COCO"),
        (objects(annotations=LABELS), "COCO image labels"),
        (exact(TOP), "COCO image info, without annotations"),
        (exact({**TOP, "categories": CATEGORIES}), "COCO image info, without annotations"),
        (exact({**TOP, "annotation": []}), ""), (exact({**TOP, "images": []}), ""),
        (exact({**TOP, "annotations": None}), ""),
        (objects(annotations=[{**LABELS[0], "area": 9}]), ""), (objects(), ""),
        (objects(annotations=[]), ""),
        (objects(annotations=[{"id": 1, "image_id": 1, "caption": "a cat", **BOX}]), ""),
        ('[{"data": {"image_id": 1}, "score": 1}]', ""), ("[]", "an empty list"),
    ],
)  # fmt: skip
def test_the_kind_of_a_file(text, name):
    assert kind_of(document_of(text)).name == name
    [file] = validate(json.loads(text)).files if text[0] == "{" else [None]
    assert file is None or file.kind == name


@pytest.mark.parametrize(
    "text", [captions(), panoptic_example(), videos(), results(), lvis(), exact(TOP)]
)
def test_a_sound_file_of_another_kind_gives_no_finding_above_info(text):
    # Images without annotations, and results without their truth, are examined in part.
    assert loud(text) <= {"S016"}


def test_an_empty_list_is_one_of_results(tmp_path):
    detections, truth = written(tmp_path, "[ ]\n", objects())
    for more in ({}, {"ground_truth": truth}):
        [found] = validate(detections, **more).findings
        assert (found.code, "is a list; expected an object" in found.message) == ("F006", True)


def test_an_object_of_lvis_may_have_two_categories():
    content = json.loads(lvis())
    (record,) = content["annotations"]
    content["annotations"].append({**record, "id": 2, "category_id": 2})
    assert "D003" not in codes(exact(content))
    for image in content["images"]:
        del image["neg_category_ids"]
    assert "D003" in codes(exact(content))


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        ({"score": "0.5"}, "E001", "score"), ({"score": None}, "E001", "score"),
        ({"score": 1.5}, "E002", "score"), ({"score": -0.1}, "E002", "score"),
        ({"bbox": [1, 2, 3]}, "S006", "bbox"), ({"bbox": [1, 2, 0, 4]}, "B001", "bbox"),
        ({"image_id": [1]}, "S003", "image_id"),
    ],
)  # fmt: skip
def test_defects_of_results(change, code, key):
    found, missing = sorted(findings(results({}, change)), key=lambda each: each.code == "S016")
    assert missing.code == "S016"
    assert (found.code, found.pointer) == (code, f"/1/{key}")
    assert found.spot.offset == results({}, change).index(f'"{key}": {json.dumps(change[key])}') + (
        len(f'"{key}": ')
    )


def test_masks_and_keypoints_need_no_box():
    records = json.loads(results())
    records[0]["segmentation"] = [[10, 10, 30, 10, 30, 40, 10, 40]]
    records[1]["keypoints"] = [10, 10, 2]
    for record in records[:2]:
        del record["bbox"]
    assert "S002" not in codes(json.dumps(records[:2]))


def written(folder, *texts):
    paths = [folder / f"{letter}.json" for letter, _ in zip("abc", texts, strict=False)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_results_are_compared_with_their_ground_truth(tmp_path):
    wrong = results({"image_id": 7}, {"category_id": 3}, {"bbox": [500, 5, 20, 30]})
    detections, truth = written(tmp_path, wrong, objects())
    report = validate(detections, ground_truth=truth)
    assert [(found.code, found.pointer) for found in report.findings] == [
        ("B002", "/2/bbox"), ("I004", "/0/image_id"), ("I004", "/1/category_id"),
    ]  # fmt: skip
    assert {found.code for found in validate(detections).findings} == {"S016"}


def test_ground_truth_needs_results_and_lists(tmp_path):
    detections, truth = written(tmp_path, results(), objects())
    with pytest.raises(DatasetError, match="holds no results"):
        validate(truth, ground_truth=truth)
    with pytest.raises(DatasetError, match="has no list of images"):
        validate(detections, ground_truth=detections)
    with pytest.raises(DatasetError, match="no such file"):
        validate(detections, ground_truth=tmp_path / "none.json")


def test_the_unsafe_fix_of_results_removes_records_of_no_image(tmp_path):
    detections, truth = written(tmp_path, results({"image_id": 7}), objects())
    run("validate", detections, "--ground-truth", truth, "--fix", "--unsafe-fixes")
    assert json.loads((tmp_path / "a.fixed.json").read_text()) == json.loads(results())[1:]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (captions(), "COCO captions"), (PANOPTIC_RESULTS, "results of panoptic COCO"),
        (videos(), "YouTube-VIS"), (CAPTION_RESULTS, "results of COCO captions"),
        (exact(TOP), "COCO image info, without annotations"),
    ],
)  # fmt: skip
def test_agreement_of_other_kinds_is_refused_by_name(tmp_path, text, name):
    with pytest.raises(DatasetError, match=f"holds {name}; expected objects"):
        agree(*written(tmp_path, text))


def panoptic(*segments, **annotation):
    document = json.loads(panoptic_example())
    document["annotations"][0] |= {"segments_info": list(segments), **annotation}
    return json.dumps(document)


SEGMENT = {"id": 7, "category_id": 1, "area": 9, "iscrowd": 0, "bbox": [0, 0, 3, 3]}
LIST = "/annotations/0/segments_info"


@pytest.mark.parametrize(
    ("text", "code", "pointer"),
    [
        (panoptic(segments_info=7), "G001", LIST),
        (panoptic(SEGMENT, 7), "G001", f"{LIST}/1"),
        (panoptic({**SEGMENT, "id": "7"}), "G001", f"{LIST}/0/id"),
        (panoptic({**SEGMENT, "iscrowd": 2}), "G001", f"{LIST}/0/iscrowd"),
        (panoptic({**SEGMENT, "id": 0}), "G002", f"{LIST}/0/id"),
        (panoptic({**SEGMENT, "id": 1 << 24}), "G002", f"{LIST}/0/id"),
        (panoptic(SEGMENT, SEGMENT), "G002", f"{LIST}/1/id"),
        (panoptic({**SEGMENT, "category_id": 2}), "G003", f"{LIST}/0/category_id"),
        (panoptic({**SEGMENT, "area": 0}), "G004", f"{LIST}/0/area"),
        (panoptic({**SEGMENT, "area": 10}), "G004", f"{LIST}/0/area"),
        (panoptic({**SEGMENT, "area": 46, "bbox": [0, 0, 9, 9]}), "G004", LIST),
    ],
)  # fmt: skip
def test_defects_of_segments(text, code, pointer):
    found = findings(text, select=("G",))
    assert [(each.code, each.pointer) for each in found] == [(code, pointer)]


def painted(path, *squares, size=(9, 5), mode="RGB"):
    """Write a PNG with squares of 3 x 3 pixels in the colours of ids, from left to right."""
    pixels = np.zeros((*size[::-1], 3), np.uint8)
    for place, number in enumerate(squares):
        colour = (number & 255, number >> 8 & 255, number >> 16)
        pixels[:3, 4 * place : 4 * place + 3] = colour
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).convert(mode).save(path)


def of_pngs(folder, text=None, **more):
    (folder / "panoptic.json").write_text(text or panoptic_example(**more))
    report = validate(folder / "panoptic.json", images=folder, select=["G"])
    return [(each.code, each.message) for each in report.findings]


@pytest.mark.parametrize("place", ["a.png", "panoptic/a.png"])
def test_segments_that_are_those_of_their_png(tmp_path, place):
    painted(tmp_path / place, 7, 300_000)
    assert of_pngs(tmp_path, id=300_000) == []


def test_segments_that_differ_from_their_png(tmp_path):
    painted(tmp_path / "a.png", 7, 66_000)
    [(code, message)] = of_pngs(tmp_path, id=8)
    assert code == "G006"
    assert "differ: 8 only listed, 66000 only in the PNG" in message
    [(code, message)] = of_pngs(tmp_path, id=66_000, area=8)
    assert "differ: 66000 with another area" in message


@pytest.mark.parametrize(
    ("size", "mode", "problem"),
    [
        ((9, 6), "RGB", "has 9 x 6 px; its image has 9 x 5"), ((9, 5), "L", "has mode L"),
        (None, b"no image", ""), (None, None, "is not found"),
    ],
)  # fmt: skip
def test_a_png_that_cannot_be_compared(tmp_path, size, mode, problem):
    if size:
        painted(tmp_path / "a.png", 7, 8, size=size, mode=mode)
    elif mode:
        (tmp_path / "a.png").write_bytes(mode)
    [(code, message)] = of_pngs(tmp_path)
    assert (code, problem in message) == ("G005", True)


def test_a_png_outside_of_the_folder_is_not_opened(tmp_path):
    text = panoptic_example().replace('"a.png"', '"../a.png"')
    (tmp_path / "x").mkdir()
    painted(tmp_path / "a.png", 7, 8)
    assert [code for code, _ in of_pngs(tmp_path / "x", text)] == ["G005"]


# Which tool wrote a file.


BLANK = dict.fromkeys(("contributor", "date_created", "description", "url", "version", "year"), "")
NO_LICENCE = [{"name": "", "id": 0, "url": ""}]
AUGMENTED = {"file_name": "image-117_png.rf.fd0859290894b48d1010488ef26de26c.jpg"}
WROTE = [
    *(({"info": info}, name) for info, name in (
        ({"contributor": "Label Studio"}, "Label Studio"),
        ({"url": "https://public.roboflow.com/object-detection/undefined"}, "Roboflow"),
        ({"description": "VIA project exported to COCO using VGG Image Annotator"}, "VIA"),
        ({"year": "", "url": "https://voxel51.com/fiftyone"}, "FiftyOne"),
        ({"contributor": 7, "url": 3}, None), ([], None),
    )),
    ({"images": [AUGMENTED]}, "Roboflow"), ({"images": [AUGMENTED, {"file_name": "b.jpg"}]}, None),
    *(({"info": BLANK, "licenses": NO_LICENCE, "annotations": [{"attributes": attributes}]}, name)
      for attributes, name in (
        ({"occluded": False, "truncated": False}, "CVAT"),
        ({"occluded": False, "truncated": False, "difficult": False}, "Datumaro"),
    )),
    ({"info": BLANK, "licenses": NO_LICENCE}, "Datumaro"),
    ({"info": {**BLANK, "year": "2024"}, "licenses": NO_LICENCE}, None),
    ({"info": BLANK, "licenses": []}, None),
]  # fmt: skip


@pytest.mark.parametrize(("top", "name"), WROTE)
def test_which_tool_wrote_a_file(top, name):
    whole = {"images": [], "annotations": [], "categories": [], **top}
    assert exporter(document_of(exact(whole))) == name
