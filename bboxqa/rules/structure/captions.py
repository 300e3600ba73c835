"""S: missing or empty captions (S014)."""

from collections.abc import Iterator

import numpy as np

from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import value_hits
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.file_kinds import kind_of


def _captions(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    if "caption" not in kind_of(document).required:
        return
    columns = document.annotations
    rows = np.flatnonzero((columns.record == Kind.DICT) & ~columns.has_caption)
    yield from value_hits(document, "annotations", "caption", rows, "a text that is not empty")


def _file(*captions: str) -> str:
    records = (
        f'{{"id": {number}, "image_id": 1{caption}}}' for number, caption in enumerate(captions, 1)
    )
    image = '{"id": 1, "file_name": "a.jpg", "width": 9, "height": 5}'
    return f'{{"images": [{image}],\n"annotations": [{", ".join(records)}]}}'


RULES = (
    Rule(
        code="S014",
        title="caption is missing or empty",
        severity=Severity.ERROR,
        breaks="""The tokenizer of pycocoevalcap stops at a missing caption with a KeyError and at
            null with an AttributeError; an empty caption is scored as a description.""",
        explanation="""Each annotation of a file of captions, and each result for one, has a
            caption: a text that describes the image. Here it is missing, null, not text, or only
            blanks. Write it, or remove the annotation.""",
        bad=_file(', "caption": "a cat"', ', "caption": ""'),
        good=_file(', "caption": "a cat"', ', "caption": "a cat on a mat"'),
        check=_captions,
    ),
)
