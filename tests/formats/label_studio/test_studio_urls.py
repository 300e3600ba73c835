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
        *(([f"https://h/img?{key}=1", f"https://h/img?{key}=2"], [f"img?{key}=1", f"img?{key}=2"])
          for key in ("v", "rev", "_", "se", "sp", "sr", "sk", "sign", "q-page")),
        (["https://h/a.ashx?f=1.jpg", "https://h/a.ashx?f=2.jpg"],
         ["a.ashx?f=1.jpg", "a.ashx?f=2.jpg"]),
        (["/data/upload/1/0a1b2c3d-a.png?p=1", "/data/upload/1/0a1b2c3d-a.png?p=2"],
         ["a.png?p=1", "a.png?p=2"]),
        (["https://h/a.jpg?v=1", "https://h/b.jpg?v=1"], ["a.jpg", "b.jpg"]),
        (["s3://shop/day/scene#8.png", "s3://shop/day/scene#9.png"],
         ["day/scene#8.png", "day/scene#9.png"]),
    ],
)  # fmt: skip
def test_images_have_names_of_their_own(tmp_path, addresses, names):
    data = read(tmp_path / "a.json", *addresses)
    assert data.image_names == tuple(names)
    assert len(data.annotations) == 4


SIGNATURES = [
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date={0}&X-Amz-Expires=3600&X-Amz-Signature=0a{0}",
    "X-Goog-Credential=a%40b.c&X-Goog-Date={0}&X-Goog-Signature=0a{0}",
    "AWSAccessKeyId=AKIA&Signature=a{0}%3D&Expires=171{0}",
    "GoogleAccessId=a%40b.c&Expires=171{0}&Signature=a{0}",
    "sv=2022-11-02&st=2024-0{0}-01&se=2024-0{0}-02&sr=b&sp=r&sig=a{0}%3D",
    "Policy=a{0}&Signature=b{0}&Key-Pair-Id=APKA",
    "alt=media&token=0a1b-{0}",
    "v=170000000{0}",
    "_=170000000{0}&rev=170000000{0}000",
    "q-sign-algorithm=sha1&q-ak=A&q-sign-time=17{0};18{0}&q-signature=a{0}",
    "sign=0a{0}",
]


@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("path", ["https://h/b/a.jpg", "https://h/b/7"])
def test_signatures_are_no_part_of_names(tmp_path, path, signature):
    first, second = (f"{path}?{signature.format(each)}" for each in (1, 2))
    whole = read(tmp_path / "a.json", first, second)
    (name,) = whole.image_names
    assert name.removesuffix("?alt=media") == path.removeprefix("https://h/")
    assert not any("query" in note for note in whole.notes)
    # Two exports are signed at two times.
    both = tmp_path / "both"
    both.mkdir()
    for who, address in ((1, first), (2, second)):
        read(both / f"{who}.json", address, who=(who,))
    assert read_coco(both).assigned.tolist() == [[True, True]]


def test_images_named_by_tasks_of_different_projects_are_refused(tmp_path):
    for who, order in enumerate(("ab", "ba")):
        tasks = [task(n, work(who, BOX), data={"text": each}) for n, each in enumerate(order, 1)]
        written(tmp_path / f"{who}.json", *tasks)
    outcome = run("agree", tmp_path, "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "image 'task 1' is named by the number of its task, whose data differ" in outcome.stderr
    with reading(columns={"image": "text"}):
        assert read_coco(tmp_path).image_names == ("a", "b")
