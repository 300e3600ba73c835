"""Defects that show only in several files together, or in image files."""

import json
import shutil

import pytest
from support.originals import ORIGINALS, first_images
from support.pictures import save
from support.validation import report_of

from bboxqa import validate


def splits():
    """Return two sound files that have no image in common."""
    whole = ORIGINALS["boxes"]()
    train = first_images(whole, 24)
    valid = first_images({**whole, "images": whole["images"][24:]}, 24)
    return train, valid


def named(document, names):
    """Give the first images of a document other names."""
    for image, name in zip(document["images"], names, strict=False):
        image["file_name"] = name


def report(*documents):
    return report_of(*map(json.dumps, documents))


def test_nothing_is_found_in_two_sound_splits():
    assert report(*splits()).findings == ()


def other_copies(train, valid):
    """Put other copies of images of one split, made by Roboflow, into another."""
    stems = [image["file_name"].split(".rf.")[0] for image in train["images"][:8]]
    named(valid, [f"{stem}.rf.{at:032x}.jpg" for at, stem in enumerate(stems)])


def same_images(train, valid):
    """Put images of one split into another."""
    named(valid, [image["file_name"] for image in train["images"][:8]])


@pytest.mark.parametrize(
    ("change", "code", "n_images"), [(other_copies, "M010", 8), (same_images, "M008", 8)]
)
def test_images_that_leak_into_another_split_are_one_cause(change, code, n_images):
    train, valid = splits()
    change(train, valid)
    found = report(train, valid)
    assert set(found.counts) == {code}
    assert sum(finding.count for finding in found.findings) == n_images


def on_disk(folder):
    """Write a sound file of six images, and the images."""
    document = first_images(ORIGINALS["boxes"](), 6)
    for seed, image in enumerate(document["images"]):
        save(folder / image["file_name"], size=(image["width"], image["height"]), seed=seed)
    (folder / "export.json").write_text(json.dumps(document))
    return document


def codes_of(folder):
    return set(validate(folder / "export.json", images=folder, ignore=["Q"]).counts)


def test_nothing_is_found_in_sound_image_files(tmp_path):
    on_disk(tmp_path)
    assert codes_of(tmp_path) == set()


def test_an_image_that_is_twice_in_a_file_is_one_cause(tmp_path):
    by_size = {}
    for image in on_disk(tmp_path)["images"]:
        by_size.setdefault((image["width"], image["height"]), []).append(image["file_name"])
    first, second, *_ = next(names for names in by_size.values() if len(names) > 1)
    shutil.copy(tmp_path / first, tmp_path / second)
    assert codes_of(tmp_path) == {"M009"}


def test_png_bytes_in_a_jpg_are_one_cause(tmp_path):
    image = on_disk(tmp_path)["images"][2]
    size = image["width"], image["height"]
    save(tmp_path / image["file_name"], size=size, seed=9, suffix="PNG")
    assert codes_of(tmp_path) == {"M011"}


def test_names_with_escapes_of_a_url_are_one_cause(tmp_path):
    document = on_disk(tmp_path)
    for image in document["images"]:
        name = image["file_name"]
        (tmp_path / name).rename(tmp_path / name.replace("_", " "))
        image["file_name"] = name.replace("_", "%20")
    (tmp_path / "export.json").write_text(json.dumps(document))
    assert set(report_of(json.dumps(document), ignore=("Q",)).counts) == {"M012"}
    found = validate(tmp_path / "export.json", images=tmp_path, ignore=["Q"])
    assert set(found.counts) == {"M001"}
    assert "street 0" in found.findings[0].message
