"""One project: where its results go, what they depend on, its own settings, what came of it."""

import json
import os
import re
from errno import ENOSPC
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from support.datasets import annotation, csv_rows, document, document_of, two_annotators, write

from bboxqa.batch import project
from bboxqa.batch import settings as settings_module
from bboxqa.batch.discovery import discover
from bboxqa.batch.project import run_project
from bboxqa.batch.results import folder_of, recorded
from bboxqa.batch.run import run_batch
from bboxqa.batch.settings import Settings, result_key, settings_of
from bboxqa.formats.choices import choices_of
from bboxqa.model.annotations import Choices
from bboxqa.model.settings import READING_KEYS, AgreeSettings, ValidateSettings

PLAIN = Settings({}, {})
OUT = Path("out")
# Pieces that might meet each other when they are written another way.
PIECES = ["..", ".", "%2e", "%2E", "%2F", "%", "a", "A", " ", "é", "e\u0301", "日本", "\n", "~"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
NAMES = st.lists(st.one_of(st.sampled_from(PIECES), TEXTS), min_size=1, max_size=30).map(
    lambda pieces: "".join(pieces) or "-"
)


def only(root):
    return discover(root).projects[0]


def differing(first=(10, 10, 20, 20), second=(60, 60, 20, 20)):
    """Return a document of two annotators who agree on all images but one."""
    rows = [(place, who, 1 + place % 2, first) for place in range(1, 7) for who in ("ann", "bob")]
    rows[-1] = (*rows[-1][:3], second)
    return document_of(rows, 6, ("cat", "dog"), annotators=["ann", "bob"])


def done(tmp_path, content, settings=PLAIN):
    write(tmp_path / "root/p/x.json", content)
    project = only(tmp_path / "root")
    key = result_key(project, settings)
    return run_project((project, key), settings, tmp_path / "out")


def _lines(path):
    return path.read_text("utf-8").splitlines()


class TestFolder:
    @pytest.mark.parametrize(
        ("project", "folder"),
        [(".", "%2E"), ("a b/c", "a b%2Fc"), ("%2e", "%252e"), ("<script>é", "%3Cscript%3E%C3%A9")],
    )
    def test_names(self, project, folder):
        assert folder_of(OUT, project) == OUT / "projects" / folder

    @given(NAMES.filter(lambda name: name != ".."))
    @example("x" * 5000)
    @example("%2E" * 100)
    def test_none_leads_out_or_is_too_long(self, name):
        folder = folder_of(OUT, name)
        assert folder.parent == OUT / "projects"
        assert folder.name not in {"", ".", ".."}
        assert "\0" not in folder.name
        assert len(os.fsencode(folder.name)) <= 255

    @given(NAMES, NAMES)
    @example(".", "%2E")
    @example("..", "%2E%2E")
    @example("a/b", "a%2Fb")
    @example("x" * 201, "x" * 202)
    @example("x" * 200, folder_of(OUT, "x" * 201).name)
    @example("x" * 201, folder_of(OUT, "x" * 201).name)
    @example("é" * 100, "é" * 99 + "e")
    def test_no_two_share_one(self, first, second):
        assert (folder_of(OUT, first) == folder_of(OUT, second)) == (first == second)


class TestKey:
    @pytest.fixture
    def root(self, tmp_path):
        write(tmp_path / "p/x.json", two_annotators())
        write(tmp_path / "p/y.json", two_annotators())
        write(tmp_path / "p/images/1.jpg", b"one")
        return tmp_path

    def test_is_the_same_again(self, root):
        key = result_key(only(root), PLAIN)
        path = root / "p/x.json"
        content = path.read_bytes()
        os.utime(path, (1, 1))
        assert result_key(only(root), PLAIN) == key
        path.unlink()
        path.write_bytes(content)
        assert result_key(only(root), PLAIN) == key

    @pytest.mark.parametrize(
        "change",
        [
            lambda p: (p / "x.json").write_bytes((p / "x.json").read_bytes() + b" "),
            lambda p: (p / "x.json").rename(p / "z.json"),
            lambda p: (p / "x.json").unlink(),
            lambda p: write(p / "annotations/z.json", two_annotators()),
            lambda p: write(p / "bboxqa.toml", "seed = 1\n"),
            lambda p: write(p / "bboxqa.toml", "[validate]\nmin_side_px = 3\n"),
        ],
    )
    def test_changes_with_the_files(self, root, change):
        key = result_key(only(root), PLAIN)
        change(root / "p")
        assert result_key(only(root), PLAIN) != key

    @pytest.mark.parametrize(
        "settings",
        [
            Settings({"seed": 1}, {}),
            Settings({}, {"fail_on": "info"}),
            Settings({}, {}, images=True),
            Settings({}, {}, choices=Choices(missing_txt="not-asked")),
        ],
    )
    def test_changes_with_the_settings(self, root, settings):
        assert result_key(only(root), settings) != result_key(only(root), PLAIN)

    def test_changes_with_the_version(self, root, monkeypatch):
        key = result_key(only(root), PLAIN)
        monkeypatch.setattr(settings_module, "__version__", "99.0")
        assert result_key(only(root), PLAIN) != key

    @pytest.mark.parametrize(
        "change",
        [
            lambda images: write(images / "2.jpg", b"two"),
            lambda images: (images / "1.jpg").rename(images / "2.jpg"),
            lambda images: (images / "1.jpg").unlink(),
            lambda images: write(images / "1.jpg", b"longer"),
            lambda images: os.utime(images / "1.jpg", (1, 1)),
            lambda images: write(images / "deep/1.jpg", b"one"),
        ],
    )
    def test_changes_with_the_images_where_they_count(self, root, change):
        looked_at = Settings({}, {}, images=True)
        without, key = result_key(only(root), PLAIN), result_key(only(root), looked_at)
        change(root / "p/images")
        assert result_key(only(root), PLAIN) == without
        assert result_key(only(root), looked_at) != key

    def test_own_settings_go_over_those_of_the_run(self, root):
        write(root / "p/bboxqa.toml", 'seed = 1\n[validate]\nfail_on = "info"\n')
        agree, validate, *_ = settings_of(only(root), Settings({"seed": 2, "bootstrap": 0}, {}))
        assert (agree.seed, agree.bootstrap, validate.fail_on) == (1, 0, "info")


class TestRecord:
    def test_is_what_was_returned(self, tmp_path):
        row = done(tmp_path, differing())
        key, kept = recorded(tmp_path / "out", "p")
        assert kept == row
        assert key == result_key(only(tmp_path / "root"), PLAIN)

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "3", "{}", '{"key": "k"}', '{"key": "k", "row": {}}', '{"key":"k","row":3}',
         '{"key": "k", "row": {"project": "p", "status": "failed", "n_files": 1, "later": 1}}',
         '{"key": "k", "files": [], "row": {"project": "p", "status": "failed", "n_files": "1"}}',
         '{"key": "k", "files": [], "row": {"project": "p", "status": 1, "n_files": 1}}',
         '{"key": "k", "files": [], "row": ' + "[" * 5000],
    )  # fmt: skip
    def test_broken_is_none(self, tmp_path, text):
        write(folder_of(tmp_path, "p") / "record.json", text)
        assert recorded(tmp_path, "p") is None


