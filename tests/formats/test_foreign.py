"""Files of other programs, handed to any command."""

import io
import json

import pytest
from support import studio
from support.cli import run
from support.tool_files import found, write, zipped

from bboxqa.core.errors import DatasetError
from bboxqa.formats.heads import as_list
from bboxqa.formats.sources import list_files


def packed(name, content):
    """Return the bytes of a zip archive with one member."""
    stream = io.BytesIO()
    return zipped(stream, {name: content}).getvalue()


ELAN = '<?xml version="1.0"?>\n<ANNOTATION_DOCUMENT AUTHOR="">'
TOOLS = {
    "JSON of Cityscapes": '{"imgHeight": 9, "imgWidth": 9, "objects": []}',
    "JSON of BDD100K": '[{"name": "a", "labels": [{"category": "car", "box2d": {"x1": 1}}]}]',
    "JSON of SA-1B": '{"image": {"image_id": 1}, "annotations": [{"predicted_iou": 0.9}]}',
    "JSON of Dataloop": '{"annotations": [{"itemId": "6", "coordinates": []}]}',
    "JSON of Hasty": '{"export_format_version": "1.1", "images": [{"labels": []}]}',
    "JSON of SuperAnnotate": '{"metadata": {"name": "a.jpg"}, "instances": [{"classId": 7}]}',
    "JSON of Encord": '[{"label_hash": "1", "data_units": {"a": {"labels": {"objects": []}}}}]',
    "JSON of Scale": '[{"task_id": "1", "response": {"annotations": [{"left": 1, "top": 2}]}}]',
    "JSON of Kili": '[{"id": "1", "labels": [{"jsonResponse": {"JOB": {"annotations": []}}}]}]',
    "JSON of VoTT": '{"asset": {"name": "a.jpg"}, "regions": [{"tags": ["cat"]}]}',
    "JSON of Mapillary Vistas": '{"annotation_date": "", "objects": [{"polygon": [[0, 0]]}]}',
    "JSON of ADE20K": '{"annotation": {"filename": "1.jpg", "imsize": [5]}}',
    "JSON of MPII": '[{"img_paths": "1.jpg", "joint_self": [[1, 2, 1]]}]',
    "predictions of Lightly": '{"file_name": "a.png", "predictions": [{"bbox": [1, 2, 3, 4]}]}',
    "JSON of Labelbox's first export": '[{"ID": "c", "Labeled Data": "a", "Label": {}}]',
    "JSON of a CVAT backup": '[{"version": 0, "tags": [], "shapes": [], "tracks": []}]',
    "a list of Label Studio's tasks without annotations": '[{"data": {"image": "a.jpg"}}]',
    "dicts of detectron2": '[{"file_name": "a.jpg", "annotations": [{"bbox_mode": 0}]}]',
}  # fmt: skip
FILES = [
    ("a.eaf", ELAN, "is ELAN's own file; expected COCO JSON"),
    ("empty.xml", "", "is empty"),
    ("a.zip", "", "is empty"),
    ("a.txt", "\n", "is empty"),
    ("a.xml", "<annotation><sourceAnnotation>", "is XML of LabelMe's web tool; expected COCO JSON"),
    ("a.xml", "<annotation><imagesize><nrows>", "is XML of LabelMe's web tool; expected COCO JSON"),
    ("a.xml", "<x/>", "is XML of neither CVAT nor Pascal VOC; expected COCO JSON"),
    ("a.zip", b"PK\x03\x04....", "is a zip archive that cannot be read: "),
    ("a.zip", b"PK\5\6" + bytes(18), "has no files"),
    ("a.json.gz", b"\x1f\x8b\x08\0", "cannot be read: Compressed file ended before the end"),
    ("a.tar.xz", b"\xfd7zXZ\0", "is a compressed archive; expected COCO JSON"),
    ("a.zip", packed("a.txt", "x"),
     "no file in this archive is of a known format (1 file, such as a.txt)"),
    ("a.png", b"\x89PNG\r\n\x1a\n", "is an image; expected COCO JSON"),
    ("a.txt", "0 0.5 0.5 0.25 1\n17 .5 0.1 0.2 0.3\n", "is labels of YOLO; expected COCO JSON"),
    ("a.txt", "gsd:0.14\n1 1 5 1 5 3 1 3 plane 0\n", "is labels of DOTA; expected COCO JSON"),
    ("a.xlsx", b"PK\x03\x04....[Content_Types].xml", "is an office document; expected COCO"),
    ("a.parquet", b"PAR1\x15\x04", "is not Parquet that can be read: "),
    ("a.csv", "", "is empty"),
    ("a.jsonl", "", "is empty"),
    ("a.parquet", "", "is empty"),
    ("a.csv", ";unit;annotator\n",
     "is a table with the columns unit, annotator; expected columns of images and boxes"),
    ("a.csv", "\ufeffunit\n".encode("utf-16-le"), "is a table with the columns unit; expected"),
    ("a.csv", "a.jpg,96,151,184,204,cat\nb.jpg,9,15,84,20,cat\n",
     "is a table whose first line has numbers (a.jpg, 96, 151, 184, 204, cat); expected a line"),
    ("a.csv", "unit,2023,2024,2025\n", "is a table with the columns unit, 2023, 2024, 2025;"),
    ("a.dat", bytes(range(256)) * 9, "is not text; expected COCO JSON"),
    ("a.zip", bytes(range(256)) * 9, "is not an archive"),
    ("a.json", '[{"image": "1.jpg", "annotations": [{"coordinates": {"x": 1}}]}]',
     "is JSON of CreateML; expected COCO JSON"),
    ("a.json", '{"type": "FeatureCollection"}', "is JSON of GeoJSON; expected COCO JSON"),
    ("samples.json",
     '{"samples": [{"filepath": "a.jpg", "gt": {"_cls": "Detections", "detections": []}}]}',
     "is FiftyOne's own JSON; expected COCO JSON"),
    ("dataset_info.json",
     '{"features": {"image_id": {"dtype": "int64", "_type": "Value"}, "bbox": {}}}',
     "is the description of a Hugging Face data set; expected COCO JSON"),
    (".val.json",
     '{"information": {"/a.jpg": {"shape": [64, 48], "labels": [[2.0, 0.5, 0.5, 0.1, 0.1]]}}}',
     "is JSON of YOLOv6's cache of labels; expected COCO JSON"),
    ("a.json", '{"annotation": {"filename": "a.jpg", "object": [{"bndbox": {"xmin": "1"}}]}}',
     "is JSON of VOC as JSON; expected COCO JSON"),
    *(("a.json", text, f"is {what}; expected COCO JSON") for what, text in TOOLS.items()),
    ("a.txt", "Truck 1.0 0 -1 0 1 2 3 -1 -1 -1 -1 -1 -1 -1\n", "is labels of KITTI; expected"),
    ("a.txt", "1,1,794.2,47.5,71.2,174.8,1,1,0.8\n",
     "is a table of MOT without a header; expected"),
    ("a.txt", "0--Parade/a.jpg\n1\n1 2 2 2 0 0 0 0 0 0 \n", "is the list of WIDER FACE; expected"),
    ("a.json", '{"a": {"images": [{"annotations": []}]}}\n{"a": 1}\n',
     "is a table with the columns a; expected columns of images and boxes"),
    ("a.manifest", '{"source-ref": "a"}\n{"source-ref": "b"}\n',
     "is a table with the columns source-ref; expected columns of images and boxes"),
    ("data.yaml", "names: [cat]\n", "is YAML; expected COCO JSON"),
]  # fmt: skip


