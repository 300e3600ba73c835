"""Names of images from URLs, parts of which are the same for other images."""

import pytest
from support.cli import run
from support.studio import box, task, work, written
from support.tool_files import asked

from bboxqa import read_coco, reading
from bboxqa.core.errors import DatasetError

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


def test_a_query_that_asks_for_a_thumbnail_is_no_part_of_names(tmp_path):
    works = [work(who, BOX) for who in (1, 2)]
    data = {"image": "https://h/a.png?w=800", "thumb": "https://h/a.png?w=90"}
    found = read_coco(written(tmp_path / "a.json", task(1, *works, data=data)))
    assert found.image_names == ("a.png",)
    (note,) = found.notes
    assert note.startswith("1 image under 'thumb' in the data of tasks left out")


def in_projects(folder, of_bob, key="url"):
    """Write a file for ann and one for bob, whose tasks show two images each, on one tag."""
    for person, (who, order) in enumerate((("ann", "ab"), ("bob", of_bob))):
        tasks = [
            task(number, work(person, box(9 if name == "a" else 50, 1, 9, 9, to_name="tag")),
                 data={key: f"/data/upload/1/0a1b2c3{number}-{name}.jpg", "preview": "p.jpg"})
            for number, name in enumerate(order, start=1)
        ]  # fmt: skip
        written(folder / f"{who}.json", *tasks)
    return folder


def test_images_named_by_tasks_of_different_projects_are_refused(tmp_path):
    folder = in_projects(tmp_path, "ba")
    outcome = run("agree", folder, "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == (
        f"Error: {folder / 'ann.json'} and {folder / 'bob.json'}: image 'task 1/tag' is named by "
        "its task, whose data differ in the two files ('url'); expected names of images\n"
        "Say which key of the data has the image: --columns image=KEY (one of: preview, url); if "
        "several tags show one image each, set to_name of each region to its key\n"
    )
    with reading(columns={"image": "url"}):
        data = read_coco(folder)
    assert data.image_names == ("a.jpg", "b.jpg")
    assert data.annotations.bbox[:, 0].tolist() == [18, 18, 100, 100]


@pytest.mark.parametrize("of_bob", ["ab", "ba"])
def test_images_inside_of_files_are_told_apart(tmp_path, of_bob):
    for person, (who, order) in enumerate((("ann", "ab"), ("bob", of_bob))):
        addresses = [f"data:image/png;base64,{each * 8}" for each in order]
        read(tmp_path / f"{who}.json", *addresses, who=(person,))
    if of_bob == "ab":
        assert read_coco(tmp_path).image_names == ("task 1", "task 2")
        return
    with pytest.raises(DatasetError, match="image 'task 1' is named by its task") as caught:
        read_coco(tmp_path)
    assert caught.value.advice == (
        "Give images a URL in place of their content, by which they can be told apart."
    )


def by_number(folder, *data_of_bob, data):
    """Write a file for ann and one for bob, with tasks 1 and 2, which have the given data."""
    for person, (who, of_tasks) in enumerate((("ann", data), ("bob", data_of_bob))):
        numbered = enumerate(of_tasks, start=1)
        tasks = [task(n, work(person, BOX), data=each) for n, each in numbered]
        written(folder / f"{who}.json", *tasks)
    return folder


DICOM = [
    {"slice": number, "hospital": "north", "dicom": f"s3://shop/{number}.dcm"} for number in (1, 2)
]


def test_tasks_with_other_data_that_names_no_image_are_refused(tmp_path):
    folder = by_number(tmp_path, *DICOM[::-1], data=DICOM)
    outcome = run("agree", folder, "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == (
        f"Error: {folder / 'ann.json'} and {folder / 'bob.json'}: image 'task 1' is named by its "
        "task, whose data differ in the two files ('dicom', 'slice'); expected names of images\n"
        "Say which key of the data has the image: --columns image=KEY (one of: dicom, hospital, "
        "slice); if several tags show one image each, set to_name of each region to its key\n"
    )
    with reading(columns={"image": "dicom"}):
        data = read_coco(folder)
    assert data.image_names == ("1.dcm", "2.dcm")
    assert data.assigned.all()
    assert data.notes == ()


