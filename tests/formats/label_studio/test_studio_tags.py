"""Tasks of Label Studio with several images: which of them tags show."""

import re

import pytest
from support.cli import run
from support.studio import box, task, work, written

from bboxqa import read_coco, reading, validate
from bboxqa.core.errors import DatasetError
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.compare import compare_files


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


@pytest.mark.parametrize("columns", [{}, {"image": "photo"}])
def test_cancelled_annotations_show_no_image(tmp_path, columns):
    cancelled = work(3, box(1, 1, 9, 9, to_name="thumb"), was_cancelled=True)
    tasks = [two_people(1, "photo"), two_people(2, "photo")]
    tasks[0]["annotations"].append(cancelled)
    path = written(tmp_path / "a.json", *tasks)
    with reading(columns=columns):
        data = read_coco(path)
        assert validate(path).files[0].n_images == 2
    assert data.image_names == ("p1.jpg", "p2.jpg")


def test_predictions_that_were_reviewed_show_no_image(tmp_path):
    before = {"model_version": "ann", "result": [box(1, 1, 9, 9, to_name="thumb")]}
    first, second = (two_people(n, "photo", data=sides(n) | {"bboxqa": "review"}) for n in (1, 2))
    path = written(tmp_path / "a.json", first | {"predictions": [before]}, second)
    assert read_coco(path).image_names == ("p1.jpg", "p2.jpg")
    not_reviewed = first | {"predictions": [before], "annotations": []}
    path = written(tmp_path / "b.json", not_reviewed, second)
    assert {*read_coco(path).image_names} == {"p1.jpg", "p2.jpg", "t1.jpg", "t2.jpg"}


def in_projects(folder, *tags, content=""):
    """Write a file for each person, with tasks of other numbers that show the same images."""
    for who, first in (("ann", 1), ("bob", 101)):
        shapes = [box(10 * place, 1, 9, 9, to_name=tag) for place, tag in enumerate(tags)]
        data = {"photo": f"{content}p.jpg", "thumb": f"{content}t.jpg"}
        written(folder / f"{who}.json", task(first, work(1, *shapes), data=data))
    return folder


def test_images_that_both_versions_list_are_not_added(tmp_path):
    """Somebody drew on thumbnails in one version only, and nobody on the logo."""
    data = sides(1) | {"logo": "logo.png"}
    few, more = (
        written(tmp_path / f"{name}.json", two_people(1, *tags, data=data), two_people(2))
        for name, tags in (("few", ["photo"]), ("more", ["photo", "thumb"]))
    )
    of_photos, of_thumbnails = ({f"{side}{n}.jpg" for n in (1, 2)} for side in "pt")
    for versions in ((few, more), (more, few)):
        assert in_both(*versions) == of_photos | of_thumbnails
    # Nobody drew on thumbnails in either version.
    assert in_both(few, few) == of_photos


def in_both(before, after):
    """Return the images that two versions have, which are all."""
    images = compare_files(before, after, AgreeSettings(bootstrap=0)).images
    assert {*images["status"].tolist()} == {"both"}
    return {*images["image_before"].tolist()}


@pytest.mark.parametrize(
    ("key", "tag", "data"),
    [
        ("image", "image", {"project_url": "https://x.org/project"}),
        ("image", "image", {"preview": "preview_{}.png"}),
    ],
)
@pytest.mark.parametrize("columns", [{}, {"image": "url"}])
def test_a_word_under_the_key_of_a_tag_is_the_image_beside_a_url(tmp_path, key, tag, data, columns):
    """The last task has no region: it is as the others are."""
    of_tasks = [
        {key: f"scan_{n}"} | {other: url.format(n) for other, url in data.items()}
        for n in (1, 2, 3)
    ]
    tasks = [two_people(n, tag, data=each) for n, each in enumerate(of_tasks[:2], start=1)]
    last = task(3, work(1), work(2), data=of_tasks[2])
    with reading(columns=columns):
        found = read_coco(written(tmp_path / "a.json", *tasks, last))
    drawn = {found.image_names[row] for row in found.annotations.image}
    assert drawn == {"scan_1", "scan_2"}
    if not columns or "url" not in data:
        assert found.image_names == ("scan_1", "scan_2", "scan_3")
        (other,) = data
        assert found.notes[-1].endswith(
            f"under {other!r} in the data of tasks left out: no region is on any of them"
        )


def test_a_key_of_the_user_that_no_task_has_is_told(tmp_path):
    path = written(tmp_path / "a.json", two_people(1, "photo"), two_people(2, "photo"))
    told = "--columns image=foo names no image: tasks have images under 'photo', 'thumb'"
    with reading(columns={"image": "foo"}):
        assert told in read_coco(path).notes
    with reading(columns={"image": "thumb"}):
        assert not any("names no image" in note for note in read_coco(path).notes)