@pytest.mark.parametrize("command", ["validate", "agree"])
@pytest.mark.parametrize(("name", "content", "words"), FILES)
def test_it_is_named_with_what_to_do(tmp_path, command, name, content, words):
    write(tmp_path, **{name: content})
    done = run(command, name, cwd=tmp_path)
    assert done.returncode == 2
    first, *advice = done.stderr.splitlines()
    assert first.startswith(f"Error: {name}: {words}")
    assert len(advice) == 1


def test_an_address_is_to_be_downloaded(tmp_path):
    done = run("agree", "s3://bucket/a", cwd=tmp_path)
    advice = "An address is not read: download it, and name the file."
    assert (done.returncode, done.stderr) == (2, f"Error: s3:/bucket/a: no such file\n{advice}\n")


def test_files_of_other_programs_are_named_in_a_folder(tmp_path):
    write(tmp_path, **{"label_2/a.txt": "Van 0.0 0 -1 0 5 1 8 8 -1 -1 -1 -1 -1 -1\n"})
    with pytest.raises(DatasetError, match=r"label_2/a\.txt: is labels of KITTI; expected "):
        list_files([tmp_path])


def test_tasks_of_label_studio_in_lines_are_read_and_found_at_their_line(tmp_path):
    wrong = studio.work(1, studio.box(1, 1, "wide", 9))
    text = "".join(f"{json.dumps(studio.task(n, wrong))}\n" for n in (1, 2))
    path = write(tmp_path, **{"a.json": text}) / "a.json"
    assert [line for _, line, *_ in found(path, "T001")] == [1, 2]


def test_many_blank_lines_take_no_time():
    assert as_list(b'{"a": 1}\n{"b": 1}' + b"\n" * 1_000_000).count(b",") == 1
