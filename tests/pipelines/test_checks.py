"""What would falsify agreement stops before it is measured, with the finding of `validate`."""

import json
import shlex
import tarfile

import pytest
from support.cli import run
from support.datasets import annotation, document_of, image, write
from support.datasets import document as coco
from support.layouts import WRITTEN, document
from support.tool_files import zipped

import bboxqa
from bboxqa.report.findings import concise_lines

XYXY = WRITTEN["x1, y1, x2, y2"][1]
# What images alone tell, and what needs areas or outlines.
LAYOUTS = [
    ("x1, y1, x2, y2", {"areas": False, "outlines": False}),
    ("centre-x, centre-y, width, height", {"areas": False, "outlines": False}),
    ("parts of the image (0 to 1)", {"areas": False, "outlines": False}),
    ("y, x, height, width", {"areas": True, "outlines": True}),
]


def twice(text):
    """Return a file in which two annotators drew the same boxes."""
    content = json.loads(text)
    first = content["annotations"]
    second = [each | {"id": each["id"] + len(first)} for each in first]
    for name, records in (("ann", first), ("bob", second)):
        for each in records:
            each["annotator"] = name
    return content | {"annotations": [*first, *second]}


def in_zip(path):
    return zipped(path.with_suffix(".zip"), {path.name: path.read_bytes()})


def in_tar(path):
    whole = path.with_suffix(".tar")
    with tarfile.open(whole, "w") as archive:
        archive.add(path, path.name)
    return whole


@pytest.fixture(params=[None, in_zip, in_tar])
def pack(request):
    """Return what puts a file in an archive, and returns the path under which it is read."""
    return request.param or (lambda path: path)


def finding_of(path):
    """Return the only finding about layouts or repeats, as `validate` says it."""
    report = bboxqa.validate(path, select=["B005", "B006", "B007", "D001"])
    return next(concise_lines(report))


