"""M: images on disk."""

import json

import pytest
from support.cli import run
from support.pictures import save
from support.validation import codes, document_of, exact, findings, whole_file

from bboxqa import validate
from bboxqa.formats.scanner import read_bytes
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.document import Document
from bboxqa.rules.fixes import fix
from bboxqa.rules.pictures import scan_images
from bboxqa.rules.runner import validate_documents


def images(*names, **more):
    return {"images": [{"file_name": name, "width": 60, "height": 40, **more} for name in names]}


def many(names, **more):
    records = [
        {"id": number, "file_name": name, "width": 60, "height": 40, **more}
        for number, name in enumerate(names, 1)
    ]
    return exact({"images": records, "annotations": [], "categories": []})


def seen(content, folder, name="export.json", others=()):
    reading = document_of(content, name).reading
    return Document(reading, scan_images(reading.images, folder, others=[(None, others)]))


def found_in(content, folder, code):
    disk = seen(content, folder).disk
    return findings(content, disk=disk, code=code)


def mended(content, folder, *select):
    def again(reading):
        return Document(reading, scan_images(reading.images, folder))

    chosen = ValidateSettings(select=select)
    fixed = fix(seen(content, folder), chosen, unsafe=True, again=again)
    return read_bytes(fixed.text, "mended.json").images


def together(*documents, select=("M008",)):
    report = validate_documents(documents, ValidateSettings(select=select), 0)
    return report.findings


def test_a_missing_file_with_a_suggestion(tmp_path):
    (tmp_path / "photos").mkdir()
    save(tmp_path / "photos" / "a.jpg")
    (found,) = found_in(images("A.JPG"), tmp_path, "M001")
    assert found.message == (
        'image file "A.JPG" is not found in the image folder; did you mean "photos/a.jpg"?'
    )
    assert found.pointer == "/images/0/file_name"
    assert found.ids == {"image": 1}
    assert found.edits == (Edit("/images/0/file_name", "replace", "photos/a.jpg"),)
    assert mended(images("A.JPG"), tmp_path, "M001")[0]["file_name"] == "photos/a.jpg"


@pytest.mark.parametrize("names", [("x/a.jpg", "y/a.jpg"), ("a.jpg", "old/a.jpg")])
def test_a_file_that_two_records_may_mean_is_nobodys(tmp_path, names):
    save(tmp_path / "a.jpg")
    for found in found_in(images(*names), tmp_path, "M001"):
        assert found.edits == ()
        assert 'did you mean "a.jpg"?' in found.message


@pytest.mark.parametrize("n_images", [1, 12])
def test_a_folder_of_links_is_named_as_such(n_images, tmp_path):
    links, real = tmp_path / "links", tmp_path / "real"
    for folder in (links, real):
        folder.mkdir()
    names = [f"{number}.jpg" for number in range(n_images)]
    for name in names:
        save(real / name)
        (links / name).symlink_to(real / name)
    (found,) = found_in(images(*names), links, "M001")
    assert "outside the image folder" in found.message
    assert "add --images with the folder they lead to" in found.message


def broken_in(folder):
    """Write four damaged files of ten; return their names, and a file that names all ten."""
    names = [f"{number}.jpg" for number in range(10)]
    for name in names:
        save(folder / name)
    for name in names[:4]:
        (folder / name).write_bytes(b"damaged")
    path = folder / "export.json"
    path.write_text(whole_file(many(names)))
    return names[:4], path


def test_each_damaged_file_is_a_finding_however_many_there_are(tmp_path):
    names, path = broken_in(tmp_path)
    listed = validate(path, images=tmp_path, select=("M002",)).findings
    assert [finding.found for finding in listed] == names
    assert [finding.ids["image"] for finding in listed] == [1, 2, 3, 4]


def test_broken_files(tmp_path):
    save(tmp_path / "a.jpg")
    data = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(data[:-100])
    (tmp_path / "b.jpg").write_bytes(b"<html>not found</html>")
    one, other = found_in(images("a.jpg", "b.jpg"), tmp_path, "M002")
    assert one.message.startswith('image file "a.jpg" is truncated: ')
    assert one.message.count("truncated") == 1
    assert other.message == (
        'image file "b.jpg" cannot be decoded: '
        "it is not an image of a known format, or its header is broken"
    )


def test_another_size(tmp_path):
    save(tmp_path / "a.jpg")
    (found,) = found_in(images("a.jpg", width=120, height=40), tmp_path, "M003")
    assert found.message == 'size is 120 x 40; expected 60 x 40, the size of "a.jpg"'
    assert found.edits == (Edit("/images/0/width", "replace", 60),)
    assert not found_in(images("a.jpg"), tmp_path, "M003")
    assert not found_in(images("a.jpg", width="60"), tmp_path, "M003")
    mend = mended(images("a.jpg", width=120, height=80), tmp_path, "M003")[0]
    assert (mend["width"], mend["height"]) == (60, 40)


