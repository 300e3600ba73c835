"""Everything that changes a result is in its manifest, its command, and used by compare."""

import json
import re
import shlex
from html import unescape

import msgspec
import pytest
from msgspec.structs import fields
from PIL import Image
from support.cli import run
from support.datasets import document_of, write
from support.tool_files import SUFFIXES, text_of

from bboxqa.cli.agree import agree
from bboxqa.cli.options import agree_settings
from bboxqa.model.annotations import Choices
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.reproduction import command

# Boxes that ann and bob drew of the objects of two images.
DRAWN = {"ann": {"a": (8, 10, 40, 30), "b": (5, 9, 30, 20)}, "bob": {"a": (10, 12, 40, 33)}}


def files_of(form):
    def write_files(folder):
        for who, images in DRAWN.items():
            for name, box in images.items():
                text = text_of(form, f"{name}.jpg", box)
                write(folder / who / f"{name}.{SUFFIXES[form]}", text)
        return ["ann", "bob"]

    return write_files


yolo = files_of("yolo")


def table(header):
    def write_table(folder):
        rows = [
            f"{image}.jpg,{who},cat,{','.join(map(str, box))}\n"
            for who, images in DRAWN.items()
            for image, box in images.items()
        ]
        (folder / "boxes.csv").write_text(f"{header}\n{''.join(rows)}")
        return ["boxes.csv"]

    return write_table


def sizes(folder):
    (folder / "my sizes.csv").write_text("image,width,height\na,100,80\nb,100,80\n")
    return yolo(folder)


def pictured(folder):
    names = yolo(folder)
    for who in names:
        for image in "ab":
            Image.new("L", (100, 80)).save(folder / who / f"{image}.jpg")
    return names


def five_numbers(folder):
    boxes = {"ann": [30, 40, 40, 20, 30], "bob": [30, 40, 41, 20, 50]}
    content = document_of([(1, who, 1, box) for who, box in boxes.items()])
    write(folder / "turned.json", content)
    return ["turned.json", "--similarity", "obb", "--iou", "0.2"]


def two_formats(folder):
    yolo(folder)
    for who in ("ann", "bob"):
        (folder / who).rename(folder / f"all-{who}")
    boxes = {"ann": [30, 40, 40, 20], "bob": [30, 40, 40, 21]}
    content = document_of([(1, who, 1, box) for who, box in boxes.items()])
    write(folder / "all-ann/both.json", content)
    return ["all-ann"]


def masks(folder):
    for who, images in DRAWN.items():
        (folder / who).mkdir()
        for image, (x, y, width, height) in images.items():
            picture = Image.new("L", (100, 80))
            picture.paste(1, (x, y, x + width, y + height))
            picture.save(folder / who / f"{image}.png")
    return ["ann", "bob"]


# By option: what writes files that need it, its value, and what else is given.
CASES = {
    "image_size": (yolo, "100x80", ()),
    "image_size_file": (sizes, "my sizes.csv", ()),
    "missing_txt": (pictured, "asked", ()),
    "voc_base": (files_of("voc"), "0", ()),
    "columns": (table("p,q,r,s,t,u,v"), "image=p,annotator=q,category=r,x=s,y=t,width=u,height=v",
                ()),
    "box_format": (table("image,annotator,category,x,y,w,h"),
                   "cxcywh", ()),
    "rotated": (five_numbers, "xywh-cw-degrees", ()),
    "from_format": (two_formats, "coco", ()),
    "mask": (masks, "instances", ()),
}  # fmt: skip


def test_each_option_of_reading_has_a_case():
    assert CASES.keys() == {each.name for each in fields(Choices)}


def figures(outcome):
    """Return the figures of an outcome, or that there are none."""
    if outcome.returncode != 0:
        return outcome.returncode
    found = json.loads(outcome.stdout)
    part = found["thresholds"][0]
    return found["n_images"], part["existence"]["f1"], part["place"]


@pytest.mark.parametrize("option", CASES)
def test_what_was_said_about_files_is_said_again(option, tmp_path):
    make, value, others = CASES[option]
    given = [*make(tmp_path), *others, "--format", "json"]
    name = option.removesuffix("_file")
    said = ["--from" if name == "from_format" else f"--{name.replace('_', '-')}", value]
    first = run("agree", *given, *said, "--out", "r", "--report", "r.html", cwd=tmp_path)
    found = figures(first)
    assert first.returncode == 0, first.output
    # The option makes a difference.
    assert figures(run("agree", *given, cwd=tmp_path)) != found

    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["reading"][name] == value
    page = (tmp_path / "r.html").read_text()
    *_, line = re.findall(r"<code>(bboxqa agree .*?)</code></pre>", page)
    line = re.sub("<[^>]*>", "", line)
    again = run(*shlex.split(unescape(line))[1:], "--format", "json", cwd=tmp_path)
    assert figures(again) == found
    files = [each["name"] for each in manifest["inputs"]]
    if len(files) == 1:
        since = run("compare", "r", *files, "--format", "json", cwd=tmp_path)
        assert json.loads(since.stdout)["changes"]["moved"] == 0


SETTINGS = {
    "similarity": "keypoints", "iou_threshold": (0.4, 0.6), "matcher": "greedy",
    "category_lenient": True, "missing": "ignore", "empty_images": "skip", "all_touched": True,
    "sigmas": (0.1, 0.2), "annotator_key": "who", "attribution": "files", "filter": "*.json",
    "join": "stem", "category_map": {"Cat": "cat", "a b": "c=d"}, "asked": "all",
    "session_key": "round", "time_key": "when", "tracks": True, "checks": False, "bootstrap": 0,
    "seed": 3, "min_alpha": 0.5, "min_f1": 0.25,
}  # fmt: skip


def test_the_command_has_all_settings():
    assert SETTINGS.keys() == set(AgreeSettings.__struct_fields__)
    settings = msgspec.convert(SETTINGS, AgreeSettings)
    plain, default = (
        msgspec.json.decode(msgspec.json.encode(each)) for each in (settings, AgreeSettings())
    )
    assert not [name for name, value in plain.items() if value == default[name]]
    source = {"name": "a.json", "role": "annotations", "annotator": None}
    words = shlex.split(command({"settings": plain, "inputs": [source], "reading": {}}))
    context = agree.make_context("agree", words[2:], resilient_parsing=True)
    known = {name: value for name, value in context.params.items() if name in {*SETTINGS, "iou"}}
    assert agree_settings(None, known) == settings
