"""What pages and commands say of images that cannot be shown, or are of another size."""

import re
from hashlib import blake2b
from html import unescape

import numpy as np
import pytest
from PIL import Image
from support.cli import run
from support.datasets import annotation, document, write

import bboxqa
from bboxqa.pipelines.pictures import other_size, write_report, write_result
from bboxqa.report.agreement_summary import summary
from bboxqa.report.pages import PageTarget
from bboxqa.report.result_files import documents_of

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
    records = [
        {"id": n, "file_name": name, "width": 30, "height": 20} for n, name in enumerate(NAMES, 1)
    ]
    boxes = [
        annotation(10 * n + a, n, bbox=[2 + a, 3, 9, 8], annotator=f"p{a}")
        for n in range(1, len(NAMES) + 1) for a in range(2)
    ]  # fmt: skip
    write(place / "a.json", document(boxes, records))
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
    place = tmp_path_factory.mktemp("noise")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 180, 240, 3), np.uint8)
    for number, each in enumerate([*pixels, np.zeros_like(pixels[0])]):
        Image.fromarray(each).save(place / f"{number}.png")
    images = [{"id": n, "file_name": f"{n}.png", "width": 240, "height": 180} for n in range(3)]
    boxes = [annotation(2 * n + a, n, bbox=(5, 5, 9 * a, 9)) for n in range(3) for a in range(2)]
    boxes += [annotation(20 + n, n, bbox=(300, 5, 9, 9)) for n in range(3)]
    return place, write(place / "a.json", document(boxes, images))


def test_a_page_that_is_large_is_said_to_be(noise, tmp_path, monkeypatch):
    place, file = noise
    report, target = bboxqa.validate(file), PageTarget(tmp_path / "a.html", (place,))
    assert write_report(report, target) == ()
    monkeypatch.setattr(PageTarget, "most_bytes", 10_000)
    (note,) = write_report(report, target)
    assert note.endswith("MB: --top 25 shows fewer images, --split writes a folder of pages")


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
