"""What was typed wrongly is answered in one error that names it, and nothing is written."""

import json
import shlex

import pytest
from support.cli import process, run
from support.datasets import annotation, document, two_annotators, write
from support.reference import data_file


@pytest.fixture
def folder(tmp_path):
    """Return a folder with files of two and three annotators, a table, and a project."""
    write(tmp_path / "x.json", two_annotators())
    drawn = [annotation(n, annotator=who) for n, who in enumerate(("ann", "bob", "cid"))]
    write(tmp_path / "three.json", document(drawn))
    write(tmp_path / "real.json", json.loads(data_file("simulated.json").read_text()))
    write(tmp_path / "t.csv", "unit,annotator,value\n1,a,x\n1,b,x\n")
    write(tmp_path / "root/good/x.json", two_annotators())
    return tmp_path


CASES = [
    ("agre x.json", "Error: No such command 'agre'; did you mean 'agree'?"),
    ("agree none.json", "Error: none.json: no such file"),
    ("agree", "no file given; try: bboxqa agree export.json"),
    ("agree --annotator a", "--annotator is 'a'; expected NAME=FILE"),
    ("agree x.json --annotator a=x", "not both"),
    ("agree --annotator a=x.json", "try: bboxqa agree --annotator a=x.json --annotator NAME=FILE"),
    ("draw x.json --image 1 --by finding", "bboxqa validate FILE --report PAGE.html"),
    ("agree x.json --reference=no.json --reference x.json", "--reference is given twice; expected"),
    ("audit x.json --predictions a --predictions b", "--predictions is given twice; expected one"),
    ("agree x.json --similarity iou", "similarity is 'iou'; expected one of bbox"),
    ("agree x.json --iou 1.5", "--iou is 1.5; expected more than 0 and at most 1"),
    ("agree x.json --iou nan", "--iou is nan; expected more than 0"),
    ("agree x.json --matcher best", "expected one of auto, hungarian, recursive, greedy"),
    ("agree x.json --config none.toml", "none.toml: no such file, and none of the settings"),
    ("agree x.json --config kalso", "; did you mean 'kalos'?"),
    ("agree x.json --format yaml", "'yaml' is not one of 'text', 'json'"),
    ("agree x.json --bootstrap -1", "--bootstrap is -1; expected 0, or 40 to 100,000"),
    ("agree x.json --missing ignore --empty-images unit", "--empty-images is 'unit', which counts"),
    *((f"{command} x.json --memory 2GB", "--memory was removed")
      for command in ("agree", "validate", "batch")),
    ("agree x.json --top 5", "Error: --top is for --report FILE, which is missing"),
    ("convert x.json -o out.json --to coco", "-o is no option here: the output is the last path"),
    ("validate", "no file given; try: bboxqa validate export.json"),
    ("validate x.json --filter a", "No such option '--filter'."),
    ("validate no.json", "no.json: no such file"),
    ("validate x.json --select X9", "no rule begins with 'X9'; `bboxqa explain` lists"),
    ("validate x.json --select B0011", "with 'B0011'; did you mean 'B011'? `bboxqa explain` lists"),
    ("validate x.json --per-file-ignores a", "expected GLOB:CODES"),
    ("validate x.json --per-file-ignores *:X9", "no rule begins with 'X9'"),
    ("validate x.json --unsafe-fixes", "--unsafe-fixes goes with --fix or --diff"),
    ("validate x.json --in-place", "--in-place goes with --fix"),
    ("validate x.json --fix -o y.json", "the fixed copy is NAME.fixed.json: leave out --out"),
    ("validate x.json --fix --diff", "--diff writes nothing"),
    ("validate x.json --config no", "no: no such file, and none of the settings"),
    ("validate x.json --baseline no", "no: no such file"),
    ("validate x.json --images no", "no: no such folder of images"),
    ("validate x.json --images x.json", ".json: is a file; expected a folder of images"),
    *((f"{command} x.json/y", "x.json/y: cannot be written: Not a directory")
      for command in ("validate x.json --output", "consensus three.json -o m.json --report")),
    *((f"{command} -o three.json", "three.json: holds annotations, which are not replaced")
      for command in ("validate x.json", "stats t.csv", "plan real.json --target-width 0.1")),
    *((f"{command} x.json {options}", "r.x: another output is written to r.x")
      for command, options in (
          ("agree", "--out r.x --send-back r.x --to cvat"), ("validate", "--report r.x -o r.x"),
      )),
    ("consensus x.json -o r --report r", "r: another output is written to r"),
    ("agree x.json --report root/../r/a.html --send-back r --to cvat",
     "another output is written to r"),
    ("validate x.json --write-baseline three.json", "three.json: holds annotations, which are not"),
    ("validate x.json --max-findings -1", "not in the range"),
    ("validate x.json --select ,", "--select names no rule"),
    ("validate x.json --select B --ignore B", "none of the chosen rules applies"),
    ("validate x.json --select M001", "Rules about images on disk need --images"),
    ("validate x.json --statistics --output-format json", "give one of --quiet, --verbose"),
    ("validate x.json --diff --output x", "--diff prints only changes"),
    ("validate x.json -q --verbose", "give one of --quiet, --verbose"),
    ("validate x.json -q --format json", "give one of --quiet, --verbose"),
    ("validate x.json --min-severity error --fail-on warning",
     "--min-severity 'error' hides findings that --fail-on 'warning' fails on"),
    ("validate x.json --fix --baseline x", "a baseline is of the file, not of its fixed copy"),
    ("batch gone", "gone: no such folder"),
    ("batch gone --dry-run", "gone: no such folder"),
    ("batch root/good/x.json", "root/good/x.json: is a file; expected a folder"),
    ("batch root --out root/good/x.json", "is no folder; name a folder with --out"),
    ("batch root --out root/good/x.json/deep", "Not a directory"),
    ("batch root --config gone.toml", "gone.toml: no such file"),
    ("batch root --config root/good/x.json", "is not TOML"),
    ("batch root --jobs 0", "0 is not in the range x>=1"),
    ("batch root --log-format xml", "'xml' is not one of"),
    ("batch root --fail-on never", "'never' is not one of"),
    ("batch", "Missing argument 'ROOT'"),
    ("batch ''", "ROOT is empty; name a folder or a URL"),
    ("batch root --nonsense", "No such option"),
    ("consensus three.json -o m.json --quorum 1.5",
     "--quorum is 1.5; expected a whole number of votes, at most 3, the annot"),
    ("consensus three.json -o m.json --quorum 1.0", "is '1.0'; expected votes (1 for one, the num"),
    ("consensus three.json -o m.json --quorum 0", "--quorum is 0; expected a whole number of"),
    ("consensus three.json -o m.json --quorum 4", "--quorum is 4; expected a whole number of"),
    ("consensus three.json -o m.json --iou 0", "--iou is 0; expected above 0, and at most 1"),
    ("consensus three.json -o m.json --to yolo", "m.json: is no name of YOLO detect, which is a"),
    ("consensus three.json -o m.json --similarity polygon", "has no segmentation"),
    ("compare x.json", "Missing argument 'AFTER'"),
    ("compare x.json no.json", "no.json"),
    ("compare real.json real.json --iou 2", "--iou is 2; expected more than 0"),
    ("compare real.json real.json --similarity box", "did you mean 'bbox'"),
    ("compare real.json real.json --annotator-key who", "no annotation has the key 'who'"),
    ("plan x.json", "Missing option '--target-width'"),
    ("plan --target-width 0.1", "no file given; try: bboxqa plan export.json"),
    ("plan x.json --target-width 0", "0 is not in the range 0.001<=x<=2"),
    ("plan x.json --target-width 0.0009", "0.0009 is not in the range 0.001<=x<=2"),
    ("plan x.json --target-width 2.1", "2.1 is not in the range 0.001<=x<=2"),
    ("plan x.json --target-width 0.1 --bootstrap 0", "Error: --bootstrap is 0; expected"),
    ("simulate --truth a.json --images 3", "--images is for scenes that are drawn; leave"),
    ("simulate --annotator 'p03: mis=1'", "p03: error is 'mis'; expected one of miss, extra"),
    ("simulate --out .", ".: is a folder; name a file"),
    ("stats no.csv", "no.csv: no such file"),
    ("stats t.csv --value label", "has no column 'label'; columns: "),
    ("stats t.csv --value valeu", "; did you mean 'value'?"),
    ("stats t.csv --by task", "has no column 'task'"),
    ("stats t.csv --layout raters-x-units", "its first column is called 'unit'"),
    ("stats t.csv --layout wide", "Invalid value for '--layout'"),
    ("stats t.csv --output t.csv", "is one of the files to read; name another file"),
    ("stats t.csv --output .", "is a folder; name a file"),
    ("stats t.csv --bootstrap 20", "--bootstrap is 20; expected 0, or 40 to 100,000"),
    ("stats t.csv --coefficient alpha", "Error: --coefficient is 'alpha'; expected one of"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "message"), CASES)
def test_wrong_use_is_explained(typed, message, folder):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    done = run(*shlex.split(typed), cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_numbers_that_overflow_are_told_in_findings_alone(tmp_path):
    far = {"bbox": [100, 10, 1e308, 1e308], "segmentation": [[10, 10, 1e308, 10, 1e308, 1e308]]}
    near = {"bbox": [10, 10, 50, 50], "segmentation": [[10, 10, 60, 10, 60, 60, 10, 60]]}
    drawn = [annotation(n) | (far if n % 2 else near) for n in range(6)]
    found = process("audit", write(tmp_path / "x.json", document(drawn)))
    assert found.returncode == 2
    assert "RuntimeWarning" not in found.stderr