class TestStatus:
    def test_measured(self, tmp_path):
        row = done(tmp_path, differing())
        assert (row.status, row.passed, row.message) == ("measured", True, "")
        assert (row.n_files, row.n_images, row.n_annotators, row.n_annotations) == (1, 6, 2, 12)
        folder = tmp_path / "out/projects/p"
        values = json.loads((folder / "summary.json").read_text())["thresholds"][0]
        assert row.alpha == values["alpha"]
        assert [row.low, row.high] == values["interval"]
        assert row.mean_image_alpha == values["mean_image_alpha"]
        findings = [json.loads(line) for line in _lines(folder / "findings.jsonl")]
        counted = [
            sum(finding["severity"] == severity for finding in findings)
            for severity in ("error", "warning", "info")
        ]
        assert counted == [row.n_errors, row.n_warnings, row.n_infos]
        assert {path.name for path in folder.iterdir()} == {
            "categories.csv", "details.json", "findings.jsonl", "images.csv", "log.txt",
            "manifest.json", "pairs.csv", "record.json", "summary.json", "units.csv",
        }  # fmt: skip
        assert len(csv_rows(folder / "images.csv")) == 6

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (document([annotation(1)]), "no annotator is named in the files"),
            (document([]), "no annotations"),
        ],
    )
    def test_not_measured(self, tmp_path, content, message):
        row = done(tmp_path, content)
        assert (row.status, row.passed) == ("not measured", True)
        assert message in row.message
        assert "\n" not in row.message
        assert row.n_errors == 0
        assert row.alpha is None
        assert recorded(tmp_path / "out", "p")[1] == row
        assert (tmp_path / "out/projects/p/findings.jsonl").is_file()
        assert not (tmp_path / "out/projects/p/summary.json").exists()

    def test_captions_beside_objects_are_not_measured(self, tmp_path):
        captions = [{"id": 1, "image_id": 1, "caption": "a dog"}]
        write(tmp_path / "root/p/captions.json", document(captions))
        row = done(tmp_path, differing())
        assert (row.status, row.n_files) == ("not measured", 2)
        assert "captions.json: holds COCO captions; expected objects with boxes" in row.message

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"images": [', "x.json:1:13: F001 error "),
            ({"images": []}, 'S001 error "annotations", '),
            (two_annotators() | {"categories": []}, "category_id"),
            (
                document_of(
                    [(1, "a", 1, (1, 1, -2, 2), {"id": "\x1b[31m"}), (1, "b", 1, (1, 1, 9, 9))]
                ),
                "bbox width is -2",
            ),
        ],
    )
    def test_failed_because_of_the_input(self, tmp_path, content, message):
        row = done(tmp_path, content)
        assert (row.status, row.passed) == ("failed", False)
        assert message in row.message
        assert row.message.isprintable()
        assert row.n_errors > 0
        assert recorded(tmp_path / "out", "p")[1] == row
        log = (tmp_path / "out/projects/p/log.txt").read_text()
        assert row.message.split(" (and")[0].split(": ")[-1] in log

    def test_min_f1(self, tmp_path):
        row = done(tmp_path, differing(), Settings({"min_f1": 10 / 12}, {}))
        assert (row.passed, row.message, row.f1) == (True, "", 10 / 12)
        row = done(tmp_path, differing(), Settings({"min_f1": 0.84}, {}))
        assert (row.passed, row.message) == (False, "F1 is 0.83, and 0.84 was asked for")

    @pytest.mark.parametrize(("more", "says"), [({}, True), ({"q/y.json": differing()}, False)])
    def test_other_files_are_noted_unless_projects_are_inside(self, tmp_path, more, says):
        for name, content in ({"x.json": differing()} | more).items():
            write(tmp_path / "p" / name, content)
        (tmp_path / "p/q").mkdir(exist_ok=True)
        (tmp_path / "p/q/z.xml").write_text("<z/>", "utf-8")
        project = discover(tmp_path / "p").projects[0]
        assert project.name == "."
        run_project((project, ""), PLAIN, tmp_path / "out")
        found = json.loads((folder_of(tmp_path / "out", ".") / "summary.json").read_bytes())
        noted = any("left out" in each and "(q/z.xml)" in each for each in found["notes"])
        assert noted is says

    def test_an_alpha_without_meaning_reaches_nothing(self, tmp_path):
        content = differing()
        for each in content["annotations"]:
            each["category_id"] = 1
        row = done(tmp_path, content, Settings({"min_alpha": -1.0}, {}))
        assert row.passed is False
        assert row.message.startswith("there is no alpha to compare with -1: no meaning with one ")

    def test_fail_on(self, tmp_path):
        assert done(tmp_path, differing()).passed
        row = done(tmp_path, differing(), Settings({"min_alpha": 0.95}, {"fail_on": "info"}))
        assert (row.status, row.passed) == ("measured", False)
        found, below = row.message.split("; ")
        assert below.endswith(", and 0.95 was asked for")
        assert found == "findings of severity info or above"
        row = done(tmp_path, document([annotation(1)]), Settings({}, {"fail_on": "info"}))
        assert (row.status, row.passed) == ("not measured", False)


