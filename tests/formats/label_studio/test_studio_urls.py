"""Names of images from URLs, parts of which are the same for other images."""

import pytest
from support.cli import run
from support.studio import box, task, work, written

from bboxqa import read_coco, reading

BOX = box(1, 1, 9, 9)
DRIVE = "https://drive.google.com/uc?export=view&id="


def read(path, *addresses, who=(1, 2)):
    """Return the data set of a file with a task for each URL."""
    works = [work(each, BOX) for each in who]
    tasks = [task(n, *works, data={"image": each}) for n, each in enumerate(addresses, start=1)]
    return read_coco(written(path, *tasks), min_annotators=1)


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        ([f"{DRIVE}1a", f"{DRIVE}2b"], ["uc?export=view&id=1a", "uc?export=view&id=2b"]),
        (["https://h/img?id=5", "https://h/img?id=6"], ["img?id=5", "img?id=6"]),
        (["https://h/view?v=5a", "https://h/view?v=6b"], ["view?v=5a", "view?v=6b"]),
        (["https://h/a.ashx?f=1.jpg", "https://h/a.ashx?f=2.jpg"],
         ["a.ashx?f=1.jpg", "a.ashx?f=2.jpg"]),
        (["/data/upload/1/0a1b2c3d-a.png?p=1", "/data/upload/1/0a1b2c3d-a.png?p=2"],
         ["data/upload/1/0a1b2c3d-a.png?p=1", "data/upload/1/0a1b2c3d-a.png?p=2"]),
        (["https://h/a.jpg?v=1", "https://h/b.jpg?v=1"], ["a.jpg", "b.jpg"]),
        (["s3://shop/day/scene#8.png", "s3://shop/day/scene#9.png"],
         ["day/scene#8.png", "day/scene#9.png"]),
    ],
)  # fmt: skip
def test_images_have_names_of_their_own(tmp_path, addresses, names):
    data = read(tmp_path / "a.json", *addresses)
    assert data.image_names == tuple(names)
    assert len(data.annotations) == 4


@pytest.mark.parametrize(
    "signature", ["X-Amz-Date={0}&X-Amz-Signature=0a{0}", "se={0}&sig=a{0}%3D"]
)
def test_signatures_are_no_part_of_names_of_pictures(tmp_path, signature):
    # Two exports are signed at two times.
    for who in (1, 2):
        address = f"https://h/b/a.jpg?{signature.format(who)}"
        assert read(tmp_path / f"{who}.json", address, who=(who,)).image_names == ("b/a.jpg",)
    assert read_coco(tmp_path).assigned.tolist() == [[True, True]]


def test_images_named_by_tasks_of_different_projects_are_refused(tmp_path):
    for who, order in enumerate(("ab", "ba")):
        tasks = [task(n, work(who, BOX), data={"text": each}) for n, each in enumerate(order, 1)]
        written(tmp_path / f"{who}.json", *tasks)
    outcome = run("agree", tmp_path, "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "image 'task 1' is named by the number of its task, whose data differ" in outcome.stderr
    with reading(columns={"image": "text"}):
        assert read_coco(tmp_path).image_names == ("a", "b")
