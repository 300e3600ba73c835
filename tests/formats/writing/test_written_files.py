"""What formats hold is written as their tools document it; what they cannot hold is refused."""

import csv
import io
import json
import re
from xml.etree import ElementTree as ET

import pytest
from support.cli import run
from support.converted import ENDINGS, document, written
from support.datasets import two_annotators, write

import bboxqa
from bboxqa import DatasetError, OutputError
from bboxqa.formats.writing.names import safe_paths

IMAGES = [("a.jpg", 200, 100, ["ann", "7"]), ("b.jpg", 50, 50, None)]
BOX = [20, 10, 60.5, 40]
SKEW = [[0, 0, 40, 0, 40, 30, 10, 30]]


def _source(tmp_path, annotations=((0, "ann", 0, BOX),), images=IMAGES):
    return written(tmp_path / "source.json", document(images, annotations))


def test_boxes_of_a_table_that_may_be_shares_are_refused_with_their_number(tmp_path):
    boxes = [(0, "ann", 0, [0.5, 0, 1, 2]), (0, "ann", 0, [5, 5, 9, 9])]
    source = written(tmp_path / "a.json", document([("a.jpg", 20, 20, ["ann"])], boxes))
    with pytest.raises(DatasetError, match=r"1 box of numbers up to 2 \(annotation 100\)"):
        bboxqa.convert(source, tmp_path / "a.csv", to="csv")
    bboxqa.convert(source, tmp_path / "a.csv", to="csv", lossy=True)
    with bboxqa.reading(box_format="xywh-pixels"):
        data = bboxqa.read_coco(tmp_path / "a.csv", min_annotators=1)
    assert data.annotations.bbox.tolist() == [[0.5, 0, 1, 2], [5, 5, 9, 9]]


def test_cvat_has_a_task_for_each_annotator_that_declares_labels_and_attributes(tmp_path):
    diamond = {
        "bbox": [0, 0, 40, 40],
        "segmentation": [[20, 0, 40, 20, 20, 40, 0, 20]],
        "attributes": {"rotation": 45, "occluded": 1, "side": "left"},
    }
    source = _source(tmp_path, [(0, "ann", 0, BOX), (0, "ann", 1, diamond)], IMAGES[:1])
    bboxqa.convert(source, tmp_path / "out", to="cvat")
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["7.xml", "ann.xml"]
    root, empty = (ET.fromstring((tmp_path / f"out/{who}.xml").read_text()) for who in ("ann", "7"))  # noqa: S314
    assert [each.tag for each in root] == ["version", "meta", "image"]
    assert root.findtext("meta/task/assignee/username") == "ann"
    names = [each.text for each in root.iterfind("meta/task/labels/label/name")]
    assert names == ["cat", "traffic light"]
    assert root.findtext("meta/task/labels/label[2]/attributes/attribute/name") == "side"
    image = root.find("image")
    assert image.attrib == {"id": "0", "name": "a.jpg", "width": "200", "height": "100"}
    box, rotated = image
    assert box.attrib == {
        "label": "cat", "source": "manual", "occluded": "0", "z_order": "0",
        "xtl": "20", "ytl": "10", "xbr": "80.5", "ybr": "50",
    }  # fmt: skip
    # The diamond is a square with sides of 28.28 about (20, 20): half of it is 14.142136.
    assert (rotated.get("rotation"), rotated.get("occluded")) == ("45", "1")
    assert (rotated.get("xtl"), rotated.get("xbr")) == ("5.857864", "34.142136")
    assert rotated.find("attribute[@name='side']").text == "left"
    assert len(empty.find("image")) == 0


def test_names_do_not_lead_out_of_the_output(tmp_path):
    images = [("../../../a.jpg", 200, 100, ["../b"])]
    source = _source(tmp_path, [(0, "../b", 0, BOX)], images)
    with pytest.raises(DatasetError, match="1 name of an annotator"):
        bboxqa.convert(source, tmp_path / "in/out", to="yolo")
    bboxqa.convert(source, tmp_path / "in/out", to="yolo", lossy=True)
    written_files = {
        each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*") if each.is_file()
    }
    place = "in/out/%2E.%2Fb"
    assert written_files == {
        "source.json", f"{place}/data.yaml", f"{place}/train.txt",
        f"{place}/labels/%2E%2E/%2E%2E/%2E%2E/a.txt",
    }  # fmt: skip