class TestMachine:
    """A disk that is full leaves the last result as it was."""

    @pytest.mark.parametrize("place", ["mkdir", "write_text", "replace"])
    def test_full(self, tmp_path, monkeypatch, place):
        before = done(tmp_path, differing())
        folder = tmp_path / "out/projects/p"
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        write(tmp_path / "root/p/x.json", two_annotators())
        project = only(tmp_path / "root")

        def full(*_, **__):
            raise OSError(ENOSPC, os.strerror(ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(Path, place, full)
            row = run_project((project, "new"), PLAIN, tmp_path / "out")
        assert (row.status, row.passed) == ("failed", False)
        assert "No space left on device" in row.message
        left = {path.name: path.read_bytes() for path in folder.iterdir()}
        # It is told where the disk takes it.
        log = left.pop("failed.txt", b"")
        assert (b"No space left on device" in log) == (place not in ("mkdir", "write_text"))
        assert left == files
        assert recorded(tmp_path / "out", "p")[1] == before
        assert [path.name for path in folder.parent.iterdir()] == ["p"]

    def test_a_result_is_replaced_as_a_whole(self, tmp_path):
        done(tmp_path, differing())
        row = done(tmp_path, document([annotation(1)]))
        names = {path.name for path in (tmp_path / "out/projects/p").iterdir()}
        assert names == {"findings.jsonl", "log.txt", "record.json"}
        assert recorded(tmp_path / "out", "p")[1] == row


def test_what_changes_while_it_is_read_is_not_kept(tmp_path, monkeypatch):
    real = project._validated

    def slow(job):
        found = real(job)
        job.project.files[0].write_text(json.dumps(differing(), indent=1))
        return found

    monkeypatch.setattr(project, "_validated", slow)
    row = done(tmp_path, differing())
    assert row.status == "failed"
    assert row.message.endswith("p: changed while it was read; run it again")
    assert recorded(tmp_path / "out", "p") is None
    monkeypatch.undo()
    assert done(tmp_path, differing()).status == "measured"


UNCHECKED = Settings({"bootstrap": 0, "checks": False}, {})
DOCS = Path(__file__).parents[2] / "docs/batch.md"


def yolo(root, name, toml):
    """Write a project of two annotators who share a square box, without the sizes of images."""
    for who, side in {"ann": 0.1, "bob": 0.11}.items():
        write(root / name / who / "classes.txt", "cat\n")
        write(root / name / who / "labels/a.txt", f"0 0.5 0.5 0.2 0.4\n0 0.2 0.2 0.1 {side}\n")
    write(root / name / "bboxqa.toml", toml)


def batch(root, settings=UNCHECKED):
    return {row.project: row for row in run_batch(root, root.parent / "out", settings).rows}


def test_the_tables_of_keys_are_complete():
    text = DOCS.read_text("utf-8")
    tables = re.split(r"^\| key", text, flags=re.MULTILINE)[1:]
    rows = [re.findall(r"^\| (`[^|]*) \|", table, flags=re.MULTILINE) for table in tables]
    keys = [[key for row in table for key in re.findall(r"`(\w+)`", row)] for table in rows]
    assert [sorted(each) for each in keys] == [
        sorted(AgreeSettings.__struct_fields__),
        sorted(READING_KEYS),
        sorted(ValidateSettings.__struct_fields__),
    ]


@pytest.mark.parametrize("sizes", ["100x50", "sizes.csv"])
def test_projects_of_several_sizes_run_in_one_batch(tmp_path, sizes):
    root = tmp_path / "root"
    yolo(root, "small", f'[reading]\nimage_size = "{sizes}"\n')
    yolo(root, "large", '[reading]\nimage_size = "1920x1080"\n')
    yolo(root, "unknown", "bootstrap = 0\n")
    write(root / "small/sizes.csv", "image,width,height\na.jpg,100,50\n")
    rows = batch(root)
    assert {name: row.status for name, row in rows.items()} == {
        "small": "measured", "large": "measured", "unknown": "failed",
    }  # fmt: skip
    assert "size" in rows["unknown"].message
    # An option replaces what a project says, as with other settings.
    given = Settings(UNCHECKED.agree, {}, choices=choices_of({"image_size": (64, 64)}))
    assert batch(root, given)["unknown"].status == "measured"


def test_projects_are_merged_where_their_settings_or_those_of_the_run_say_so(tmp_path):
    root = tmp_path / "root"
    sizes = '[reading]\nimage_size = "100x50"\n'
    yolo(root, "own", "consensus = true\n" + sizes)
    yolo(root, "other", sizes)
    yolo(root, "not", "consensus = false\n" + sizes)
    rows = batch(root)
    assert {row.status for row in rows.values()} == {"measured"}
    made = {path.parent.name for path in tmp_path.rglob("out/**/merged.json")}
    assert made == {"own"}
    batch(root, Settings(UNCHECKED.agree, {}, stages={"consensus": True}))
    made = {path.parent.name for path in tmp_path.rglob("out/**/merged.json")}
    assert made == {"own", "other"}
    folder = tmp_path / "out/projects/own"
    merged = json.loads((folder / "merged.json").read_text())["annotations"]
    assert [each["votes"] for each in merged] == [2, 2]
    assert (folder / "dropped.csv").read_text().startswith("image,annotator,id,")


def test_masks_are_read_where_a_project_says_what_their_values_are(tmp_path):
    for name in ("said", "unsaid"):
        for who, left in (("ann", 10), ("bob", 15)):
            pixels = np.zeros((40, 60), np.uint8)
            pixels[5:25, left : left + 20] = 7
            (tmp_path / "root" / name / who).mkdir(parents=True)
            Image.fromarray(pixels).save(tmp_path / "root" / name / who / "a.png")
    write(tmp_path / "root/said/bboxqa.toml", '[reading]\nmask = "instances"\n')
    rows = batch(tmp_path / "root")
    assert [*rows] == ["said"]
    assert (rows["said"].status, rows["said"].n_annotations) == ("measured", 2)
    # Masks are compared as such: 15 of 25 columns.
    summary = json.loads((tmp_path / "out/projects/said/summary.json").read_text())
    assert summary["similarity"] == "mask"
    assert rows["said"].mean_iou == pytest.approx(15 / 25)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[reading]\nimage_size = "../b/sizes.csv"\n',
         "image_size is '../b/sizes.csv', which leads"),
        ('[reading]\nimage_size = "gone.csv"\n', "gone.csv: no such file"),
        ("[reading]\nimage_size = 7\n", "[reading]: image_size is 7; expected width and height"),
        ("[reading]\nvoc_base = 2\n", "[reading]: voc_base is 2; expected one of 0, 1"),
        ("[reading]\nvoc_base = true\n", "[reading]: voc_base is True; expected one of 0, 1"),
        ('[reading]\ncolumns = "x"\n', "[reading]: columns is 'x'; expected such as"),
        ('[reading]\nsize = "1x1"\n', "[reading]: unknown setting 'size'"),
        ("reading = 1\n", "reading is 1; expected a table of settings"),
        ('fail_on = "error"\n', "unknown setting 'fail_on'"),
        ("consensus = 1\n", "consensus is 1; expected true or false"),
        ("map = {}\n", "unknown setting 'map'; expected one of similarity"),
        ('filter = "x*"\n', "no file matches filter 'x*'"),
        ('[reading]\nimage_size = "bboxqa.toml"\n', "bboxqa.toml: has no image sizes"),
    ],
)  # fmt: skip
def test_wrong_settings_fail_their_project_only(tmp_path, toml, words):
    root = tmp_path / "root"
    part = document([annotation(1, annotator="ann"), annotation(2, annotator="bob")])
    write(root / "a/y.json", part)
    write(root / "a/bboxqa.toml", toml)
    write(root / "b/y.json", part)
    write(root / "b/sizes.csv", "image,width,height\na,100,50\n")
    rows = batch(root)
    assert (rows["a"].status, rows["b"].status) == ("failed", "measured")
    assert words in rows["a"].message
    assert rows["a"].message.isprintable()


def test_wrong_settings_leave_the_results_of_an_earlier_run(tmp_path):
    root, folder = tmp_path / "root", tmp_path / "out/projects/a"
    write(root / "a/y.json", two_annotators())
    batch(root)
    before = (folder / "record.json").read_bytes()
    write(root / "a/bboxqa.toml", "nonsense = 1\n")
    assert batch(root)["a"].status == "failed"
    assert (folder / "record.json").read_bytes() == before
    assert "nonsense" in (folder / "failed.txt").read_text()
