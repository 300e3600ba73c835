"""Several files of one format in an archive, which are read like those of a folder."""

import json
import tarfile
import zipfile

import pytest
from support import cli
from support.datasets import annotation, document, image
from support.studio import box, task, work

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.sources import list_files


def studio(left, who):
    return json.dumps([task(number, work(who, box(left, 10, 20, 20))) for number in (1, 2)])


def datumaro(left, _who):
    shape = {"id": 0, "type": "bbox", "label_id": 0, "bbox": [left, 10, 20, 20], "attributes": {}}
    item = {"id": "a", "annotations": [shape], "image": {"path": "a.jpg", "size": [80, 100]}}
    labels = {"label": {"labels": [{"name": "cat"}]}}
    return json.dumps({"info": {}, "categories": labels, "items": [item]})


def coco(left, _who):
    return json.dumps(document([annotation(1, bbox=[left, 10, 20, 20])], [image(1)]))


def results(left, _who):
    found = {"image_id": 1, "category_id": 1, "bbox": [left, 10, 20, 20], "score": 0.9}
    return json.dumps([found])


def table(left, _who):
    rows = (f"{name}.jpg,cat,{left},10,20,20" for name in "ab")
    return "\n".join(("image,label,x,y,width,height", *rows, ""))


def cvat(left, who):
    drawn = f'<box label="cat" xtl="{left}" ytl="10" xbr="{left + 20}" ybr="30"/>'
    shown = f'<image id="0" name="a.jpg" width="100" height="80">{drawn}</image>'
    meta = f"<meta><job><assignee>{who}</assignee></job></meta>" if who else ""
    return f"<annotations><version>1.1</version>{meta}{shown}</annotations>"


KINDS = {
    "cvat": (cvat, "xml"),
    "studio": (studio, "json"),
    "datumaro": (datumaro, "json"),
    "coco": (coco, "json"),
    "results": (results, "json"),
    "table": (table, "csv"),
}


def placed(folder, **contents):
    """Write files, whose names have `__` in place of a point, and return their folder."""
    folder.mkdir()
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def zipped(folder):
    path = folder.parent / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return path


def packed_tar(folder):
    path = folder.parent / "all.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file in sorted(folder.iterdir()):
            archive.add(file, file.name)
    return path


def of_people(tmp_path, kind):
    content, end = KINDS[kind]
    return placed(
        tmp_path / "all", **{f"ann__{end}": content(10, "ann"), f"bob__{end}": content(12, "bob")}
    )


@pytest.mark.parametrize("pack", [zipped, packed_tar])
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_people_are_read_as_those_of_a_folder(tmp_path, kind, pack):
    folder = of_people(tmp_path, kind)
    expected, data = bboxqa.read_coco(folder), bboxqa.read_coco(pack(folder))
    assert data.annotator_names == expected.annotator_names == ("ann", "bob")
    assert len(data.annotations) == len(expected.annotations)
    assert data.image_names == expected.image_names
    assert data.annotations.bbox.tolist() == expected.annotations.bbox.tolist()


def test_one_file_can_be_named(tmp_path):
    path = zipped(of_people(tmp_path, "studio"))
    assert bboxqa.read_coco(path / "bob.json", min_annotators=1).annotator_names == ("bob",)
    with pytest.raises(DatasetError, match=r"no such file in the archive; it has ann.json"):
        bboxqa.read_coco(path / "eve.json")
    done = cli.run(
        "agree", "--annotator", f"x={path}/ann.json", "--annotator", f"y={path}/bob.json"
    )
    assert "2 annotators" in done.output


def test_a_pattern_chooses_files_of_an_archive(tmp_path):
    names = ("pre/ann.json", "pre/bob.json", "post/ann.json", "post/bob.json")
    path = tmp_path / "in/all.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for place, name in enumerate(names):
            box = annotation(1, bbox=[10 + place, 10, 20, 20])
            archive.writestr(name, json.dumps(document([box], [image(1)])))
    for source in (path, path.parent):
        assert list_files([source], "ann.json") == [path / names[2], path / names[0]]
        assert list_files([source], "pre/*") == [path / names[0], path / names[1]]
        # All files of an archive that matches are read.
        assert len(list_files([source], "*.zip")) == 4
        assert cli.run("agree", source, "--pattern", "ann.json", "--bootstrap", "0").returncode == 0
    refused = cli.run("agree", path, "--pattern", "eve.json")
    assert refused.returncode == 2
    problem = "no file that matches 'eve.json' is of a known format (4 files, such as post/ann"
    assert f"{path}: {problem}" in refused.stderr


def test_folders_of_people_in_an_archive_share_its_pictures_and_class_names(tmp_path):
    folder = placed(tmp_path / "all", data__yaml="names: [cat, dog]\n")
    for who, label in (("ann", "1 .5 .5 .2 .2"), ("bob", "1 .5 .5 .3 .2")):
        (folder / who / "labels").mkdir(parents=True)
        (folder / who / "labels/a.txt").write_text(label)
    (folder / "images").mkdir()
    (folder / "images/a.ppm").write_bytes(b"P6 100 80 255\n" + bytes(24000))
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    for source in (folder, path):
        data = bboxqa.read_coco(source)
        assert data.annotator_names == ("ann", "bob")
        assert data.attribution == "one folder per annotator"
        assert data.image_size.tolist() == [[100, 80]]
        assert data.category_names == ("cat", "dog")
        assert [each.name for each in data.sources] == [f"{source}/ann", f"{source}/bob"]
