"""Looking at image files."""

import numpy as np
import pytest
from PIL import Image
from support.pictures import picture, save

from bboxqa.rules import pictures
from bboxqa.rules.pictures import ImageState, read_picture, scan_images


def records(*names):
    return [{"id": number, "file_name": name} for number, name in enumerate(names, 1)]


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp", "tif", "webp", "gif"])
def test_a_sound_image(tmp_path, suffix):
    save(tmp_path / f"a.{suffix}")
    disk = scan_images(records(f"a.{suffix}"), tmp_path)
    assert disk.state.tolist() == [ImageState.FOUND]
    assert disk.shown.tolist() == [[60, 40]]
    assert disk.contents[0].stored == (60, 40)
    assert len(disk.contents[0].digest) == 16
    assert disk.unnamed == ()


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
def test_exif_orientation_turns_the_size(tmp_path, suffix):
    save(tmp_path / f"a.{suffix}", orientation=6)
    found = read_picture(tmp_path / f"a.{suffix}")
    assert (found.stored, found.shown) == ((60, 40), (40, 60))
    save(tmp_path / f"b.{suffix}", orientation=3)
    assert read_picture(tmp_path / f"b.{suffix}").shown == (60, 40)


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp"])
def test_a_truncated_image(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    save(path)
    path.write_bytes(path.read_bytes()[:-500])
    disk = scan_images(records(path.name), tmp_path)
    assert disk.state.tolist() == [ImageState.UNREADABLE]
    assert disk.contents[0].truncated
    assert disk.shown.tolist() == [[60, 40]]


@pytest.mark.parametrize(
    "content", [b"", b"no image", b"\xff\xd8\xff\xe0", b"II*\0\xff\xff\xff\xff"]
)
def test_what_is_no_image(tmp_path, content):
    (tmp_path / "a.jpg").write_bytes(content)
    disk = scan_images(records("a.jpg"), tmp_path)
    assert disk.state.tolist() == [ImageState.UNREADABLE]
    assert disk.contents[0].problem
    assert str(tmp_path) not in disk.contents[0].problem


def test_a_decompression_bomb_is_not_decoded(tmp_path, monkeypatch):
    save(tmp_path / "a.png")
    for allowed in (2399, 1000):
        monkeypatch.setattr(pictures, "MOST_PIXELS", allowed)
        disk = scan_images(records("a.png"), tmp_path)
        assert disk.state.tolist() == [ImageState.UNREADABLE]
        assert "decompression bomb" in disk.contents[0].problem


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "bmp"])
def test_a_large_image_is_examined_in_part(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_WHOLE", 1000)
    # Pillow itself refuses images of twice as many pixels.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    path = tmp_path / f"a.{suffix}"
    picture().save(path)
    disk = scan_images(records(path.name), tmp_path)
    assert disk.contents[0].problem == ""
    assert disk.contents[0].stored == (60, 40)
    assert Image.MAX_IMAGE_PIXELS == 1000
    if suffix in {"jpg", "png"}:
        path.write_bytes(path.read_bytes()[:-200])
        disk = scan_images(records(path.name), tmp_path)
        assert disk.contents[0].stored == (60, 40)
        assert disk.contents[0].truncated
        assert "truncated" in disk.contents[0].problem.lower()


def broken_tiff(path):
    picture().save(path, compression="tiff_deflate")
    content = bytearray(path.read_bytes())
    content[200] ^= 255
    path.write_bytes(content)
    return path


def test_broken_tiff_is_a_problem(tmp_path):
    path = broken_tiff(tmp_path / "a.tif")
    found = read_picture(path)
    assert found.stored == (60, 40)
    assert found.problem.startswith("its TIFF data are broken (decoder error -")
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
    expected = [
        ImageState.OUTSIDE,
        ImageState.OUTSIDE,
        ImageState.FOUND,
        ImageState.MISSING,
        ImageState.FOUND,
    ]
    assert disk.state.tolist() == expected


def test_odd_records_are_not_asked(tmp_path):
    images = [3, None, {}, {"file_name": None}, {"file_name": ""}, {"file_name": ["a"]}, []]
    disk = scan_images(images, tmp_path)
    assert set(disk.state.tolist()) == {ImageState.NOT_ASKED}
    empty = scan_images([], tmp_path / "nothing")
    assert empty.shown.shape == (0, 2)


@pytest.mark.parametrize("name", [
    "photos\\Été.JPG", "/home/ann/Été.JPG", "été.jpg", "other/Été.JPG",
    "photos/E\u0301te\u0301.JPG",
])  # fmt: skip
def test_a_missing_file_is_looked_for(tmp_path, name):
    (tmp_path / "photos").mkdir()
    save(tmp_path / "photos" / "Été.JPG", suffix="jpeg")
    disk = scan_images(records(name), tmp_path)
    assert disk.suggestions == (("photos/Été.JPG",),)
    assert disk.unnamed == ()
