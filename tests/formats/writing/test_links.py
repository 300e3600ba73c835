"""Links in place of what is written."""

import json

import pytest
from support.datasets import two_annotators

import bboxqa
from bboxqa.core.errors import OutputError


def test_a_link_is_not_replaced(tmp_path):
    source, link, target = (tmp_path / name for name in ("a.json", "link.json", "target.json"))
    source.write_text(json.dumps(two_annotators()))
    target.write_text("{}")
    link.symlink_to(target)
    with pytest.raises(OutputError, match="is a link, which would be replaced"):
        bboxqa.convert(source, link, to="coco", force=True)
    assert link.is_symlink()
    assert target.read_text() == "{}"


def test_a_link_to_itself_is_refused(tmp_path):
    source, link = tmp_path / "a.json", tmp_path / "loop"
    source.write_text(json.dumps(two_annotators()))
    link.symlink_to(link)
    with pytest.raises(OutputError, match="is a link that leads to itself"):
        bboxqa.convert(source, link / "out.json", to="coco")
