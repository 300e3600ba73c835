"""I: references of images to licences."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.json_values import shortened
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document


def listed(document: Document, name: str) -> list[dict[str, Any]]:
    """Return a top-level list such as the licences; empty if it is not a list of objects."""
    _, begin, stop = document.reading.spans.get(name, (0, 0, 0))
    try:
        # Reading a file keeps only COCO's lists, so others are decoded here.
        found = json.loads(document.reading.text[begin:stop])
    except (ValueError, RecursionError):
        return []
    is_sound = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if is_sound else []


def _unknown(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    known = {str(each.get("id")) for each in listed(document, "licenses")}
    # Without licences, the value of each image is the default of an exporter.
    if not known:
        return
    images = document.images
    used = [images.get(row, "license") for row in range(len(images))]
    wrong = np.array([value is not None and str(value) not in known for value in used], np.bool_)
    expected = f"the id of one of the {len(known)} licenses" if len(known) > 1 else min(known)

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("images", row, "license"),
            f"license is {shortened(used[row])}, which is not in licenses; expected {expected}",
            found=used[row],
            expected=expected,
        )

    yield from hits(wrong, describe, name="images", key="license")


RULES = (
    Rule(
        code="I008",
        title="image has a licence that the file does not list",
        severity=Severity.INFO,
        breaks="Nobody can tell whether the image may be used.",
        explanation="""The license of an image is not the id of one of the licenses. It was left out
            when files were joined or cut, or is the default of a program. Add it to the list, or
            correct the image. Files without any licenses are left alone.""",
        bad={"licenses": [{"id": 1, "name": "CC BY 4.0"}], "images": [{"license": 2}]},
        good={"licenses": [{"id": 1, "name": "CC BY 4.0"}], "images": [{"license": 1}]},
        check=_unknown,
    ),
)
