"""Applying rules to texts and documents."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from msgspec.structs import replace

from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.records import WHOLE
from bboxqa.formats.registry import format_of
from bboxqa.formats.scanner import Scanner
from bboxqa.model.annotations import Choices
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import ABSENT, Files
from bboxqa.rules.document import Document
from bboxqa.rules.fixes import fix
from bboxqa.rules.registry import records
from bboxqa.rules.runner import validate_documents

_FOLDER = TemporaryDirectory()


def whole_file(example):
    """Return an example as the text of a file, with defaults for the lists that it leaves out."""
    if isinstance(example, str):
        return example
    lists = {"images": [{}], "categories": [{}], "annotations": [{}]}
    document = {
        "info": {"description": "example", "year": 2026},
        "licenses": [],
        **records({**lists, **example}),
    }
    return json.dumps({key: v for key, v in document.items() if example.get(key) is not ABSENT})


def document_of(content, name="export.json", disk=None):
    """Return a document of bytes, of text, or of an example of a rule; a document as it is."""
    if isinstance(content, Document):
        return content
    if isinstance(content, Files):
        path = Path(mkdtemp(dir=_FOLDER.name), name)
        for below, text in content.items():
            (path / below).parent.mkdir(parents=True, exist_ok=True)
            (path / below).write_text(text)
        choices = Choices(mask=content.mask)
        return Document(
            format_of(path, choices).document(path, replace(WHOLE, choices=choices)), disk
        )
    if isinstance(content, dict):
        content = whole_file(content)
    if isinstance(content, str):
        content = content.encode()
        path = Path(_FOLDER.name, name)
        path.write_bytes(content)
        # Of other formats than COCO, findings stand in the file itself.
        if (found := format_of(path)) is not COCO:
            return Document(found.document(path, WHOLE), disk)
    return Document(Scanner(content, name).read(), disk)


def report_of(*contents, disk=None, limit=0, **settings):
    """Return the report of files, the first of which is called export.json, then b.json, …"""
    names = ["export.json", *(f"{letter}.json" for letter in "bcdefg")]
    documents = [
        document_of(content, name, disk) for content, name in zip(contents, names, strict=False)
    ]
    return validate_documents(documents, ValidateSettings(**settings), limit)


def findings(*contents, code=None, **more):
    """Return the findings, of one rule only where its code is given."""
    report = report_of(*contents, **more)
    return [finding for finding in report.findings if code in (None, finding.code)]


def codes(*contents, **more):
    """Return the codes of all rules that found something."""
    return set(report_of(*contents, **more).counts)


def loud(content):
    """Return the codes of findings but those that any small file may have."""
    return {found.code for found in findings(content) if found.severity != "info"}


def only(*contents, code, **more):
    """Return the only finding of a rule."""
    found = findings(*contents, code=code, **more)
    assert len(found) == 1, found
    return found[0]


def edits_of(content, code, **more):
    """Return (pointer, action, value) of each change that findings of a rule propose."""
    edits = [edit for each in findings(content, code=code, **more) for edit in each.edits]
    return [(edit.pointer, edit.action, edit.value) for edit in edits]


def mended(content, *select, unsafe=True):
    """Return what a file holds after the fixes of some rules."""
    fixed = fix(document_of(content), ValidateSettings(select=select), unsafe=unsafe)
    return json.loads(bytes(fixed.text))


def exact(document):
    """Return a document as text, as it is: nothing is completed."""
    return json.dumps(document)
