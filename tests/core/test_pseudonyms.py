"""The key of pseudonyms: stable, of several processes, and with an identity."""

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from bboxqa import OutputError
from bboxqa.core.errors import DatasetError
from bboxqa.core.pseudonyms import hider, identity_of_key, pseudonyms_of


def _add(path, number):
    return pseudonyms_of(path, [f"annotator {number}", "everybody"])["everybody"]


def test_processes_that_add_names_at_the_same_time_lose_none(tmp_path):
    path = tmp_path / "key.json"
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        found = {*pool.map(_add, [path] * 40, range(40))}
    known = json.loads(path.read_bytes())
    assert len(known) == 41
    assert {*known.values()} == {f"person-{number:02d}" for number in range(1, 42)}
    assert found == {known["everybody"]}


def test_two_annotators_never_become_one(tmp_path):
    path = tmp_path / "key.json"
    path.write_text('{"ann": "person-01"}')
    names = ["ann", "person-01"]
    given = pseudonyms_of(path, names)
    assert (given["ann"], given["person-01"]) == ("person-01", "person-02")
    assert pseudonyms_of(path, names) == given


def test_the_identity_stays_when_names_are_added_and_is_no_name(tmp_path):
    path = tmp_path / "key.json"
    pseudonyms_of(path, ["ann"])
    identity = identity_of_key(path)
    assert {*pseudonyms_of(path, ["bob"])} == {"ann", "bob"}
    assert identity_of_key(path) == identity
    path.unlink()
    assert identity_of_key(path) != identity


def test_a_key_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"key\.json: cannot be written: "):
        pseudonyms_of(tmp_path / "file/key.json", ["ann"])


LONG = "grace-hopper-" * 9 + "@navy.example.org"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Bob Mc'Arthur, jr", "bboxqa validate 'in/Bob Mc'\"'\"'Arthur, jr.json'"),
        ("Bob Mc'Arthur, jr", "by 'Bob Mc'Arthur, jr'"),
        ('Ann "A" Lee', 'annotator "Ann \\"A\\" Lee" drew'),
        ("ann/batch", "/images/0/asked/ann~1batch"),
        ("two\nlines", "two\\nlines"),
        (LONG, f"by '{LONG[:50]}…{LONG[-50:]}'"),
        (LONG, f'annotator "{LONG[:58]}…'),
    ],
)
def test_names_are_found_as_texts_show_them(name, text):
    found = hider({name: "person-01"})(text)
    assert "person-01" in found
    assert not any(part in found for part in ("Arthur", "Lee", "batch", "lines", "hopper", "navy"))


def test_errors_keep_their_kind_and_their_number():
    error = DatasetError(["ann: wrong", "bob: wrong"], "Ask ann.", total=7)
    error.change_texts(lambda text: text.replace("ann", "p1"))
    assert (error.problems, error.advice) == (("p1: wrong", "bob: wrong"), "Ask p1.")
    assert str(error).startswith("7 problems:\n  p1: wrong")
    error = DatasetError(["x"], "See: do ann\nAsk ann.", command="do ann").with_advice(["ann"])
    error.change_texts(lambda text: text.replace("ann", "p1"))
    assert error.advice == "See: do p1\nAsk p1.\np1"
