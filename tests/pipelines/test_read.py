"""What a user reads where a file or a setting is refused."""

import json
import re
from pathlib import Path

import pytest
from support.cli import run
from support.datasets import annotation, document, image, two_annotators, write
from support.validation import whole_file

import bboxqa
from bboxqa.cli.agree import agree as agree_command
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.geometry import registry as similarities
from bboxqa.matching import matchers
from bboxqa.model.settings import bundled_configs
from bboxqa.pipelines.read import (
    agree_settings_from,
    read_agree_settings,
    read_coco,
)
from bboxqa.report.findings import concise_lines
from bboxqa.rules.registry import RULES


def refused(source, **more):
    with pytest.raises(DatasetError) as caught:
        read_coco(source, **more)
    return caught.value


def pair(**more):
    return [annotation(n, rater=rater, **more) for n, rater in ((1, "ann"), (2, "bob"))]


def negative(n):
    records = [annotation(k, rater="ann", bbox=[k, 0, -1, 5]) for k in range(3, 3 + n)]
    # Findings of a fifth of the annotations would be folded into one.
    rest = [annotation(k, rater="bob", bbox=[k, 9, 5, 5]) for k in range(3 + n, 6 + 6 * n)]
    return document([*pair(), *records, *rest])


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "F001"),
        (" ", "F001"),
        (json.dumps(two_annotators())[:-9], "F001"),
        (json.dumps(two_annotators()) + "{}", "F002"),
        ("<!DOCTYPE html><html><body>Log in", "F001"),
        (b"\x1f\x8b\x08", "F001"),
        (b"PK\x03\x04", "F001"),
        (document([*pair(), annotation(3, rater="ann", bbox=[5, 5, -1, 5])]), "B001"),
        (document(pair(), [image(1, rater_list=["ann"])]), "A002"),
    ],
)
def test_the_findings_are_those_of_validate(content, code, tmp_path):
    path = write(tmp_path / "a.json", content)
    error = refused(path)
    shown = [line for line in concise_lines(bboxqa.validate(path)) if " error " in line]
    assert error.problems == tuple(shown)
    assert error.problems[0].startswith(f"{path}:")
    assert code in {line.split(": ", 1)[1].split()[0] for line in error.problems}
    assert f"bboxqa validate {path}" in error.advice


@pytest.mark.parametrize(("n", "end"), [(3, ""), (15, "  … and 12 more")])
def test_the_first_three_findings_of_a_rule_are_shown(n, end, tmp_path):
    error = refused(write(tmp_path / "a.json", negative(n)))
    text = str(error).splitlines()
    assert (len(error.problems), error.total) == (3, n)
    assert text[0] == f"{n} problems:"
    assert (text[4:5] == [end]) is bool(end)


def no_boxes():
    """Return a file whose boxes stop reading, and whose keypoints do not."""
    points = {"keypoints": [1, 1, 2] * 3}
    return document([*pair(), annotation(3, rater="ann", bbox=[], **points)])


def test_ids_that_are_text_are_no_reason_to_stop(tmp_path):
    twice = [annotation("a", annotator=who) for who in ("ann", "bob")]
    with pytest.raises(DatasetError) as caught:
        read_coco(write(tmp_path / "a.json", document(twice)))
    assert "I001" in caught.value.problems[0]
    assert "S003" not in str(caught.value)


def test_findings_that_do_not_stop_reading_are_left_out(tmp_path):
    path = write(tmp_path / "a.json", no_boxes())
    assert {"K001", "S006"} <= set(bboxqa.validate(path).counts)
    (problem,) = refused(path).problems
    assert ": S006 error annotation 3 " in problem


@pytest.mark.parametrize("code", ["F003", "P003"])
def test_after_the_advised_fix_the_file_is_read(code, tmp_path):
    content = document(pair(segmentation=[1, 1, 9, 1, 9, 9] if code == "P003" else []))
    text = json.dumps(content)
    path = write(tmp_path / "a.json", text.encode("utf-16") if code == "F003" else text)
    error = refused(path)
    assert f": {code} " in error.problems[0]
    assert error.advice.endswith(f"bboxqa validate {path}")
    assert run("validate", path, "--fix").returncode in (0, 1)
    assert len(read_coco(tmp_path / "a.fixed.json").annotations) == 2


@pytest.mark.parametrize(
    "code",
    ["F001", "F002", "F006", "S001", "S002", "S006", "S007", "S008", "S009", "S010", "I001", "I002",
     "I004", "P002", "P003", "R002"],
)  # fmt: skip
def test_what_stops_reading_is_said_as_findings(code, tmp_path):
    bad = write(tmp_path / "bad.json", whole_file(RULES[code].bad))
    good = write(tmp_path / "good.json", whole_file({}))
    error = refused({"ann": bad, "bob": good})
    assert any(f": {code} " in line for line in error.problems)


def test_what_no_rule_finds_is_said_in_the_words_of_the_reader(tmp_path):
    # The rules know the common annotator keys only.
    records = [annotation(n, drawn_by=who) for n, who in ((1, "ann"), (2, "bob"))]
    images = [image(1, rater_list=["ann"])]
    path = write(tmp_path / "a.json", document(records, images))
    error = refused(path, annotator_key="drawn_by")
    assert "is by 'bob', who is not in the list of annotators" in error.problems[0]
    assert "validate" not in error.advice


@pytest.mark.parametrize("source", ["none.json", "folder"])
def test_files_that_cannot_be_opened_are_not_looked_at_by_rules(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert "validate" not in str(refused(source))


def test_no_annotators_is_not_a_broken_file(tmp_path):
    content = document([annotation(1, bbox=[5, 5, 0, 0]), annotation(2)])
    error = refused(write(tmp_path / "a.json", content))
    assert "no annotator is named in the files" in error.problems[0]


SIMILARITIES = ", ".join(similarities.names())
MATCHERS = ", ".join(matchers.MATCHERS)


@pytest.mark.parametrize("name", bundled_configs())
def test_bundled_files_name_what_there_is(name):
    values = read_agree_settings(name)
    settings = agree_settings_from(values)
    assert values
    for key, value in values.items():
        assert getattr(settings, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("similarity", "poligon", f"expected one of {SIMILARITIES}; did you mean 'polygon'?"),
        ("matcher", "hungaria", f"expected one of {MATCHERS}; did you mean 'hungarian'?"),
    ],
)
def test_a_wrong_name_in_a_file_is_told(setting, value, message, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(f'{setting} = "{value}"')
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {setting} is '{value}'; {message}")):
        read_agree_settings(str(path))


@pytest.mark.parametrize("name", similarities.SIMILARITIES)
def test_each_similarity_is_documented(name):
    (option,) = (each for each in agree_command.params if each.name == "similarity")
    page = Path(__file__).parents[2] / "docs" / "agreement.md"
    assert re.search(rf"\b{name}\b", option.help)
    assert f'"{name}"' in bboxqa.agree.__doc__
    assert re.search(
        rf"`(--similarity )?{name}`|^similarity {name}\b", page.read_text("utf-8"), re.MULTILINE
    )


def test_sigmas_are_for_key_points():
    assert agree_settings_from({"similarity": "keypoints", "sigmas": 0.1}).sigmas == (0.1,)
    with pytest.raises(ConfigError, match="sigmas is given, but similarity is 'obb'"):
        agree_settings_from({"similarity": "obb", "sigmas": 0.1})
