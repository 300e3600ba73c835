"""Tasks of Label Studio with several images: which of them tags show."""

import re

import pytest
from support.cli import run
from support.studio import box, task, work, written

from bboxqa import read_coco, reading
from bboxqa.core.errors import DatasetError


def sides(number):
    """Return the data of a task with two images."""
    return {"photo": f"p{number}.jpg", "thumb": f"t{number}.jpg"}


def two_people(number, *tags, data=None):
    """Return a task in which two people drew on each of the tags."""
    shapes = [box(10 * place, 1, 9, 9, to_name=tag) for place, tag in enumerate(tags, start=1)]
    return task(number, *(work(who, *shapes) for who in (1, 2)), data=data or sides(number))


def of_each(number, *tags):
    """Return a task in which each person drew on another tag."""
    works = [work(who, box(10, 1, 9, 9, to_name=tag)) for who, tag in enumerate(tags, start=1)]
    return task(number, *works, data=sides(number))


@pytest.mark.parametrize(
    "tasks",
    [
        [two_people(1, "a", "b"), two_people(2)],
        [two_people(1, "a"), two_people(2, "b"), two_people(3)],
        [of_each(1, "a", "b"), two_people(2, "a"), two_people(3)],
        [of_each(1, "a", "b"), of_each(2, "b", "a")],
    ],
)
def test_two_tags_are_two_images_of_each_task(tmp_path, tasks):
    """People draw where they see something, which may be in one image of a task only."""
    path = written(tmp_path / "a.json", *tasks)
    data = read_coco(path)
    numbers = range(1, len(tasks) + 1)
    assert {*data.image_names} == {f"task {n}/{tag}" for n in numbers for tag in "ab"}
    assert data.assigned.all()
    assert "(one of: photo, thumb); if several tags show one image each" in data.notes[-1]
    with reading(columns={"image": "photo"}), pytest.raises(DatasetError) as caught:
        read_coco(path)
    (problem,) = caught.value.problems
    assert problem.endswith(
        "is on the tag 'b', others are on 'a': --columns image=photo would put them on one image; "
        "leave it out"
    )


def test_boxes_in_two_images_of_a_task_never_match(tmp_path):
    tasks = [of_each(1, "a", "b"), of_each(2, "a", "a"), of_each(3, "b", "b")]
    outcome = run("agree", written(tmp_path / "a.json", *tasks), "--bootstrap", "0")
    assert re.search(r"Existence: F1 .* = 0\.6667\n", outcome.stdout)
