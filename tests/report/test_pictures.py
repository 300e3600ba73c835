"""The pixels of image files, and what pages and commands say of those that cannot be shown."""

import re
import warnings
from hashlib import blake2b
from html import unescape
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from support.cli import run
from support.datasets import document_of, write

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.pipelines import pictures as module
from bboxqa.pipelines.pictures import other_size, pictures, read_pixels, thumbnail, write_result
from bboxqa.report.agreement_summary import summary
from bboxqa.report.pages import PageTarget
from bboxqa.report.result_files import documents_of

RED, BLUE = (255, 0, 0), (0, 0, 255)


def halves(path, orientation=None, **options):
    """Write an image of 40 × 20 pixels, red on the left and blue on the right."""
    image = Image.new("RGB", (40, 20), RED)
    image.paste(BLUE, (20, 0, 40, 20))
    if orientation is not None:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif
    image.save(path, **options)
    return path


def write_raster(path, values, **profile):
    import rasterio

    n_bands, height, width = values.shape
    shape = {"width": width, "height": height, "count": n_bands, "dtype": values.dtype}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(path, "w", driver="GTiff", **shape, **profile) as raster:
            raster.write(values)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.webp"])
def test_pixels_are_those_of_the_file(tmp_path, name):
    options = {"lossless": True} if name.endswith("webp") else {}
    found = read_pixels(halves(tmp_path / name, **options), 100)
    assert (found.size, found.problem, found.pixels.shape) == ((40, 20), "", (20, 40, 3))
    assert (found.pixels[0, 0].tolist(), found.pixels[-1, -1].tolist()) == ([*RED], [*BLUE])


