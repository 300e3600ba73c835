"""Findings for continuous integration and for a browser: github, junit, html."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from support.datasets import annotation, document
from support.reports import HOSTILE, finding, report

import bboxqa
from bboxqa.model.findings import FoundBox
from bboxqa.report import FINDING_VIEWS, view
from bboxqa.report.finding_formats import findings_page
from bboxqa.report.pictures import Pixels

VOID = {"meta", "br", "wbr"}


def test_a_workflow_command():
    (line,) = view(FINDING_VIEWS, "github")(report(finding(row=19)))
    assert line == (
        "::error file=export.json,line=20,col=7,title=B001 box without area::"
        "annotation 20 (image 5): bbox width is 0; expected more than 0"
    )


def test_workflow_commands_are_escaped():
    odd = finding(file="a,b:c%.json", message="50 %: a, b", ids={}, spot=None)
    (line,) = view(FINDING_VIEWS, "github")(report(odd))
    assert line == "::error file=a%2Cb%3Ac%25.json,title=B001 box without area::50 %25: a, b"


def suites_of(found):
    return ET.fromstring("\n".join(view(FINDING_VIEWS, "junit")(found)).encode())  # noqa: S314


def test_a_suite_for_each_file_and_a_test_for_each_rule():
    found = report(finding(), finding(row=1), finding("B004"), files=("export.json", "b.json"))
    root = suites_of(found)
    first, second = root
    assert root.attrib["failures"] == first.attrib["failures"] == "1"
    assert (second.attrib["name"], second.attrib["failures"]) == ("b.json", "0")
    for suite in root:
        assert len(suite.findall("testcase")) == int(suite.attrib["tests"]) == 4
    failure = first.find("testcase/failure")
    assert failure.attrib == {"type": "error", "message": "2 findings: box without area"}
    assert "export.json:2:7: error annotation 2 (image 5): bbox width" in failure.text
    assert "export.json:1:7: info" in first.find("testcase/system-out").text


def test_junit_holds_what_xml_cannot():
    name = HOSTILE + "\ufffe"
    (suite,) = suites_of(report(finding(file=name, message=name), files=(name,)))
    assert "<b>" in suite.attrib["name"]
    assert "\ufffe" not in suite.attrib["name"]


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.links = [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page_of(found):
    return Page("\n".join(view(FINDING_VIEWS, "html")(found)))


def test_values_are_no_markup():
    hostile = "<script>alert(1)</script>"
    odd = finding(file=hostile, message=hostile, ids={"image": hostile}, examples=(hostile,))
    page = page_of(report(odd, files=(hostile,), exporter=hostile))
    assert page.tags.count("script") == 1
    assert page.text.count(hostile) >= 4


def boxed(*boxes, **more):
    return finding(**more, boxes=tuple(FoundBox(*box) for box in boxes))


def test_boxes_of_a_finding_are_drawn_on_their_image():
    box = ("a.jpg", 40.0, 30.0, (10.0, 5.0, 8.0, 6.0))
    page = findings_page(report(boxed(box)))
    assert page.count('d="M10 5h8v6H10z"') == 2
    assert 'viewBox="0 0 40 30"' in page
    assert "<image" not in page
    shown = findings_page(
        report(boxed(box)), {"a.jpg": Pixels("data:image/webp;base64,AA", 80, 60)}
    )
    # The size of the file itself: that in the record may be what is wrong.
    assert '<image href="data:image/webp;base64,AA" width="80.0" height="60.0"' in shown


def test_findings_have_the_boxes_of_the_annotations_they_name():
    records = [
        annotation(1, bbox=(10, 10, 0, 5)),
        annotation(2, image_id=9, bbox=(1, 2, 3, 0)),
        annotation(3, bbox="none"),
    ]
    found = bboxqa.validate(document(records), select=["B001", "S006"])
    boxes = {each.ids["annotation"]: each.boxes for each in found.findings if each.ids}
    assert boxes[1] == (FoundBox("1.jpg", 100.0, 100.0, (10.0, 10.0, 0.0, 5.0)),)
    assert boxes[2] == (FoundBox("", None, None, (1.0, 2.0, 3.0, 0.0)),)
    assert boxes.get(3, ()) == ()
