"""Splits of one person that have images of the same names: copies, or other images."""

import time

import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

from bboxqa import DatasetError, read_coco

PEOPLE = ("ann", "bob")
CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def split(numbers, *, shift=0.0, first=0, more=()):
    """Return a document of these images with a box each, of which an image has the number."""
    images = [image(first + n, file_name=f"{n}.jpg", width=100, height=80) for n in numbers]
    annotations = [
        annotation(first + n, first + n, 1 + n % 2, (5 + n + shift, 9, 20, 20)) for n in numbers
    ]
    return document([*annotations, *more], images, CATEGORIES)


def written(folder, splits_of):
    for who in PEOPLE:
        for name, content in splits_of(who).items():
            (folder / who).mkdir(parents=True, exist_ok=True)
            write(folder / who / f"{name}.json", content)
    return folder


def test_a_split_that_another_one_has_as_well_counts_once(tmp_path):
    # The ids of both are different.
    folder = written(
        tmp_path, lambda _: {"train": split(range(1, 9)), "val": split((2, 5), first=40)}
    )
    data = read_coco(folder)
    assert data.annotator_names == PEOPLE
    assert data.image_names == tuple(f"{n}.jpg" for n in range(1, 9))
    assert len(data.annotations) == 16
    assert sum("have the same boxes in 2 images; the second is" in each for each in data.notes) == 2


def test_splits_that_overlap_in_part_are_refused(tmp_path):
    folder = written(tmp_path, lambda _: {"train": split(range(1, 7)), "val": split(range(5, 9))})
    expected = (
        r"ann/train\.json and .*ann/val\.json: 2 images of the same name, such as 5\.jpg, with the "
        "same boxes; expected other images"
    )
    with pytest.raises(DatasetError, match=expected):
        read_coco(folder)
    with pytest.raises(DatasetError, match=expected):
        read_coco({who: folder / who for who in PEOPLE})
    said = run("agree", folder)
    assert said.returncode == 2
    assert "measure one split at a time" in said.stderr


@pytest.mark.parametrize("shift", [3, 0.02])
def test_a_person_who_moved_the_boxes_of_copies_is_not_measured_twice(tmp_path, shift):
    def splits_of(who):
        moved = shift if who == "bob" else 0
        return {"train": split(range(1, 9)), "val": split((2, 5), shift=moved)}

    with pytest.raises(DatasetError, match=r"2 images of the same name, such as 2\.jpg, with"):
        read_coco(written(tmp_path, splits_of))


def test_other_boxes_are_those_of_other_images(tmp_path):
    folder = written(
        tmp_path, lambda _: {"train": split((1, 2, 3)), "val": split((1, 2), shift=30)}
    )
    data = read_coco(folder)
    assert len(data.image_names) == 5
    assert any("same names: if these are the same images" in each for each in data.notes)


def test_equal_boxes_in_images_of_other_sizes_are_those_of_other_images(tmp_path):
    def splits_of(_):
        val = split((1, 2))
        for each in val["images"]:
            each["height"] = 90
        return {"train": split((1, 2, 3)), "val": val}

    assert len(read_coco(written(tmp_path, splits_of)).image_names) == 5


def test_boxes_that_fill_images_do_not_show_that_these_are_copies(tmp_path):
    def splits_of(_):
        found = {"train": split((1, 2, 3)), "val": split((1, 2))}
        for content in found.values():
            for each in content["annotations"]:
                each["bbox"] = [0, 0, 100, 80]
        return found

    assert len(read_coco(written(tmp_path, splits_of)).image_names) == 5


@pytest.mark.parametrize("n_static", [1, 2, 8])
def test_boxes_of_a_fixed_camera_do_not_show_that_images_are_copies(tmp_path, n_static):
    # In either split, or in both, several images have the same boxes.
    def splits_of(_):
        found = {"train": split(range(1, 9)), "val": split((1, 2))}
        statics = [*found["train"]["annotations"][:n_static], *found["val"]["annotations"]]
        for each in statics:
            each |= {"bbox": [5, 9, 20, 20], "category_id": 1}
        return found

    data = read_coco(written(tmp_path, splits_of))
    assert (len(data.image_names), len(data.annotations)) == (10, 20)
    called = [note for note in data.notes if "images are called" in note]
    assert len(called) == 2
    assert all("if these are the same images, measure one split only" in note for note in called)


def test_copies_are_found_beside_images_of_equal_boxes(tmp_path):
    def splits_of(_):
        found = {"train": split(range(1, 9)), "val": split((1, 2, 5))}
        for content in found.values():
            for each in content["annotations"][:2]:
                each |= {"bbox": [5, 9, 20, 20], "category_id": 1}
        return found

    data = read_coco(written(tmp_path, splits_of))
    assert (len(data.image_names), len(data.annotations)) == (8, 16)
    assert sum("have the same boxes in 3 images" in note for note in data.notes) == 2


def test_few_equal_boxes_of_a_fixed_camera_are_no_copies(tmp_path):
    def splits_of(_):
        val = split(range(1, 13), shift=30)
        val["annotations"][4]["bbox"][0] -= 30
        return {"train": split(range(1, 13)), "val": val}

    assert len(read_coco(written(tmp_path, splits_of)).image_names) == 24


def test_a_copy_without_one_of_the_boxes_is_another_version(tmp_path):
    more = [annotation(90, 2, 1, (50, 9, 20, 20))]
    folder = written(
        tmp_path, lambda _: {"train": split(range(1, 9), more=more), "val": split((2, 5))}
    )
    with pytest.raises(DatasetError, match=r"1 image of the same name, such as 5\.jpg"):
        read_coco(folder)


@pytest.mark.parametrize("layout", ["files", "categories"])
def test_many_files_or_categories_are_compared_at_once(tmp_path, layout):
    # Comparing each two files took 10 s, and looking up each category in a list 7 s.
    n_files, n_categories = (140, 2) if layout == "files" else (1, 12_000)
    categories = [{"id": n, "name": f"c{n}"} for n in range(1, n_categories + 1)]
    for part in range(n_files):
        written(
            tmp_path,
            lambda who, part=part: {
                f"{name}_{part}": split((part,), shift=x + len(who)) | {"categories": categories}
                for x, name in ((1, "train"), (40, "val"))
            },
        )
    begun = time.process_time()
    data = read_coco(tmp_path)
    assert time.process_time() - begun < 4
    assert (data.annotator_names, len(data.image_names)) == (PEOPLE, 2 * n_files)