# What EXIF says about the first row and column decides where the red half is.
@pytest.mark.parametrize(
    ("orientation", "red"),
    [(1, "left"), (2, "right"), (3, "right"), (4, "left"), (5, "top"), (6, "top"), (7, "bottom"),
     (8, "bottom")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_the_orientation_of_exif_is_applied(tmp_path, name, orientation, red):
    found = read_pixels(halves(tmp_path / name, orientation), 100)
    assert found.size == ((40, 20) if orientation < 5 else (20, 40))
    assert found.pixels.shape[:2] == found.size[::-1]
    middle = [length // 2 for length in found.pixels.shape[:2]]
    place = {"left": (middle[0], 2), "right": (middle[0], -3), "top": (2, middle[1]),
             "bottom": (-3, middle[1])}[red]  # fmt: skip
    assert found.pixels[place][0] > 200
    assert found.pixels[place][2] < 60


def test_an_image_that_was_annotated_as_it_is_stored_is_not_turned(tmp_path):
    path = halves(tmp_path / "a.jpg", 6)
    assert read_pixels(path, 100, (40, 20)).pixels.shape == (20, 40, 3)
    assert read_pixels(path, 100, (20, 40)).pixels.shape == (40, 20, 3)


def test_large_images_are_reduced(tmp_path):
    Image.new("RGB", (900, 300), RED).save(tmp_path / "a.jpg")
    found = read_pixels(tmp_path / "a.jpg", 90)
    assert (found.size, found.pixels.shape) == ((900, 300), (30, 90, 3))
    assert Image.open(BytesIO(thumbnail(found))).size == (90, 30)


# 100 values from 1000 to 1990, and two that are far away: 2 % and 98 % leave those two out.
VALUES = np.concatenate([[0], np.arange(1000, 2000, 10), [60000, 60000]])[:102].reshape(1, 6, 17)


@pytest.mark.parametrize("kind", ["png", "tif", "floats"])
def test_images_of_more_than_8_bits_are_scaled(tmp_path, kind):
    path = tmp_path / ("a.png" if kind == "png" else "a.tif")
    if kind == "png":
        Image.fromarray(VALUES[0].astype(np.uint16)).save(path)
    else:
        values = VALUES.astype(np.float32 if kind == "floats" else np.uint16)
        write_raster(path, values)
    pixels = read_pixels(path, 100).pixels
    assert pixels.shape == (6, 17, 3)
    # 1500 lies in the middle of what is shown.
    assert abs(int(pixels.reshape(-1, 3)[51, 0]) - 127) < 4
    assert (pixels.min(), pixels.max()) == (0, 255)
    assert (np.diff(pixels[:, :, 0].ravel()[:101].astype(int)) >= 0).all()


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_an_image_that_is_too_large_is_not_decoded(tmp_path, monkeypatch, name):
    for limit in ("MOST_WHOLE", "MOST_PIXELS"):
        monkeypatch.setattr(module, limit, 100)
    found = read_pixels(halves(tmp_path / name), 10)
    assert (found.pixels.size, found.size) == (0, (40, 20))
    assert found.problem == "it is too large to be decoded: 40 × 20 pixels"


def test_broken_files_have_a_problem(tmp_path):
    whole = halves(tmp_path / "a.png").read_bytes()
    for name, content in (("cut.png", whole[:60]), ("text.jpg", b"hello"), ("empty.png", b"")):
        (tmp_path / name).write_bytes(content)
        found = read_pixels(tmp_path / name, 10)
        assert found.pixels.shape == (0, 0, 3)
        assert found.problem


def test_nothing_outside_of_the_folder_is_opened(tmp_path):
    (tmp_path / "in").mkdir()
    halves(tmp_path / "out.png")
    halves(tmp_path / "in" / "a.png")
    (tmp_path / "in" / "empty.png").touch()
    names = ["a.png", "empty.png", "../out.png", str(tmp_path / "out.png"), "b.png"]
    found = list(pictures(names, [tmp_path / "in"], 10))
    assert [each.pixels.size > 0 for each in found] == [True, False, False, False, False]
    assert ["leads out" in each.problem for each in found] == [False, False, True, True, False]
    assert found[4].problem == f"there is no file 'b.png' in {tmp_path / 'in'}"
    assert found[1].problem.startswith("'empty.png': it is not an image")
    with pytest.raises(DatasetError, match="no such folder of images"):
        next(pictures(["a.png"], [tmp_path / "none"], 10))


def test_a_name_is_looked_for_as_it_was_written(tmp_path):
    """Names in data have escapes for what cannot be shown; a file may be named like an escape."""
    for name in ("a\u202egnp.exe", "\x1b[31m.png", "photos\\x07.png"):
        halves(tmp_path / name, format="PNG")
    shown = ["a\\u202egnp.exe", "\\x1b[31m.png", "photos\\x07.png"]
    assert [each.problem for each in pictures(shown, [tmp_path], 10)] == ["", "", ""]


NAMES = ("whole.png", "other.png", "cut.jpg", "text.png", "empty.png", "../out.png", "none.png")
LACKING = NAMES[2:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of annotations, and beside it images of which two can be shown."""
    place = tmp_path_factory.mktemp("pixels")
    images = place / "images"
    images.mkdir()
    Image.new("RGB", (30, 20)).save(images / "whole.png")
    Image.new("RGB", (15, 20)).save(images / "other.png")
    Image.new("RGB", (30, 20)).save(images / "cut.jpg")
    Image.new("RGB", (30, 20)).save(place / "out.png")
    whole = (images / "cut.jpg").read_bytes()
    (images / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (images / "text.png").write_text("not an image")
    (images / "empty.png").touch()
    rows = [(n, f"p{a}", 1, (2 + a, 3, 9, 8)) for n in range(1, len(NAMES) + 1) for a in range(2)]
    write(place / "a.json", document_of(rows, NAMES, size=(30, 20)))
    return place


@pytest.fixture(scope="module")
def found(folder):
    result = bboxqa.agree(bboxqa.read_coco(folder / "a.json"), bootstrap=0)
    every = documents_of(result, summary(result), result.diagnose())
    return {name: every[name] for name in ("summary", "manifest", "worst_images")}


def captions(page):
    return [unescape(each) for each in re.findall(r'class="lacking">([^<]*)<', page)]


@pytest.mark.parametrize("split", [False, True], ids=["file", "folder"])
def test_each_image_without_pixels_says_why(folder, found, split, tmp_path):
    target = PageTarget(tmp_path / "page", (folder / "images",), split=split)
    steps = []
    notes = write_result(found, target, lambda *step: steps.append(step))
    pages = [*tmp_path.glob("page/*.html")] if split else [tmp_path / "page"]
    for page in pages:
        said = captions(page.read_text("utf-8"))
        assert len(said) == len(LACKING) + 1
        for name in LACKING:
            assert any(name in each and "on a blank canvas" in each for each in said)
        assert other_size((15, 20), (30, 20)) in said
        assert "--images FOLDER" not in page.read_text("utf-8")
    assert [note.partition(",")[0] for note in notes] == [
        "5 of 7 images drawn on a blank canvas", "1 of 7 images of another size than the data say",
    ]  # fmt: skip
    assert "'other.png': the file has 15 × 20 pixels, the data say 30 × 20" in notes[1]
    assert steps == [("images", done, 7) for done in range(1, 8)]


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Two images that WebP cannot compress and one that it can, with findings of two rules."""
    folder = tmp_path_factory.mktemp("noise")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 180, 240, 3), np.uint8)
    for number, each in enumerate([*pixels, np.zeros_like(pixels[0])]):
        Image.fromarray(each).save(folder / f"{number}.png")
    boxes = ((5, 5, 0, 9), (5, 5, 9, 9), (300, 5, 9, 9))
    rows = [(place, None, 1, box) for place in (1, 2, 3) for box in boxes]
    content = document_of(rows, ["0.png", "1.png", "2.png"], size=(240, 180))
    return folder, write(folder / "a.json", content)


def test_a_page_of_findings_says_how_to_make_it_again(noise, tmp_path, monkeypatch):
    place, file = noise
    target = tmp_path / "a.html"
    options = ("--ignore", "S004,C005", "--fail-on", "warning", "--images", place)
    typed = ["validate", file, *options, "--report", target]
    monkeypatch.setattr("sys.argv", ["bboxqa", *map(str, typed)])
    assert run(*typed).returncode == 1
    page = unescape(target.read_text())
    words = " ".join(map(str, ["bboxqa", *typed]))
    assert f"<code>{words}</code>" in re.sub("</?span[^>]*>", "", page)
    assert blake2b(file.read_bytes()).hexdigest() in page
    (settings,) = re.findall(r'data-name="Settings and versions".*?</table>', page, re.DOTALL)
    for name, value in (("duplicate_iou", "0.9"), ("bboxqa", bboxqa.__version__)):
        assert re.search(rf"<td>{name}</td><td>{value}</td>", settings)
