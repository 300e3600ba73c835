"""Images on disk: what rules find, and what is opened."""

import json

import numpy as np
import pytest
from PIL import Image
from support.pictures import picture, save
from support.validation import codes, document_of, exact, findings

from bboxqa.model.findings import Edit
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import pictures
from bboxqa.rules.document import Document
from bboxqa.rules.fixes import fix
from bboxqa.rules.pictures import ImageState, read_picture, scan_images
from bboxqa.rules.runner import validate_documents


def images(*names, **more):
    return {"images": [{"file_name": name, "width": 60, "height": 40, **more} for name in names]}


def many(names, **more):
    records = [
        {"id": number, "file_name": name, "width": 60, "height": 40, **more}
        for number, name in enumerate(names, 1)
    ]
    return exact({"images": records, "annotations": [], "categories": []})


def seen(content, folder, name="export.json"):
    reading = document_of(content, name).reading
    return Document(reading, scan_images(reading.images, folder))


def found_in(content, folder, code):
    return findings(content, disk=seen(content, folder).disk, code=code)


def mended(content, folder, *select):
    """Return the name, width and height of the first image after the fixes of some rules."""
    fixed = fix(
        seen(content, folder), ValidateSettings(select=select), unsafe=True,
        again=lambda reading: Document(reading, scan_images(reading.images, folder)),
    )  # fmt: skip
    (image, *_) = json.loads(bytes(fixed.text))["images"]
    return image["file_name"], image["width"], image["height"]


@pytest.mark.parametrize("name", [
    "photos\\Été.JPG", "/home/ann/Été.JPG", "ÉTÉ.jpg", "other/Été.JPG",
    "photos/E\u0301te\u0301.JPG",
])  # fmt: skip
def test_a_missing_file_with_a_suggestion(tmp_path, name):
    (tmp_path / "photos").mkdir()
    save(tmp_path / "photos" / "Été.JPG", suffix="jpeg")
    (found,) = found_in(images(name), tmp_path, "M001")
    where = "outside" if name[0] == "/" else "not in"
    assert found.message.endswith(f'is {where} the image folders; did you mean "photos/Été.JPG"?')
    assert found.pointer == "/images/0/file_name"
    assert found.ids == {"image": 1}
    assert mended(images(name), tmp_path, "M001")[0] == "photos/Été.JPG"
    assert "M007" not in codes(images(name), disk=seen(images(name), tmp_path).disk)