@pytest.mark.parametrize("annotation", [
    {"bbox": [50, 10, 20, 20]},
    {"bbox": [1, 1, 9, 9], "segmentation": [[1, 1, 70, 1, 9, 9]]},
    {"bbox": [1, 1, 9, 9], "segmentation": {"size": [80, 120], "counts": [0, 9600]}},
    {"bbox": [1e308, 0, 1e308, 9]},
])  # fmt: skip
def test_a_size_is_not_mended_where_what_is_drawn_would_not_fit(tmp_path, annotation):
    save(tmp_path / "a.jpg")
    content = {**images("a.jpg", width=120, height=80), "annotations": [annotation]}
    (found,) = found_in(content, tmp_path, "M003")
    assert found.edits == ()


def test_the_size_before_the_exif_orientation(tmp_path):
    save(tmp_path / "a.jpg", orientation=6)
    (found,) = found_in(images("a.jpg"), tmp_path, "M004")
    assert found.message == (
        "size is 60 x 40, the size before the EXIF orientation is applied; "
        'expected 40 x 60, the size of "a.jpg"'
    )
    assert not found_in(images("a.jpg"), tmp_path, "M003")
    assert not found_in(images("a.jpg", width=40, height=60), tmp_path, "M004")
    mend = mended(images("a.jpg"), tmp_path, "M004")[0]
    assert (mend["width"], mend["height"]) == (40, 60)
    (upright,) = found_in(images("a.jpg", width=40, height=60), tmp_path, "M003")
    assert upright.message.startswith("size is that after the EXIF orientation")
    assert (upright.severity, upright.edits) == ("info", ())


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("/data/a.jpg", "an absolute path"), ("C:\\data\\a.jpg", "an absolute path"),
        ("https://example.org/a.jpg", "a URL"), ("data:image/png;base64,AA", "a URL"),
        ("../a.jpg", 'a path with ".."'), ("b\\..\\a.jpg", 'a path with ".."'),
        ("b\\a.jpg", "a path with backslashes"),
    ],
)  # fmt: skip
def test_names_that_are_no_plain_paths(name, what):
    (found,) = findings(images(name), code="M005")
    assert f"is {what}; expected" in found.message
    slash = Edit("/images/0/file_name", "replace", "b/a.jpg")
    assert found.edits == ((slash,) if "backslashes" in what else ())


def test_files_that_nobody_names(tmp_path):
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        save(tmp_path / name)
    (found,) = found_in(images("a.jpg"), tmp_path, "M007")
    assert found.count == 2
    assert found.severity is Severity.INFO
    assert found.message == (
        '2 image files in the image folder without an image record, such as "b.jpg", "c.jpg"'
    )


def test_the_same_name_in_two_files():
    report = findings(images("a.jpg", "b.jpg"), images("c.jpg", "b.jpg"), code="M008")
    (found,) = report
    assert found.file == "b.json"
    assert found.pointer == "/images/1"
    assert found.message == (
        'image "b.jpg" has the same name as "b.jpg" in export.json; '
        "expected each image in one split only"
    )


def test_the_same_last_part_and_size_in_two_files():
    train, test = images("train/a.jpg", "train/b.jpg"), images("test/a.jpg", "test/c.jpg")
    (found,) = findings(train, test, code="M008")
    assert "has the same name and size as" in found.message
    other = images("test/a.jpg", "test/c.jpg", width=61)
    assert "M008" not in codes(train, other)


def test_files_with_the_same_images_are_of_annotators():
    content = many(f"{number}.jpg" for number in range(20))
    (found,) = findings(content, content, code="M008")
    assert found.severity is Severity.INFO
    assert found.count == 20
    assert "several annotators" in found.message


def test_content_decides_where_it_is_known(tmp_path):
    for folder in ("train", "test"):
        (tmp_path / folder).mkdir()
    save(tmp_path / "train" / "1.png", seed=1)
    save(tmp_path / "train" / "2.png", seed=2)
    save(tmp_path / "test" / "1.png", seed=3)
    save(tmp_path / "test" / "8.png", seed=2)
    train = images("train/1.png", "train/2.png")
    test = images("test/1.png", "test/8.png")
    found = together(seen(train, tmp_path, "train.json"), seen(test, tmp_path, "test.json"))
    assert [each.message.partition(";")[0] for each in found] == [
        'image "test/8.png" has the same bytes as "train/2.png" in train.json'
    ]


def splits(root, *names):
    """Write splits as Roboflow does, with the images of each beside its file; return the files."""
    files = []
    for seed, name in enumerate(names):
        (root / name).mkdir(parents=True)
        save(root / name / "1.jpg", seed=seed)
        files.append(root / name / "_annotations.coco.json")
        files[-1].write_text(whole_file(images("1.jpg")))
    return files


