"""Tables and label files of one person each: images in which a person drew nothing."""

import json
from math import isnan

import pytest
from support.datasets import annotation, document, image

from bboxqa import agree, read_coco

HEADER = "image,category,x,y,width,height\n"
CATEGORIES = {"a": "cat", "b": "dog", "c": "cat", "d": "dog"}
NOTE = "without a list of who was asked"
DRAWN = {"ann": "abc", "bob": "abd", "cid": "ab"}


def tables(folder, *, empty=""):
    """Write a table by each person, and one of all; with a row without a box for image `empty`."""
    rows = {
        who: [f"{name}.jpg,{CATEGORIES[name]},1,1,20,20" for name in names]
        for who, names in DRAWN.items()
    }
    rows["cid"] += [f"{each}.jpg,,,,," for each in empty]
    (folder / "own").mkdir(parents=True)
    for who, lines in rows.items():
        (folder / "own" / f"{who}.csv").write_text(HEADER + "".join(f"{e}\n" for e in lines))
    both = "".join(f"{who},{line}\n" for who, lines in rows.items() for line in lines)
    (folder / "all.csv").write_text("annotator," + HEADER + both)
    return folder / "own", folder / "all.csv"


def measured(path, asked="authors"):
    found = agree(read_coco(path, asked=asked), bootstrap=0)
    part = found.thresholds[0]
    figures = (found.alpha, part.existence.f1, part.all_asked_alpha, part.all_asked_f1)
    return found, [each for each in figures if not isnan(each)]


@pytest.mark.parametrize("asked", ["authors", "all"])
@pytest.mark.parametrize("empty", ["", "d"])
def test_a_table_for_each_person_is_measured_as_one_of_all(tmp_path, empty, asked):
    (own, own_figures), (whole, figures) = (
        measured(path, asked) for path in tables(tmp_path, empty=empty)
    )
    assert own_figures == figures
    assert own.n_images == whole.n_images
    is_noted = asked == "authors" and not empty
    assert [any(NOTE in note for note in each.notes) for each in (own, whole)] == [is_noted] * 2
    if asked == "all" and not empty:
        # Two of three drew the same box in a and b, and one of three in c and d.
        assert own.n_images == 4


def test_a_coco_file_beside_tables_says_which_images_its_author_saw(tmp_path):
    own, _ = tables(tmp_path)
    table = own / "ann.csv"
    names = table.read_text().count("\n") - 1
    table.unlink()
    images = [{**image(n), "file_name": f"{'abc'[n - 1]}.jpg"} for n in range(1, names + 1)]
    content = document([annotation(1, 1, 1)], images, [{"id": 1, "name": "cat"}])
    (own / "ann.json").write_text(json.dumps(content))
    data = read_coco(sorted(own.iterdir()), asked="all")
    asked = dict(zip(data.image_names, data.assigned.tolist(), strict=True))
    # ann saw c and drew nothing; she did not see d.
    assert asked["c.jpg"] == [True, False, False]
    assert asked["d.jpg"] == [False, True, False]