def test_a_merged_file_has_a_task_for_each_data(tmp_path):
    tasks = [task(1, work(1, BOX), work(2), data=each) for each in DICOM]
    twice = [task(1, work(3, BOX), data=DICOM[0])]
    data = read_coco(written(tmp_path / "a.json", *tasks, *twice))
    assert asked(data) == {"task 1": ["1", "2", "3"], "task 1 (2)": ["1", "2"]}


def test_a_task_without_image_that_shares_its_id_is_another_one(tmp_path):
    works = [work(who, BOX) for who in (1, 2)]
    tasks = [task(7, *works, data=each) for each in ({"image": "a.jpg"}, DICOM[0])]
    data = read_coco(written(tmp_path / "a.json", *tasks))
    assert data.image_names == ("a.jpg", "task 7 (2)")
    (note,) = data.notes
    assert note.startswith(
        "1 image named by the number of its task: no value of data names an image. Say which key "
        "of the data has the image: --columns image=KEY (one of: dicom, hospital, slice)"
    )


@pytest.mark.parametrize(
    "caption", ["1.jpg was bad", "see 1.jpg for details", "see https://x.org/1.jpg\nfor details"]
)
def test_a_sentence_with_the_name_of_a_picture_is_no_image(tmp_path, caption):
    data = {"photo": "1.jpg", "caption": caption}
    works = [work(who, box(1, 1, 9, 9, to_name="img")) for who in (1, 2)]
    found = read_coco(written(tmp_path / "a.json", task(1, *works, data=data)))
    assert found.image_names == ("1.jpg",)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("day 1.jpg", "day 1.jpg"),
        ("day 1.jpg?page=2", "day 1.jpg"),
        ("/data/upload/1/0a1b2c3d-day.jpg (1)", "day.jpg (1)"),
        ("https://x.org/day.jpg (1)", "day.jpg (1)"),
    ],
)
def test_names_of_pictures_may_have_blanks(tmp_path, address, name):
    works = [work(who, box(1, 1, 9, 9, to_name="x")) for who in (1, 2)]
    path = written(tmp_path / "a.json", task(1, *works, data={"x": address}))
    assert read_coco(path).image_names == (name,)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/data/local-files/?d=Study 1/slice 0.dcm", "Study 1/slice 0.dcm"),
        ("data/local-files/?d=Study 1/slice 0.dcm", "Study 1/slice 0.dcm"),
        ("/data/upload/3/0a1b2c3d-My photo.HEIC", "My photo.HEIC"),
        ("gs://bucket/Day 1/frame 0", "Day 1/frame 0"),
        ("https://x.org/get?name=my photo", "get?name=my photo"),
    ],
)
def test_addresses_may_have_blanks_and_any_ending(tmp_path, address, name):
    """Words that hold one beside it are no image."""
    note = {"image_note": "see https://x.org/7 for details", "image_state": "good"}
    works = [work(who, box(1, 1, 9, 9, to_name="x")) for who in (1, 2)]
    path = written(tmp_path / "a.json", task(1, *works, data={"image": address} | note))
    assert read_coco(path).image_names == (name,)


def test_any_text_under_the_key_of_the_user_names_an_image(tmp_path):
    works = [work(who, BOX) for who in (1, 2)]
    of_tasks = [{"place": f"Study 1, slice {number}", "slice": number} for number in (1, 2)]
    path = written(tmp_path / "a.json", *(task(7, *works, data=each) for each in of_tasks))
    with reading(columns={"image": "place"}):
        assert read_coco(path).image_names == ("Study 1, slice 1", "Study 1, slice 2")
    with reading(columns={"image": "slice"}):
        assert read_coco(path).image_names == ("1", "2")
