"""Names of outputs that belong to another kind of file are refused."""

import pytest
from support.converted import document, written

import bboxqa
from bboxqa import OutputError

OUTPUTS = [
    ("x.zip", "yolo", "YOLO detect, which is a folder", "x"),
    ("Y.CSV", "voc", "Pascal VOC, which is a folder", "Y"),
    (".zip", "dota", "DOTA, which is a folder", "out"),
    ("r.json.gz", "coco", "COCO, which is one file", "r.json"),
    ("r.zip", "csv", "csv, which is one file", "r.csv"),
    ("my job.zip", "cvat", "CVAT, which is a folder", "my job"),
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
    assert said.endswith(f"{name}: is no name of {words}")
    assert typed.strip("'").rpartition("/")[2] == better
    assert not out.exists()
    bboxqa.convert(source, tmp_path / better, to=to, lossy=True)
    assert (tmp_path / better).exists()


def test_a_link_is_not_replaced(tmp_path):
    source, link, target = _source(tmp_path), tmp_path / "link.json", tmp_path / "target.json"
    target.write_text("{}")
    link.symlink_to(target)
    with pytest.raises(OutputError, match="is a link, which would be replaced"):
        bboxqa.convert(source, link, to="coco", force=True)
    assert (link.is_symlink(), target.read_text()) == (True, "{}")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match="is a link that leads to itself"):
        bboxqa.convert(source, tmp_path / "loop" / "out.json", to="coco")
