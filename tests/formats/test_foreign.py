"""Files of other programs, handed to any command."""

import io
import json
import zipfile

import pytest
from support.cli import run

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError
from bboxqa.formats.content_kinds import content_words, json_kind_of
from bboxqa.formats.sources import list_files
from bboxqa.formats.unreadable import foreign_kind


def packed(name, content):
    """Return the bytes of a zip archive with one member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return stream.getvalue()


CVAT = '<?xml version="1.0"?>\n<annotations><version>1.1</version><image/></annotations>'
ELAN = '<?xml version="1.0"?>\n<ANNOTATION_DOCUMENT AUTHOR="">'
STUDIO = '[{"id": 1, "annotations": [{"result": []}], "data": {"image": "1.jpg"}}]'
FILES = [
    ("a.eaf", ELAN, "is ELAN's own file; expected COCO JSON"),
    ("empty.xml", "", "is empty"),
    ("a.zip", "", "is empty"),
    ("a.tar", "", "is empty"),
    ("a.json.gz", "", "is empty"),
    ("a.xml", "<x/>", "is XML of neither CVAT nor Pascal VOC; expected COCO JSON"),
    ("a.zip", b"PK\x03\x04....", "is a zip archive that cannot be read: its list of files, at the"),
    ("a.json.gz", b"\x1f\x8b\x08\0", "cannot be read: Compressed file ended before the end"),
    ("a.tar.xz", b"\xfd7zXZ\0", "is a compressed archive; expected COCO JSON"),
    (
        "a.zip",
        packed("a.txt", "x"),
        "is an archive in which no file is of a known format (1 file: a.txt)",
    ),
    ("a.png", b"\x89PNG\r\n\x1a\n", "is an image; expected COCO JSON"),
    ("a.jpg", b"\xff\xd8\xff\xe0", "is an image; expected COCO JSON"),
    ("a.txt", "0 0.5 0.5 0.25 1\n17 .5 0.1 0.2 0.3\n", "is labels of YOLO; expected COCO JSON"),
    ("a.txt", "gsd:0.14\n1 1 5 1 5 3 1 3 plane 0\n", "is labels of DOTA; expected COCO JSON"),
    (
        "a.xlsx",
        b"PK\x03\x04....[Content_Types].xml",
        "is an office document; expected COCO",
    ),
    ("a.parquet", b"PAR1\x15\x04", "is not Parquet that can be read: "),
    ("a.csv", "", "is empty; expected a table with a header"),
    ("a.csv", "\ufeff\n", "is empty; expected a table with a header"),
    (
        "a.csv",
        "unit;annotator\n",
        "is a table with the columns unit, annotator; expected columns of images and boxes",
    ),
    ("a.csv", "\ufeffunit,value\n", "is a table with the columns unit, value; expected columns"),
    ("a.csv", "\ufeffunit\n".encode("utf-16-le"), "is a table with the columns unit; expected"),
    (
        "a.csv",
        "a,b,c,d,e,f,g,h\n",
        "is a table with the columns a, b, c, d, e, f and 2 more; expected",
    ),
    (
        "a.csv",
        "a.jpg,96,151,184,204,cat\n",
        "is a table whose first line has numbers (a.jpg, 96, 151, 184, 204, cat); expected a line",
    ),
    ("a.csv", "file,2020,2021\n", "is a table with the columns file, 2020, 2021; expected columns"),
    ("a.txt", "\ufeff0\t0.5 0.5 0.25 1\r\n", "is labels of YOLO; expected COCO JSON"),
    ("a.db", b"SQLite format 3\0", "is an SQLite database; expected COCO JSON"),
    ("a.pdf", b"%PDF-1.7", "is a PDF; expected COCO JSON"),
    ("a.dat", bytes(range(256)) * 9, "is not text; expected COCO JSON"),
    ("a.dat", bytes(900), "is zero bytes only, so its content is lost; expected COCO JSON"),
    (
        "a.json",
        '[{"image": "1.jpg", "annotations": [{"coordinates": {"x": 1}}]}]',
        "is JSON of CreateML; expected COCO JSON",
    ),
    ("a.json", '{"type": "FeatureCollection"}', "is GeoJSON; expected COCO JSON"),
    (
        "samples.json",
        '{"samples": [{"filepath": "a.jpg", "gt": {"_cls": "Detections", "detections": []}}]}',
        "is FiftyOne's own JSON; expected COCO JSON",
    ),
    (
        "labels.json",
        '{"classes": null, "labels": {"a": [{"label": "cat", "bounding_box": [0, 0, 0.5, 1]}]}}',
        "is FiftyOne's own JSON; expected COCO JSON",
    ),
    (
        "dataset_info.json",
        '{"features": {"image_id": {"dtype": "int64", "_type": "Value"}, "bbox": {}}}',
        "is the description of a Hugging Face data set; expected COCO JSON",
    ),
    (
        ".val.json",
        '{"information": {"/a.jpg": {"shape": [64, 48], "labels": [[2.0, 0.5, 0.5, 0.1, 0.1]]}}}',
        "is YOLOv6's cache of labels; expected COCO JSON",
    ),
    (
        "a.json",
        '{"annotation": {"filename": "a.jpg", "object": [{"bndbox": {"xmin": "1"}}]}}',
        "is XML of Pascal VOC turned into JSON; expected COCO JSON",
    ),
    ("a.npy", b"\x93NUMPY\1\0v\0{", "is a file of NumPy arrays; expected COCO JSON"),
    ("a.npz", packed("boxes.npy", b"\x93NUMPY"), "is a file of NumPy arrays; expected COCO JSON"),
    ("a.pt", packed("archive/data.pkl", b"\x80\2."), "is a file of PyTorch; expected COCO JSON"),
    ("a.pkl", b"\x80\4\x95\0.", "is pickled Python objects, which could run any code; expected"),
    ("a.h5", b"\x89HDF\r\n\x1a\n\0\0", "is HDF5; expected COCO JSON"),
    ("a.mat", b"MATLAB 5.0 MAT-file\0\0", "is a file of MATLAB; expected COCO JSON"),
    ("data.yaml", "names: [cat]\n", "is YAML; expected COCO JSON"),
    ("a.ipynb", '{"cells": [], "nbformat": 4}', "is a Jupyter notebook; expected COCO JSON"),
]


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_settings_beside_files_of_another_program_do_not_hide_what_they_are(tmp_path):
    sample = '{"samples": [{"filepath": "data/a.png", "gt": {"_cls": "Detections"}}]}'
    written(tmp_path / "samples.json", sample)
    written(tmp_path / "metadata.json", '{"name": "street", "version": "1.22.1", "tags": []}')
    for command in ("agree", "validate"):
        done = run(command, ".", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            "Error: samples.json: is FiftyOne's own JSON; expected COCO JSON",
            (
                "In Python, load it and call bboxqa.agree(bboxqa.read_coco(dataset)); or export "
                "COCO JSON."
            ),
        ]
    # Beside COCO JSON, neither is the reason to stop.
    image = {"id": 1, "file_name": "a.png", "width": 64, "height": 48}
    content = {"images": [image], "annotations": [], "categories": []}
    written(tmp_path / "ann.json", json.dumps(content))
    done = run("validate", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ann.json: 1 image, 0 annotations, 0 categories" in done.stdout
    assert "1 file left out: no annotations in a known format (metadata.json)" in done.stdout
    assert "samples.json:1:1  keys" in done.stdout


def test_a_damaged_file_in_an_archive_is_named(tmp_path):
    content = json.dumps({"images": [{"id": each} for each in range(900)]})
    broken = bytearray(packed("ann.json", content))
    broken[50:90] = bytes(40)
    (tmp_path / "a.zip").write_bytes(broken)
    done = run("agree", "a.zip", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: a.zip/ann.json: cannot be read: Bad CRC-32")
    assert "Export or download it again." in done.stderr


@pytest.mark.parametrize("command", [("validate",), ("agree",), ("plan", "--target-width", "0.1")])
@pytest.mark.parametrize(("name", "content", "words"), FILES)
def test_it_is_named_with_what_to_do(tmp_path, command, name, content, words):
    written(tmp_path / name, content)
    done = run(*command, name, cwd=tmp_path)
    assert done.returncode == 2
    first, *advice = done.stderr.splitlines()
    assert first.startswith(f"Error: {name}: {words}")
    assert len(advice) == 1


@pytest.mark.parametrize("command", ["stats", "segments"])
@pytest.mark.parametrize("name", ["a.xml", "a.png", "a.json", "studio.json", "cvat.xml"])
def test_it_is_no_table_either(tmp_path, command, name):
    others = {"studio.json": STUDIO, "cvat.xml": CVAT}
    content = next((content for each, content, _ in FILES if each == name), others.get(name))
    written(tmp_path / name, content)
    done = run(command, name, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].endswith("; expected a table")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("command", ["stats", "segments"])
def test_coco_json_is_no_table(tmp_path, command, indent):
    content = {"info": {}, "images": [{"id": 1}], "annotations": [], "categories": []}
    written(tmp_path / "a.json", json.dumps(content, indent=indent))
    done = run(command, "a.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Error: a.json: is COCO JSON; expected a table",
        "`bboxqa agree` measures its boxes.",
    ]


@pytest.mark.parametrize("command", ["stats", "segments"])
def test_a_folder_is_no_table(tmp_path, command):
    done = run(command, tmp_path)
    assert done.returncode == 2
    assert "is a folder; expected" in done.stderr
    assert "Name a table in it" in done.stderr


@pytest.mark.parametrize("command", ["report", "agree"])
def test_an_address_of_a_store_is_one(tmp_path, command):
    done = run(command, "s3://bucket/a", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Error: s3://bucket/a: is an address; expected a file",
        "Download it first.",
    ]


@pytest.mark.parametrize("command", ["validate", "agree", "stats", "segments"])
def test_an_address_is_named_as_it_was_typed(tmp_path, command):
    done = run(command, "https://example.org/a.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Error: https://example.org/a.json: is an address; expected a file",
        "Download it first: curl -LO https://example.org/a.json",
    ]


def test_json_with_the_name_of_the_archive_it_was_in_is_read(tmp_path):
    content = {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [], "categories": []}
    written(tmp_path / "a.json.gz", json.dumps(content))
    done = run("validate", "a.json.gz", cwd=tmp_path)
    assert done.stdout.startswith("a.json.gz: 1 image, 0 annotations, 0 categories\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bytes(range(256)) * 9, "not text"),
        (bytes(900), "zero bytes only, so its content is lost"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "an image"),
        (b"PK\x03\x04....[Content_Types].xml", "an office document"),
    ],
)
def test_binary_content_under_the_name_of_json_is_named(tmp_path, content, words):
    written(tmp_path / "a.json", content)
    done = run("agree", "a.json", cwd=tmp_path)
    assert done.returncode == 2
    assert f"F001 error the file is {words}; expected a JSON object" in done.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ['{"images": [', '\n [{"image_id": 1}]', '{"a": "\x01\x02\x03"}'])
def test_json_in_any_encoding_is_text(tmp_path, encoding, text):
    path = written(tmp_path / "a.txt", text.encode(encoding))
    assert foreign_kind(path) is None
    assert content_words(text.encode(encoding)) == ""


@pytest.mark.parametrize("command", ["validate", "agree"])
def test_files_of_no_format_beside_annotations_are_named(tmp_path, command):
    folder = tmp_path / "export"
    assert run("example", "fruits", "--out", folder).returncode == 0
    for made in [*folder.glob("*.png"), *folder.glob("*.txt")]:
        made.unlink()
    written(folder / "page.xml", "<html><body/></html>")
    written(folder / "times.csv", "day,hours\n1,2\n")
    written(folder / "class-descriptions-boxable.csv", "/m/01,Apple\n")
    written(folder / "read.me", "no suffix of annotations")
    done = run(command, "export", cwd=tmp_path)
    note = "Note: 2 files left out: no annotations in a known format (page.xml, times.csv)"
    assert [line.strip() for line in done.stdout.splitlines() if "left out" in line] == [note]
    # A file that is named is refused with the reason.
    alone = run(command, "export/page.xml", cwd=tmp_path)
    assert alone.returncode == 2


BACKUP = [{"version": 0, "tags": [], "shapes": [{"type": "rectangle"}], "tracks": []}]
LABELBOX = [{"ID": "c1", "Labeled Data": "https://a.example/a.png", "Label": {"objects": []}}]
ROW = {"data_row": {"id": "c1"}, "media_attributes": {}, "projects": {}}


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.json", json.dumps(LABELBOX), "JSON of Labelbox"),
        ("a.ndjson", json.dumps(ROW) + "\n" + json.dumps(ROW) + "\n", "JSON of Labelbox"),
        (
            "a.json",
            '[{"image": "a.jpg", "annotations": [{"label": "b", "coordinates": {"x": 1}}]}]',
            "JSON of CreateML",
        ),
        ("annotations.json", json.dumps(BACKUP), "JSON of a CVAT backup"),
        ("a.jsonl", '{"file": "a", "text": "b"}\n' * 2, "a table with the columns file, text"),
    ],
)
def test_files_of_other_programs_are_named_alone_and_in_a_folder(tmp_path, name, text, what):
    (tmp_path / name).write_text(text, "utf-8")
    sources = [tmp_path / name, *([tmp_path] if name.endswith(".json") else [])]
    for source in sources:
        with pytest.raises(DatasetError, match=f"{name}: is {what}; expected "):
            list_files([source])


def test_a_backup_of_cvat_is_named_in_its_archive(tmp_path):
    archive = tmp_path / "task_backup.zip"
    content = packed("annotations.json", json.dumps(BACKUP))
    archive.write_bytes(content)
    for source in (archive, tmp_path):
        with pytest.raises(DatasetError) as caught:
            list_files([source])
        assert str(caught.value).endswith(
            "task_backup.zip: is an archive of JSON of a CVAT backup (annotations.json)\n"
            "In CVAT, export the task or job as CVAT for images 1.1."
        )


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.parquet", "a.csv"])
def test_empty_tables_are_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DatasetError, match="is empty; expected a table"):
        list_files([tmp_path / name])


def test_blanks_do_not_slow_the_recognition_of_json():
    # Each blank doubles the time of a pattern that may divide them between two parts.
    assert json_kind_of(b" " * 60_000) is None


def test_tables_without_a_header_are_read_with_the_one_that_is_advised(tmp_path):
    paths = [tmp_path / f"{who}.csv" for who in ("ann", "bob")]
    for path in paths:
        path.write_text("a.jpg,96,151,184,204,cat\nb.jpg,,,,,\n")
    with pytest.raises(DatasetError) as caught:
        read_coco(paths)
    _, _, header = str(caught.value).rpartition("such as: ")
    for path in paths:
        path.write_text(f"{header}\n{path.read_text()}")
    assert read_coco(paths).annotations.bbox.tolist() == [[96, 151, 88, 53]] * 2
