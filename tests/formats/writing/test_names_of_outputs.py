"""Names of outputs that belong to another kind of file are refused."""

import pytest
from support.converted import document, written

import bboxqa
from bboxqa import OutputError

OUTPUTS = [
    ("x.zip", "yolo", "an archive, which is not written; YOLO detect is a folder", ["x"]),
    ("Y.CSV", "voc", "a file; Pascal VOC is a folder", ["Y"]),
    ("a.json", "labelme", "a file; LabelMe is a folder", ["a"]),
    (".zip", "dota", "an archive, which is not written; DOTA is a folder", ["out"]),
    ("r.tar.gz", "coco", "an archive, which is not written; COCO is one file", ["r.json"]),
    ("r.json.gz", "coco", "an archive, which is not written; COCO is one file", ["r.json"]),
    ("r.zip", "csv", "an archive, which is not written; csv is one file", ["r.csv"]),
    (
        "my job.zip",
        "cvat",
        "an archive, which is not written; CVAT is a folder, or one file of one annotator",
        ["my job", "my job.xml"],
    ),
]


def _source(tmp_path):
    images = [("a.jpg", 200, 100, ["ann"])]
    return written(tmp_path / "source.json", document(images, [(0, "ann", 0, [20, 10, 60, 40])]))


@pytest.mark.parametrize(("name", "to", "words", "better"), OUTPUTS)
def test_a_name_of_another_kind_of_file_is_refused(tmp_path, name, to, words, better):
    source, out = _source(tmp_path), tmp_path / name
    with pytest.raises(OutputError) as error:
        bboxqa.convert(source, out, to=to, lossy=True)
    said, typed = str(error.value).split("; try: ")
    assert said.endswith(f"{name}: is the name of {words}")
    assert [each.strip("'").rpartition("/")[2] for each in typed.split(" or ")] == better
    assert not out.exists()
    for each in better:
        bboxqa.convert(source, tmp_path / each, to=to, lossy=True)
        assert (tmp_path / each).exists()
