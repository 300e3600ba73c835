"""Categories that a map leaves out."""

import json

import numpy as np
import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

from bboxqa.pipelines.agree import agree
from bboxqa.pipelines.convert import convert
from bboxqa.pipelines.read import read_coco

CATEGORIES = [{"id": n, "name": name} for n, name in enumerate(("car", "shadow", "tree"))]


def record(number, who, image_id, category, x, **more):
    return annotation(number, image_id, category, bbox=[x, 0, 9, 9], annotator=who, **more)


@pytest.fixture
def path(tmp_path):
    random = np.random.default_rng(3)
    records = []
    for place in range(1, 9):
        for who in ("ann", "bob", "eve"):
            for x in range(0, 100, 20):
                if random.random() < 0.8:
                    category = int(random.integers(0, 3))
                    records.append(record(len(records), who, place, category, x))
    # On image 9, bob drew nothing but a shadow.
    records += [record(900, "ann", 9, 0, 0), record(901, "bob", 9, 1, 40)]
    return write(tmp_path / "all.json", document(records, [*map(image, range(1, 10))], CATEGORIES))


def without(path, name):
    """Return a file without a category, that lists who annotated each image in the other one."""
    content = json.loads(path.read_text())
    for each in content["images"]:
        own = {a["annotator"] for a in content["annotations"] if a["image_id"] == each["id"]}
        each["annotators"] = sorted(own)
    (gone,) = (each["id"] for each in content["categories"] if each["name"] == name)
    for key, column in (("categories", "id"), ("annotations", "category_id")):
        content[key] = [each for each in content[key] if each[column] != gone]
    return write(path.with_name("without.json"), content)


def test_leaving_out_equals_a_file_without_the_category_by_the_same_annotators(path):
    found = read_coco(path, category_map={"shadow": ""})
    expected = read_coco(without(path, "shadow"))
    assert found.category_names == expected.category_names == ("car", "tree")
    assert np.array_equal(found.assigned, expected.assigned)
    assert found.assigned[found.image_names.index("9.jpg")].tolist() == [True, True, False]
    for name in ("id", "image", "annotator", "category", "bbox"):
        assert np.array_equal(getattr(found.annotations, name), getattr(expected.annotations, name))
    assert agree(found, bootstrap=0).alpha == agree(expected, bootstrap=0).alpha


def test_all_categories_left_out(path):
    done = run("agree", path, "--map", "car=", "--map", "tree=", "--map", "shadow=")
    assert done.returncode == 2
    assert (
        "--map leaves out the categories of all annotations: 'car', 'shadow', 'tree'" in done.stderr
    )
    assert "Keep a category that is to be measured." in done.stderr


@pytest.mark.parametrize("to", ["coco", "cvat", "label-studio"])
def test_converted_files_are_without_the_category(path, tmp_path, to):
    options = {"category_map": {"shadow": ""}}
    done = convert(path, tmp_path / "out", to=to, lossy=True, **options)
    n = sum(each["category_id"] != 1 for each in json.loads(path.read_text())["annotations"])
    assert done.n_annotations == n
    assert "annotations of 'shadow' left out, as --map says" in " ".join(done.notes)
    expected, found = read_coco(path, **options), read_coco(tmp_path / "out")
    assert agree(found, bootstrap=0).alpha == agree(expected, bootstrap=0).alpha