def test_a_folder_of_links_is_named_as_such(tmp_path):
    links, real = tmp_path / "links", tmp_path / "real"
    for folder in (links, real):
        folder.mkdir()
    save(real / "a.jpg")
    (links / "a.jpg").symlink_to(real / "a.jpg")
    (found,) = found_in(images("a.jpg"), links, "M001")
    assert "outside the image folders" in found.message
    assert "--images can name more" in found.message


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp"])
def test_broken_files(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    save(path)
    path.write_bytes(path.read_bytes()[:-100])
    others = b"<html>not found</html>", b"", b"\xff\xd8\xff\xe0", b"II*\0\xff\xff\xff\xff"
    names = [f"{number}.jpg" for number in range(len(others))]
    for name, content in zip(names, others, strict=True):
        (tmp_path / name).write_bytes(content)
    one, *rest = found_in(images(path.name, *names), tmp_path, "M002")
    assert one.message.startswith(f'image file "{path.name}" is truncated')
    for name, found in zip(names, rest, strict=True):
        assert found.message.startswith(f'image file "{name}" cannot be decoded: ')
        assert str(tmp_path) not in found.message


def test_another_size(tmp_path):
    save(tmp_path / "a.jpg")
    (found,) = found_in(images("a.jpg", width=120, height=40), tmp_path, "M003")
    assert found.message == 'size is 120 x 40; expected 60 x 40, the size of "a.jpg"'
    assert found.edits == (Edit("/images/0/width", "replace", 60),)
    assert not found_in(images("a.jpg"), tmp_path, "M003")
    assert not found_in(images("a.jpg", width="60"), tmp_path, "M003")
    assert mended(images("a.jpg", width=120, height=80), tmp_path, "M003") == ("a.jpg", 60, 40)


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
    assert found.message.startswith("size is 60 x 40, the size before the EXIF orientation")
    assert not found_in(images("a.jpg"), tmp_path, "M003")
    assert not found_in(images("a.jpg", width=40, height=60), tmp_path, "M004")
    assert mended(images("a.jpg"), tmp_path, "M004") == ("a.jpg", 40, 60)
    (upright,) = found_in(images("a.jpg", width=40, height=60), tmp_path, "M003")
    assert upright.message.startswith("size is that after the EXIF orientation")
    assert (upright.severity, upright.edits) == ("info", ())


def test_files_that_nobody_names(tmp_path):
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        save(tmp_path / name)
    (found,) = found_in(images("a.jpg"), tmp_path, "M007")
    assert (found.count, found.severity) == (2, "info")
    assert found.message.endswith('without an image record, such as "b.jpg", "c.jpg"')


def test_content_decides_where_it_is_known(tmp_path):
    for folder in ("train", "test"):
        (tmp_path / folder).mkdir()
    for name, seed in (("train/1", 1), ("train/2", 2), ("test/1", 3), ("test/8", 2)):
        save(tmp_path / f"{name}.png", seed=seed)
    train = seen(images("train/1.png", "train/2.png"), tmp_path, "train.json")
    test = seen(images("test/1.png", "test/8.png"), tmp_path, "test.json")
    (found,) = validate_documents([train, test], ValidateSettings(select=("M008",)), 0).findings
    assert '"test/8.png" has the same bytes as "train/2.png" in train.json' in found.message


def test_an_image_twice_in_one_file(tmp_path):
    save(tmp_path / "a.jpg")
    save(tmp_path / "b.jpg", seed=2)
    (tmp_path / "copy.jpg").write_bytes((tmp_path / "a.jpg").read_bytes())
    content = many(["a.jpg", "b.jpg", "copy.jpg", "./copy.jpg", "a.jpg", "lost.jpg", "lost2.jpg"])
    assert [found.message for found in found_in(content, tmp_path, "M009")] == [
        'image "copy.jpg" has the bytes of "a.jpg"; expected each image once',
        'image "./copy.jpg" has the bytes of "a.jpg"; expected each image once',
    ]


# Files of images.


def records(*names):
    return [{"id": number, "file_name": name} for number, name in enumerate(names, 1)]


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp", "tif", "webp", "gif"])
def test_a_sound_image(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    save(path)
    disk = scan_images(records(path.name), tmp_path)
    assert disk.state.tolist() == [ImageState.FOUND]
    assert (disk.shown.tolist(), disk.unnamed) == ([[60, 40]], ())
    assert disk.contents[0].stored == (60, 40)
    assert len(disk.contents[0].digest) == 16
    # The EXIF orientation turns the size.
    for orientation, shown in ((6, (40, 60)), (3, (60, 40))) if suffix not in "bmp gif" else ():
        save(path, orientation=orientation)
        found = read_picture(path)
        assert (found.stored, found.shown) == ((60, 40), shown)


def test_a_decompression_bomb_is_not_decoded(tmp_path, monkeypatch):
    save(tmp_path / "a.png")
    for allowed in (2399, 1000):
        monkeypatch.setattr(pictures.opening, "MOST_PIXELS", allowed)
        disk = scan_images(records("a.png"), tmp_path)
        assert disk.state.tolist() == [ImageState.UNREADABLE]
        assert "decompression bomb" in disk.contents[0].problem


def test_broken_tiff_is_a_problem(tmp_path):
    path = tmp_path / "a.tif"
    picture().save(path, compression="tiff_deflate")
    content = bytearray(path.read_bytes())
    content[200] ^= 255
    path.write_bytes(content)
    found = read_picture(path)
    assert found.stored == (60, 40)
    assert found.problem.startswith("decoder error -")
    with pytest.raises(OSError, match="decoder error"), Image.open(path) as image:
        image.load()


def test_programs_are_not_started_and_other_files_not_opened(tmp_path):
    save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    (tmp_path / "c.tif").write_text(
        '<VRTDataset rasterXSize="9" rasterYSize="9"><VRTRasterBand dataType="Byte" band="1">'
        f"<SimpleSource><SourceFilename>{tmp_path}/a.png</SourceFilename></SimpleSource>"
        "</VRTRasterBand></VRTDataset>"
    )
    disk = scan_images(records("b.png", "c.tif"), tmp_path)
    problem = "it is not an image of a known format, or its header is broken"
    assert [content.problem for content in disk.contents] == [problem] * 2


def test_a_raster_that_only_rasterio_reads(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    profile = {"width": 50, "height": 30, "count": 5, "dtype": "float32", "crs": "EPSG:32633"}
    profile["transform"] = rasterio.Affine(1, 0, 5, 0, -1, 5)
    path = tmp_path / "a.tif"
    with rasterio.open(path, "w", driver="GTiff", **profile) as raster:
        raster.write(np.ones((5, 30, 50), np.float32))
    disk = scan_images(records("a.tif"), tmp_path)
    assert disk.state.tolist() == [ImageState.FOUND]
    assert disk.shown.tolist() == [[50, 30]]


@pytest.mark.parametrize("name", [
    "/etc/passwd", "../a.jpg", "x/../../a.jpg", "C:\\a.jpg", "c:/a.jpg", "\\\\server\\a.jpg",
    "https://example.org/a.jpg", "file:///etc/passwd", "data:image/png;base64,AA", "..",
])  # fmt: skip
def test_what_leads_out_of_the_folder_is_not_opened(tmp_path, name):
    folder = tmp_path / "images"
    folder.mkdir()
    save(tmp_path / "a.jpg")
    disk = scan_images(records(name), folder)
    assert disk.state.tolist() == [ImageState.OUTSIDE]
    assert disk.contents[0].digest == b""


def test_links(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    save(tmp_path / "secret.jpg")
    save(folder / "b.jpg")
    (folder / "out.jpg").symlink_to(tmp_path / "secret.jpg")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.jpg").symlink_to(folder / "b.jpg")
    (folder / "loop.jpg").symlink_to(folder / "loop.jpg")
    names = ("out.jpg", "up/secret.jpg", "in.jpg", "loop.jpg", "x/../b.jpg")
    disk = scan_images(records(*names), folder)
    found = [ImageState(state).name for state in disk.state.tolist()]
    assert found == ["OUTSIDE", "OUTSIDE", "FOUND", "MISSING", "FOUND"]
