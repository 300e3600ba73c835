"""Pages as folders: what they hold leads nowhere else, and nothing of a user is lost."""

import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image
from support.datasets import document_of
from support.pages import Page

import bboxqa
from bboxqa.core.errors import OutputError
from bboxqa.pipelines.pictures import write_result
from bboxqa.report.agreement_summary import summary
from bboxqa.report.pages import PageTarget
from bboxqa.report.result_files import documents_of

N_IMAGES = 60


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The documents of a result with names that are paths, and a folder with three images."""
    pixels = tmp_path_factory.mktemp("pages") / "pixels"
    names = ["../outside.png", "/etc/passwd", "a/b.png"] + [f"{n}.png" for n in range(3, N_IMAGES)]
    (pixels / "a").mkdir(parents=True)
    for name in names[2:5]:
        Image.new("RGB", (30, 20), "teal").save(pixels / name)
    Image.new("RGB", (30, 20)).save(pixels.parent / "outside.png")
    rows = [
        (n + 1, f"p{a}", 1, (2 + a * (n % 5), 3, 9, 8)) for n in range(N_IMAGES) for a in range(2)
    ]
    data = bboxqa.read_coco(document_of(rows, names, size=(30, 20)))
    result = bboxqa.agree(data, bootstrap=0)
    documents = documents_of(result, summary(result), result.diagnose())
    # Without the charts of a diagnosis, pages are quick to make.
    return {name: documents[name] for name in ("summary", "manifest", "worst_images")}, pixels


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    documents, pixels = found
    path = tmp_path_factory.mktemp("pages") / "page"
    write_result(documents, PageTarget(path, (pixels,), split=True))
    return path


def addresses(page):
    """Return what a page leads to."""
    keys = ("href", "src", "xlink:href")
    return [own[key] for _, own in page.elements for key in keys if key in own]


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_folder_holds_pages_style_script_and_pixels(folder):
    assert [name for name in names(folder) if not name.startswith("images/")] == [
        "images", "images-1.html", "images-2.html", "index.html", "page.css", "page.js",
    ]  # fmt: skip
    files = sorted((folder / "images").iterdir())
    assert len(files) == 3
    for path in files:
        assert re.fullmatch(r"\d+\.webp", path.name)
        with Image.open(path) as image:
            assert image.size == (30, 20)
    assert not list(folder.parent.glob(".*"))


def test_all_that_pages_lead_to_is_in_the_folder(folder):
    pages = {path.name: Page(path.read_text("utf-8")) for path in folder.glob("*.html")}
    for page in pages.values():
        for address in addresses(page):
            parts = urlsplit(address)
            assert (parts.scheme, parts.netloc) == ("", "")
            assert not parts.path.startswith("/")
            assert ".." not in parts.path
            if parts.path:
                assert (folder / parts.path).is_file()
            target = pages[parts.path] if parts.path.endswith(".html") else page
            ids = {own.get("id") for _, own in target.elements}
            assert not parts.fragment or parts.fragment in ids
    leading = [each for each in addresses(pages["index.html"]) if each.startswith("images-")]
    assert leading == [
        f"images-{1 if n <= 50 else 2}.html#image-{n}" for n in range(1, N_IMAGES + 1)
    ]


def test_a_folder_is_replaced_as_a_whole_with_force_only(folder, found, tmp_path):
    path = Path(shutil.copytree(folder, tmp_path / "page"))
    target = PageTarget(path, split=True, n_images=1)
    with pytest.raises(OutputError, match="holds a page; name another folder, or give --force"):
        target.check(force=False)
    target.check(force=True)
    write_result(found[0], target)
    assert names(path) == ["images", "images-1.html", "index.html", "page.css", "page.js"]
    assert [each.name for each in tmp_path.iterdir()] == ["page"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("notes.txt", "holds notes.txt; name another folder"),
        ("images/cat.jpg", "holds images/cat.jpg; name another folder"),
        ("images/1.webp/cat.jpg", "holds images/1.webp/cat.jpg; name another folder"),
        ("page.css", "holds no page of bboxqa; name another folder"),
    ],
)
def test_a_folder_with_anything_else_stays(name, message, found, tmp_path):
    path = tmp_path / "page"
    (path / name).parent.mkdir(parents=True)
    (path / name).write_text("mine")
    target = PageTarget(path, split=True)
    with pytest.raises(OutputError, match=re.escape(message)):
        target.check(force=True)
    with pytest.raises(OutputError, match=re.escape(message)):
        write_result(found[0], target)
    assert (path / name).read_text() == "mine"
    assert not [each for each in tmp_path.iterdir() if each != path]