def test_a_folder_is_replaced_only_if_it_holds_nothing_else(tmp_path):
    source, out = _source(tmp_path, images=IMAGES[:1]), tmp_path / "out"
    bboxqa.convert(source, out, to="yolo")
    (out / "ann/labels/old.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    bboxqa.convert(source, out, to="yolo", force=True)
    assert not (out / "ann/labels/old.txt").exists()
    (out / "photo.jpg").write_text("mine")
    with pytest.raises(OutputError, match=r"has other files, such as photo\.jpg"):
        bboxqa.convert(source, out, to="yolo", force=True)


@pytest.mark.parametrize(("out", "to"), [("source.json", "coco"), (".", "labelme")])
def test_what_is_read_is_not_replaced(out, to, tmp_path):
    source = _source(tmp_path, images=IMAGES[:1])
    before = source.read_bytes()
    with pytest.raises(OutputError, match="is read; name another output"):
        bboxqa.convert(source, tmp_path / out, to=to, force=True)
    assert source.read_bytes() == before


def test_what_a_format_cannot_hold_is_counted_and_refused(tmp_path):
    skewed = {"bbox": [0, 0, 40, 30], "segmentation": SKEW}
    drawn = [(0, "ann", 0, skewed), (0, "7", 0, skewed), (0, "7", 1, {"bbox": BOX, "track": 3})]
    source = _source(tmp_path, drawn)
    for to, problem in (
        ("csv", r"2 polygons \(such as annotation 100\): csv holds no polygon: the box is written"),
        (
            "label-studio",
            r"1 annotation with 'track' \(annotation 102\): Label Studio has no place",
        ),
    ):
        out = tmp_path / f"out{ENDINGS[to]}"
        with pytest.raises(DatasetError, match=problem):
            bboxqa.convert(source, out, to=to)
        assert not out.exists()
    found = bboxqa.convert(source, tmp_path / "out.csv", to="csv", lossy=True)
    assert [loss.n for loss in found.losses] == [2]


@pytest.mark.parametrize(
    ("to", "n_without"), [("cvat", 2), ("voc", 2), ("labelme", 2), ("label-studio", 1), ("yolo", 1)]
)
def test_unknown_sizes_and_losses_are_refused_at_once(tmp_path, to, n_without):
    """The second image has no annotation."""
    images = [("a.jpg", 0, 0, None), ("b.jpg", 0, 0, None)]
    source = _source(tmp_path, [(0, "ann", 0, {"bbox": BOX, "my_note": "far away"})], images)
    out = tmp_path / f"out{ENDINGS.get(to, '')}"
    with pytest.raises(DatasetError) as caught:
        bboxqa.convert(source, out, to=to)
    sizes, *losses = caught.value.problems
    images = f"{n_without} image{'s' * (n_without > 1)}"
    assert re.match(f"{images} without width and height, such as 'a.jpg'; .* needs them", sizes)
    assert any("1 annotation with 'my_note'" in loss for loss in losses)
    assert (
        "--image-size 1920x1080, or --image-size DIR\nNothing was written." in caught.value.advice
    )
    with bboxqa.reading(image_size=(200, 100)):
        assert bboxqa.convert(source, out, to=to, lossy=True).n_annotations == 1


def test_what_is_not_written_needs_no_size(tmp_path):
    line = {"name": "polyline", "all_points_x": [1, 20], "all_points_y": [3, 40]}
    of_image = {"filename": "a.jpg", "regions": [{"shape_attributes": line}], "size": 1}
    source = tmp_path / "via.json"
    source.write_text(json.dumps({"a.jpg1": of_image | {"file_attributes": {}}}))
    bboxqa.convert(source, tmp_path / "yolo", to="yolo", lossy=True)
    assert (tmp_path / "yolo/labels/a.txt").read_text() == ""
    with pytest.raises(DatasetError, match="Label Studio needs them"):
        bboxqa.convert(source, tmp_path / "out.json", to="label-studio", lossy=True)


def test_nothing_is_replaced_unless_forced(tmp_path):
    source, out = _source(tmp_path), tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(OutputError, match="already exists"):
        bboxqa.convert(source, out, to="csv")
    assert out.read_text() == "mine"
    bboxqa.convert(source, out, to="csv", force=True)
    assert out.read_text().startswith("image,")
    # A link is not replaced.
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    target.write_text("{}")
    link.symlink_to(target)
    with pytest.raises(OutputError, match="is a link, which would be replaced"):
        bboxqa.convert(source, link, to="coco", force=True)
    assert (link.is_symlink(), target.read_text()) == (True, "{}")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match=r"loop.*cannot be written"):
        bboxqa.convert(source, tmp_path / "loop" / "out.json", to="coco")
    with pytest.raises(DatasetError, match="loop"):
        bboxqa.convert(tmp_path / "loop", out, to="csv", force=True)