@pytest.mark.parametrize(("layout", "known"), LAYOUTS)
def test_boxes_in_another_layout_stop_with_the_finding_of_validate(layout, known, tmp_path, pack):
    content = twice(document(WRITTEN[layout][1], **known)[0])
    path = pack(write(tmp_path / "a.json", content))
    outcome = run("agree", path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {finding_of(path)}\n")
    assert f"look like {layout}: " in outcome.stderr
    is_file = path == tmp_path / "a.json"
    assert f"bboxqa validate {path}\n" in outcome.stderr
    assert "--no-checks" in outcome.stderr
    assert ("fixable with --fix" in run("validate", path).stdout) == is_file


def test_boxes_copied_to_all_images_stop(tmp_path, pack):
    """A track that a tool extends over images of other sizes: all agree on what nobody drew."""
    boxes = [(10.5, 10, 20, 30), (40.5, 30, 30, 30)]
    images = [image(number, width=100 + number, height=90) for number in range(1, 6)]
    records = [
        annotation(2 * number + place, image_id=number, bbox=box)
        for number in range(1, 6)
        for place, box in enumerate(boxes)
    ]
    path = pack(write(tmp_path / "a.json", twice(json.dumps(coco(records, images)))))
    outcome = run("agree", path)
    assert outcome.returncode == 2
    found = "B014 error 20 boxes have the same four numbers as others on images of more sizes"
    assert found in outcome.stderr
    assert run("agree", path, "--no-checks").returncode == 0
    assert run("agree", path, "--similarity", "centroid").returncode == 2
    for number, record in enumerate(records):
        record["bbox"] = [number, *record["bbox"][1:]]
    path = pack(write(tmp_path / "b.json", twice(json.dumps(coco(records, images)))))
    assert run("agree", path).returncode == 0


def test_whoever_knows_better_measures_all_the_same(tmp_path):
    path = write(tmp_path / "a.json", twice(document(XYXY)[0]))
    assert run("agree", path, "--no-checks").returncode == 0
    config = tmp_path / "c.toml"
    config.write_text("checks = false\n")
    assert run("agree", path, "--config", config).returncode == 0
    assert run("agree", path, "--config", config, "--checks").returncode == 2


@pytest.mark.parametrize("similarity", ["polygon", "mask"])
def test_outlines_are_compared_whatever_the_boxes_are(similarity, tmp_path):
    path = write(tmp_path / "a.json", twice(document(XYXY)[0]))
    outcome = run("agree", path, "--similarity", similarity)
    assert (outcome.returncode, outcome.stderr) == (0, "")


def repeated(n, total=100):
    """Return two annotators of one box an image, of whom one has `n` boxes twice."""
    places = range(1, total // 2 + 1)
    rows = [(place, who, 1, (10, 10, 20, 20)) for place in places for who in ("ann", "bob")]
    return document_of([*rows, *rows[1 : 2 * n : 2]], total // 2)


def test_many_annotations_twice_stop(tmp_path):
    path = write(tmp_path / "a.json", repeated(10))
    outcome = run("agree", path)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("Error: 10 problems:\n")
    assert f"  {finding_of(path)}\n" in outcome.stderr
    assert ": D001 error annotation " in outcome.stderr
    assert f"bboxqa validate {path}\n" in outcome.stderr
    run("validate", path, "--fix")
    assert run("agree", tmp_path / "a.fixed.json").returncode == 0


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("csv", False), ("parquet", False), ("label-studio", False), ("cvat", False),
        ("yolo", True), ("dota", False), ("voc", False), ("labelme", False),
    ],
)  # fmt: skip
def test_many_annotations_twice_stop_in_every_format(name, sizes, tmp_path):
    source = write(tmp_path / "a.json", repeated(50))
    out = tmp_path / ("out" + {"csv": ".csv", "parquet": ".parquet"}.get(name, ""))
    bboxqa.convert(source, out, to=name, lossy=True)
    given = ("--image-size", source) if sizes else ()
    outcome = run("agree", out, *given)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    if out.is_file():
        assert f"Error: {finding_of(out)}\n" in outcome.stderr
    else:
        assert outcome.stderr.startswith(f"Error: {out}/bob")
        assert ": D001 error 50 of 100 annotations are equal to an earlier one" in outcome.stderr
    (advised,) = [line for line in outcome.stderr.splitlines() if "bboxqa validate" in line]
    advised = shlex.split(advised[advised.index("bboxqa validate ") :])
    assert "D001 error" in run(*advised[1:]).stdout
    assert run("agree", out, "--no-checks", "--bootstrap", "0", *given).returncode == 0


def by(folder, *names, key="annotator"):
    """Write a file of two images with an annotation of each annotator."""
    rows = [(place, None, 1, (1, 1, 50, 40), {key: name}) for name in names for place in (1, 2)]
    return write(folder / "a.json", document_of(rows, 2))


def test_a_list_in_place_of_an_annotator_stops(tmp_path):
    path = by(tmp_path, "ann", ["bob", "cid"], "dora")
    outcome = run("agree", path, "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(
        f'Error: {path}: annotation 3 and 1 more: annotator is ["bob", "cid"]; expected the name '
        "of one annotator (inside an object: --annotator-key annotator.KEY)\n"
        f"For all findings, and what to do about them: bboxqa validate {path}\n"
    )
    assert "A001 error" in run("validate", path).stdout
    assert run("agree", path, "--bootstrap", "0", "--no-checks").returncode == 0


def test_an_object_in_place_of_an_annotator_stops_and_its_key_can_be_named(tmp_path):
    path = by(tmp_path, {"name": "ann"}, {"name": "bob"}, key="made_by")
    refused = run("agree", path, "--annotator-key", "made_by")
    assert refused.returncode == 2
    assert (
        'annotation 1 and 3 more: made_by is {"name": "ann"}; expected the name of one annotator '
        "(inside an object: --annotator-key made_by.KEY)\n"
    ) in refused.stderr
    outcome = run("agree", path, "--annotator-key", "made_by.name", "--bootstrap", "0")
    assert "2 annotators" in outcome.stdout


def test_annotations_to_ignore_are_crowds(tmp_path):
    drawn = [
        annotation(1, annotator="a"), annotation(2, annotator="b"),
        annotation(3, bbox=[50, 10, 20, 30], annotator="b", ignore=1),
        annotation(4, bbox=[50, 50, 20, 30], annotator="a", ignore=0),
    ]  # fmt: skip
    path = write(tmp_path / "export.json", coco(drawn))
    data = bboxqa.read_coco(path)
    assert data.annotations.iscrowd.tolist() == [number == 3 for number in data.annotations.id]
    result = bboxqa.agree(data, bootstrap=0)
    assert "1 annotation with ignore 1 taken as crowd; bboxqa validate: S017" in result.notes
    assert result.n_crowd == 1
    (found,) = bboxqa.validate(path, select=["S017"]).findings
    assert found.ids["annotation"] == 3
