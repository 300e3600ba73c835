"""Tasks of Label Studio with several images: which of them tags show."""

import re
from time import process_time

import pytest
from support.cli import run
from support.studio import box, task, work, written
from support.tool_files import asked

from bboxqa import read_coco, reading, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.label_studio.tasks import tasks_of
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
    assert (
        "a tag shows (photo, thumb); if several tags show one image, set to_name" in data.notes[-1]
    )
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


def test_images_of_other_sizes_on_two_tags_are_read(tmp_path):
    large = {"original_width": 1920, "original_height": 1080}
    small = work(1, box(1, 1, 9, 9, to_name="a"))
    tasks = [task(1, small, work(2, box(1, 1, 9, 9, to_name="b", **large)), data=sides(1))]
    assert read_coco(written(tmp_path / "a.json", *tasks)).image_names == ("task 1/a", "task 1/b")


def test_a_tag_shows_the_only_image_of_some_tasks(tmp_path):
    """Either key may be that of the tag, as the other may be empty in these tasks."""
    tasks = [two_people(1, "img", data={"photo": "p1.jpg"}), two_people(2, "img"), two_people(3)]
    path = written(tmp_path / "a.json", *tasks)
    data = read_coco(path)
    assert data.image_names == ("p1.jpg", "task 2/img", "task 3/img")
    assert data.notes[-1].endswith("--columns image=photo names them")
    with reading(columns={"image": "photo"}):
        assert read_coco(path).image_names == ("p1.jpg", "p2.jpg", "p3.jpg")


def test_tags_of_several_projects_are_in_their_own_tasks(tmp_path):
    """In a file with more tags than a task has images."""
    tasks = [two_people(1, "a", "b"), two_people(2, "a"), two_people(3, "b", "c"), two_people(4)]
    data = read_coco(written(tmp_path / "a.json", *tasks))
    assert data.image_names == (
        "p4.jpg", "t4.jpg", "task 1/a", "task 1/b", "task 2/a", "task 3/b", "task 3/c"
    )  # fmt: skip
    assert (
        "a tag shows (photo, thumb); if several tags show one image, set to_name" in data.notes[-1]
    )


def test_a_tag_beside_a_known_one_shows_another_image(tmp_path):
    """Only the other key is offered, and the known one is refused."""
    tasks = [two_people(1, "photo", "r"), two_people(2, "r"), two_people(3)]
    path = written(tmp_path / "a.json", *tasks)
    data = read_coco(path)
    names = {name for n in (1, 2, 3) for name in (f"p{n}.jpg", f"task {n}/r")}
    assert {*data.image_names} == names
    assert data.notes[-1].endswith("(photo, thumb): --columns image=thumb names them")
    with reading(columns={"image": "thumb"}):
        data = read_coco(path)
    assert {name for name in data.image_names if name[0] == "t"} == {"t1.jpg", "t2.jpg", "t3.jpg"}
    with reading(columns={"image": "photo"}), pytest.raises(DatasetError) as caught:
        read_coco(path)
    assert (
        "is on the tag 'r', others are on 'photo': --columns image=photo would put them on one "
        "image; name another key"
    ) in caught.value.problems[0]
    # Regions of each task have this problem; it is said once.
    assert len(caught.value.problems) == 1


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


def test_two_tags_in_two_projects_are_told_apart_by_the_user(tmp_path):
    folder = in_projects(tmp_path, "a", "b")
    outcome = run("agree", folder, "--bootstrap", "0")
    assert outcome.returncode == 2
    assert outcome.stderr.endswith(
        "in these files, names have the numbers of tasks. Set to_name of each region to the key of "
        "data with its image: photo or thumb\n"
    )
    # The advice helps.
    for file in folder.iterdir():
        text = file.read_text().replace('"to_name": "a"', '"to_name": "photo"')
        file.write_text(text.replace('"to_name": "b"', '"to_name": "thumb"'))
    assert read_coco(folder).image_names == ("p.jpg", "t.jpg")


def test_numbers_of_tasks_are_no_folders_of_images(tmp_path):
    folder = in_projects(tmp_path, "photo", "b")
    for file in folder.iterdir():
        file.write_text(file.read_text().replace('"p.jpg"', f'"{file.stem}/p.jpg"'))
    with pytest.raises(DatasetError) as caught:
        read_coco(folder)
    assert caught.value.advice == (
        "Images are joined by file_name: --join name would join 1 more image, such as "
        "'ann/p.jpg' = 'bob/p.jpg'"
    )
    data = read_coco(folder, join="name")
    assert asked(data) == {"p.jpg": ["ann", "bob"], "task 1/b": ["ann"], "task 101/b": ["bob"]}


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
        ("image_1", "img-1", {"url": "https://x.org/case/{}"}),
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


def test_tags_of_their_own_in_each_task_take_no_time(tmp_path):
    """Comparing the words of each task with each tag took half a minute."""
    tasks = [two_people(n, f"t{n}", data={"image": "a.jpg", "photo9": "x"}) for n in range(2000)]
    path = written(tmp_path / "a.json", *tasks)
    start = process_time()
    assert len(read_coco(path).image_names) == 2000
    assert process_time() - start < 10


def test_images_of_tasks_are_looked_for_once(tmp_path):
    path = written(tmp_path / "a.json", two_people(1, "photo"), two_people(2, "photo"))
    first, second = tasks_of(path.read_bytes())
    assert (first.images, second.images) == (
        {"photo": ["p1.jpg"], "thumb": ["t1.jpg"]},
        {"photo": ["p2.jpg"], "thumb": ["t2.jpg"]},
    )
    assert first.images is first.images