def test_images_are_looked_for_beside_the_file(tmp_path):
    files = splits(tmp_path, "train", "valid")
    report = validate(files, images=tmp_path, select=["M"])
    assert not report.findings
    # Without valid, its image is one that no record names.
    (found,) = validate(files[0], images=tmp_path, select=["M"]).findings
    assert (found.code, found.found) == ("M007", ["valid/1.jpg"])


def test_images_are_looked_for_in_several_folders(tmp_path):
    for folder, name in (("x", "a.jpg"), ("y", "b.jpg"), ("y", "c.jpg")):
        (tmp_path / folder).mkdir(exist_ok=True)
        save(tmp_path / folder / name, seed=ord(name[0]))
    file = tmp_path / "export.json"
    file.write_text(whole_file(images("a.jpg", "b.jpg", "d.jpg")))
    both = [tmp_path / "x", tmp_path / "y"]
    found = validate(file, images=both, select=["M"]).findings
    assert [(each.code, each.found) for each in found] == [("M001", "d.jpg"), ("M007", ["c.jpg"])]
    typed = [option for folder in both for option in ("--images", folder)]
    shown = run("validate", file, *typed, "--select", "M", "--format", "json")
    assert json.loads(shown.stdout)["counts"] == {"M001": 1, "M007": 1}


def test_an_image_twice_in_one_file(tmp_path):
    save(tmp_path / "a.jpg")
    save(tmp_path / "b.jpg", seed=2)
    (tmp_path / "copy.jpg").write_bytes((tmp_path / "a.jpg").read_bytes())
    content = many(["a.jpg", "b.jpg", "copy.jpg", "./copy.jpg", "a.jpg", "lost.jpg", "lost2.jpg"])
    assert [found.message for found in found_in(content, tmp_path, "M009")] == [
        'image "copy.jpg" has the bytes of "a.jpg"; expected each image once',
        'image "./copy.jpg" has the bytes of "a.jpg"; expected each image once',
    ]


def test_one_file_under_two_names(tmp_path):
    save(tmp_path / "a.jpg")
    content = many(["a.jpg", "./a.jpg"])
    (found,) = found_in(content, tmp_path, "M009")
    assert found.message == 'image "./a.jpg" is the same file as "a.jpg"; expected each image once'
    assert "M006" not in codes(content, disk=seen(content, tmp_path).disk)
    (found,) = findings(content, code="M006")
    assert found.message.endswith('"./a.jpg" is the same path as "a.jpg"; expected each image once')


def test_a_file_of_another_format_than_its_name_says(tmp_path):
    save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / "a.jpg")
    for name in ("b.jpeg", "c.png", "d.webp", "e.gif", "f.tif", "g.bmp", "h.JPG"):
        save(tmp_path / name)
    (tmp_path / "i.jpg").write_bytes(b"no image")
    names = sorted(path.name for path in tmp_path.iterdir())
    (found,) = found_in(many(names), tmp_path, "M011")
    assert found.message == ('image file "a.jpg" is a PNG file; expected JPEG, as its name says')


@pytest.mark.parametrize(
    ("name", "plain"),
    [("my%20cat.jpg", "my cat.jpg"), ("a/caf%C3%A9.jpg", "a/café.jpg"), ("a%28.jpg", "a(.jpg")],
)
def test_names_with_escapes_of_urls(name, plain):
    (found,) = findings(images(name), code="M012")
    assert found.message == (
        f'file name "{name}" has escapes of a URL; expected "{plain}", unless the file has that '
        "name"
    )
    assert found.edits == (Edit("/images/0/file_name", "replace", plain),)


def test_names_with_escapes_are_found_beside_their_file(tmp_path):
    names = [f"cat {number}.png" for number in range(6)]
    (tmp_path / "train").mkdir()
    for seed, name in enumerate(names):
        save(tmp_path / "train" / name, seed=seed)
    path = tmp_path / "train" / "export.json"
    path.write_text(whole_file(many(name.replace(" ", "%20") for name in names)))
    (found,) = validate([path], images=tmp_path, select=["M"]).findings
    assert (found.code, found.count) == ("M001", 6)
    assert found.message.endswith('did you mean "cat 0.png"?')
    assert found.edits[0].value == "cat 0.png"


def related(*lists):
    documents = [
        document_of(many(names), f"{letter}.json")
        for letter, names in zip("abc", lists, strict=False)
    ]
    report = validate_documents(documents, ValidateSettings(select=("M010",)), 0)
    return report.findings


def exported(name, number):
    return f"{name}_jpg.rf.{number:032x}.jpg"


def test_augmented_copies_in_two_files():
    train = [exported("cat", 1), exported("cat", 2), exported("dog", 3)]
    (found,) = related(train, [exported("cat", 4), exported("cow", 5), exported("dog", 3)])
    assert found.file == "b.json"
    assert " has the original name of " in found.message
    assert found.message.endswith(" in a.json; expected all copies of an image in one split")
    assert found.found == exported("cat", 4)
    assert found.pointer == "/images/0"
