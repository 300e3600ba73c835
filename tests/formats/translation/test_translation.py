"""Any format that is translated: sources that are folders, places of lines, what has no box."""

import pytest

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats import registry
from bboxqa.formats.document import Where
from bboxqa.formats.format import translated_format
from bboxqa.formats.source import members_of
from bboxqa.formats.translation.collector import Collector


def translate(path, add, _wanted):
    """Translate a folder with a text per image: label, x, y, width, height and degrees."""
    into = Collector("toy labels", add)
    for member in members_of(path):
        if not member.name.endswith(".toy"):
            continue
        image = into.image(member.name, Where(member.name, 1))
        image |= {"file_name": member.name.removesuffix("toy") + "jpg", "width": 100, "height": 80}
        image["annotators"].append(path.name)
        for line, text in enumerate(member.text().decode().splitlines(), start=1):
            where, (label, *numbers) = Where(member.name, line), text.split()
            record = {"image_id": image["id"], "annotator": path.name, "own_id": f"line {line}"}
            if len(numbers) < 4:
                into.annotation({**record, "shape": label}, where)
                continue
            record |= {"bbox": [float(each) for each in numbers[:4]]}
            record |= {"attributes": dict(zip(["rotation"], map(float, numbers[4:]), strict=False))}
            row = into.annotation({**record, "category_id": into.category(label, where)}, where)
            if label == "?":
                into.defect("T004", f"line {line}: has no label", where, row)
            if label == "!":
                into.defect("T001", f"line {line}: is odd", where)
    return into.done(["toys are read"])


def is_toy(folder):
    # A folder of such folders is none itself.
    return any(each.suffix == ".toy" for each in folder.iterdir())


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    found = translated_format("toy", (), lambda _: False, translate, recognises_folder=is_toy)
    monkeypatch.setitem(registry.FORMATS, "toy", found)


def labels(folder, **files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.toy").write_text(text)
    return folder


def people(tmp_path):
    labels(tmp_path / "all/ann", a="cat 1 1 9 9\ncat 30 1 9 9\ncat 60 1 9 9\n", b="")
    labels(tmp_path / "all/bob", a="cat 1 1 9 9\n", b="dog 5 5 9 9\n")
    return tmp_path / "all"


def test_a_folder_of_folders_is_one_source_for_each_person(tmp_path):
    data = bboxqa.read_coco(people(tmp_path))
    assert data.annotator_names == ("ann", "bob")
    assert data.image_names == ("a.jpg", "b.jpg")
    assert data.assigned.all()
    assert [source.name for source in data.sources] == [
        f"{tmp_path}/all/{n}" for n in ("ann", "bob")
    ]
    ann, bob = (source.name for source in data.sources)
    assert data.notes == (f"each of {ann} and {bob}: toys are read",)
    again = bboxqa.read_coco({"x": tmp_path / "all/ann", "y": tmp_path / "all/bob"})
    assert again.annotator_names == ("x", "y")


def test_findings_of_a_folder_stand_in_its_files(tmp_path):
    folder = labels(tmp_path / "ann", a="cat 1 1 9 9\n", b="cat 1 1 9 9\n\ncat 95 1 9 9\n")
    (folder / "b.toy").write_text("cat 1 1 9 9\n   ? 95 1 9 9\n")
    found = {each.code: each for each in bboxqa.validate(folder).findings}
    assert {"B003", "T004"} <= found.keys()
    for code in ("B003", "T004"):
        assert found[code].file == f"{folder}/b.toy"
        assert (found[code].spot.line, found[code].spot.column) == (2, 1)
        assert found[code].excerpt == "? 95 1 9 9"
        assert found[code].ids["annotation"] == "line 2"


def test_what_would_falsify_a_result_is_refused_with_its_place(tmp_path):
    labels(tmp_path / "ann", a="! 1 1 9 9\n")
    labels(tmp_path / "bob", a="cat 1 1 9 9\n")
    with pytest.raises(DatasetError) as caught:
        bboxqa.read_coco([tmp_path / "ann", tmp_path / "bob"])
    assert caught.value.problems == (f"{tmp_path}/ann/a.toy:1:1: T001 error line 1: is odd",)


def test_what_has_no_box_is_counted_and_not_compared(tmp_path):
    folder = labels(tmp_path / "ann", a="cat 1 1 9 9\ntag\ntag\npolyline 3\ncat 1 1 9 9 45\n")
    data = bboxqa.read_coco(folder, min_annotators=1, segmentation=False)
    assert len(data.annotations) == 2
    assert data.notes[:3] == (
        "toys are read",
        "1 rotated box is compared by the upright bounds; --similarity obb compares rotated boxes",
        "2 tags and 1 polyline are not compared",
    )
    assert bboxqa.validate(folder).files[0].n_annotations == 2


def test_other_folders_are_read_file_by_file(tmp_path):
    (tmp_path / "all").mkdir()
    with pytest.raises(DatasetError, match="is an empty folder"):
        bboxqa.read_coco(tmp_path / "all")