@pytest.mark.parametrize(
    ("name", "to", "words", "better"),
    [
        ("x.zip", "yolo", "YOLO detect, which is a folder", "x"),
        ("Y.CSV", "voc", "Pascal VOC, which is a folder", "Y"),
        (".zip", "dota", "DOTA, which is a folder", "out"),
        ("r.json.gz", "coco", "COCO, which is one file", "r.json"),
        ("r.zip", "csv", "csv, which is one file", "r.csv"),
        ("my job.zip", "cvat", "CVAT, which is a folder", "my job"),
    ],
)
def test_a_name_of_another_kind_of_file_is_refused(tmp_path, name, to, words, better):
    source, out = _source(tmp_path, images=IMAGES[:1]), tmp_path / name
    with pytest.raises(OutputError) as error:
        bboxqa.convert(source, out, to=to, lossy=True)
    said, typed = str(error.value).split("; try: ")
    assert said.endswith(f"{name}: is no name of {words}")
    assert typed.strip("'").rpartition("/")[2] == better
    assert not out.exists()
    bboxqa.convert(source, tmp_path / better, to=to, lossy=True)
    assert (tmp_path / better).exists()


def test_the_command_says_what_it_wrote(tmp_path):
    outcome = run("convert", _source(tmp_path), tmp_path / "out.json", "--to", "coco")
    assert outcome.stdout.endswith("out.json: 2 images, 1 annotation, 2 annotators\n")
    outcome = run("convert", tmp_path / "out.json", tmp_path / "x", "--to", "label_studio")
    assert outcome.returncode == 2
    assert "did you mean 'label-studio'?" in outcome.stderr


NAMES = ["=1+1.jpg", "@a.jpg", "'=b.jpg", "-c.jpg", "'d.jpg", "-5"]


@pytest.mark.parametrize("to", ["coco", "label-studio", "labelme"])
@pytest.mark.parametrize("command", [["convert"], ["consensus", "-o"]])
def test_half_a_character_is_written_as_its_escape(command, to, tmp_path):
    source, out = write(tmp_path / "a.json", two_annotators()), tmp_path / f"b{ENDINGS.get(to, '')}"
    source.write_bytes(re.sub(rb'"[^"]*[.]jpg"', rb'"\\ud800.jpg"', source.read_bytes()))
    assert run(command[0], source, *command[1:], out, "--to", to, "--lossy").returncode == 0
    written_file = out if out.is_file() else next(out.rglob("*.json"))
    assert b"ud800.jpg" in written_file.read_bytes()


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_names_that_spreadsheets_would_run_are_read_back(to, tmp_path):
    people, labels = ["+ann", "=HYPERLINK(1)"], ["-cat", "@dog"]
    images = [(name, 90, 90, people) for name in NAMES]
    drawn = [(at, who, at % 2, BOX) for at in range(len(NAMES)) for who in people]
    content = document(images, drawn, labels)
    source, out = written(tmp_path / "s.json", content), tmp_path / f"out.{to}"
    bboxqa.convert(source, out, to=to)
    if to == "csv":
        rows = [*csv.reader(io.StringIO(out.read_text()))][1:]
        assert [*dict.fromkeys(row[0] for row in rows)] == [
            "'=1+1.jpg", "'@a.jpg", "''=b.jpg", "'-c.jpg", "'d.jpg", "-5",
        ]  # fmt: skip
        assert {row[4] for row in rows} == {"'+ann", "'=HYPERLINK(1)"}
    bboxqa.convert(out, tmp_path / "back.json", to="coco")
    back = json.loads((tmp_path / "back.json").read_bytes())
    assert [each["file_name"] for each in back["images"]] == NAMES
    assert [each["name"] for each in back["categories"]] == labels
    assert {each["annotator"] for each in back["annotations"]} == {*people}
    # Columns and rows are read by different code.
    data = bboxqa.read_coco(out)
    assert (set(data.image_names), data.category_names) == ({*NAMES}, (*labels,))
    assert data.annotator_names == (*people,)


VIDEO = """<annotations><version>1.1</version><meta><task><size>2</size><mode>interpolation</mode>
<assignee><username>ann</username></assignee><original_size><width>200</width><height>100</height>
</original_size></task></meta>{}</annotations>"""
TRACK = """<track id="{}" label="cat" source="file">
<box frame="0" keyframe="1" outside="0" occluded="0" xtl="{x}" ytl="9" xbr="60" ybr="70"/>
<box frame="1" keyframe="1" outside="0" occluded="0" xtl="{x}" ytl="9" xbr="60" ybr="70"/>
</track>"""


def test_tracks_of_a_video_are_a_column_and_other_attributes_are_named_as_losses(tmp_path):
    text = VIDEO.format("".join(TRACK.format(name, x=x) for name, x in ((4, 10), (7, 20))))
    source = tmp_path / "ann.xml"
    source.write_text(text)
    found = bboxqa.convert(source, tmp_path / "out.csv", to="csv", lossy=True)
    assert {each.what: each.n for each in found.losses} == {
        "annotations with 'attributes.keyframe'": 4
    }
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = [(float(row["x"]), row["track"]) for row in csv.DictReader(file)]
    assert rows == [(10, "4"), (20, "7")] * 2
    back = bboxqa.read_coco(tmp_path / "out.csv", min_annotators=1, tracks=True)
    assert back.tracks is not None
    assert len({*back.annotations.track.tolist()}) == 2
    keys = ("attributes.keyframe", "attributes.track_id", "source")
    losses = bboxqa.convert(source, tmp_path / "voc", to="voc", lossy=True).losses
    assert {f"annotations with '{key}'" for key in keys} <= {e.what for e in losses if e.n == 4}


@pytest.mark.parametrize(
    ("to", "lost"),
    [
        ("coco", ""),
        ("csv", "csv cannot hold it: the ids of 1 image, the ids of 1 category"),
        ("label-studio", "Label Studio cannot hold it: the ids of 1 image, the ids of 1 category"),
        (
            "cvat",
            "CVAT cannot hold it: the ids of 1 image, the ids of 1 annotation, the ids of 1 c",
        ),
    ],
)
def test_ids_that_are_texts_are_kept_or_noted(to, lost, tmp_path):
    content = document([("a.jpg", 90, 90, ["ann"])], [(0, "ann", 0, BOX)], ["cat"])
    content["images"][0]["id"] = content["annotations"][0]["image_id"] = "front"
    content["categories"][0]["id"] = content["annotations"][0]["category_id"] = "c"
    content["annotations"][0]["id"] = "box"
    out = tmp_path / f"out{ENDINGS.get(to, '')}"
    notes = bboxqa.convert(written(tmp_path / "source.json", content), out, to=to).notes
    assert [each.startswith(f"left out, as {lost}") for each in notes] == [True] * bool(lost)
    if to == "coco":
        found = json.loads(out.read_bytes())
        owns = [found[key][0]["own_id"] for key in ("images", "annotations", "categories")]
        assert owns == ["front", "box", "c"]
        assert [found[key][0]["id"] for key in ("images", "categories")] == [1, 1]
        assert bboxqa.validate(out, select=["S003", "I"]).findings == ()


def test_yolo_has_labels_where_trainers_look_for_them(tmp_path):
    """Ultralytics replaces the last folder images in the path of a picture by labels."""
    names = ["images/a.jpg", "train/images/v1/b.jpg", "v2/c.jpg"]
    images = [(name, 200, 100, ["ann"]) for name in names]
    source = written(
        tmp_path / "s.json", document(images, [(place, "ann", 0, BOX) for place in range(3)])
    )
    bboxqa.convert(source, tmp_path / "out", to="yolo", lossy=True)
    folder = tmp_path / "out/ann"
    listed = (folder / "train.txt").read_text().splitlines()
    assert listed == ["./images/a.jpg", "./images/train/v1/b.jpg", "./images/v2/c.jpg"]
    for each in listed:
        label = "/labels/".join(each.rsplit("/images/", 1)).replace(".jpg", ".txt")
        assert (folder / label).read_text().startswith("0 ")


def test_paths_are_unique_and_stay_in_the_output():
    found = safe_paths(["street/a.jpg", "a.png", "A.jpg", "../../etc/b.jpg", "/c.jpg"])
    paths = ["street/a", "a", "A (2)", "%2E%2E/%2E%2E/etc/b", "%00/c"]
    assert ["/".join(parts) for parts in found.values()] == paths
