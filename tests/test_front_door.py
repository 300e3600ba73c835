"""What is called first: paths or data, results as frames, files and words for a paper."""

import itertools
import json
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.cli import run
from support.datasets import two_annotators, write

import bboxqa
from bboxqa import stats
from bboxqa.core.errors import ConfigError, DatasetError, OutputError, in_python

SIMULATED = Path(__file__).parent / "data/simulated.json"


@pytest.fixture(scope="module")
def result():
    return bboxqa.agree(SIMULATED, iou_threshold=[0.5, 0.75], bootstrap=200)


@pytest.fixture(scope="module")
def saved(result, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "result"
    return folder, result.save(folder)


def test_paths_and_data_give_the_figures_of_the_command(tmp_path):
    shown = json.loads(run("agree", SIMULATED, "--bootstrap", 100, "--format", "json").stdout)
    document = json.loads(SIMULATED.read_bytes())
    for source in (SIMULATED, [str(SIMULATED)], document, bboxqa.read(SIMULATED)):
        found = bboxqa.agree(source, bootstrap=100).to_dict()
        assert found == shown | {"attribution": found["attribution"]}
    files = {who: unnamed(tmp_path / f"{who}.json", n) for n, who in enumerate(("ann", "bob"), 1)}
    for source in ([*files.values()], tmp_path, files):
        for found in (bboxqa.agree(source), bboxqa.agree(bboxqa.read(source))):
            assert (found.n_annotators, found.existence.f1) == (2, 2 / 3)


def unnamed(path, n=2):
    """Write a file of n annotations that names nobody."""
    document = two_annotators()
    document["annotations"] = document["annotations"][:n]
    for each in document["annotations"]:
        del each["annotator"]
    return write(path, document)


def test_the_other_functions_take_paths_or_data(tmp_path):
    data = bboxqa.read(SIMULATED)
    sources = (SIMULATED, data, json.loads(SIMULATED.read_bytes()))
    assert len({len(bboxqa.validate(each).findings) for each in sources}) == 1
    for before, after in itertools.product(sources, repeat=2):
        found = bboxqa.compare(before, after, bootstrap=0)
        assert found.counts["unchanged"] == len(data.annotations)
    assert len({repr(bboxqa.consensus(each)) for each in sources}) == 1
    assert {bboxqa.draw(each, data.image_names[0]).by for each in sources} == {"annotator"}
    gold = write(tmp_path / "gold.json", json.loads(SIMULATED.read_bytes()))
    by_file = bboxqa.agree(SIMULATED, reference="ann", bootstrap=0).reference
    assert by_file.name == bboxqa.agree(data, reference="ann", bootstrap=0).reference.name
    with pytest.raises(DatasetError, match="several annotators"):
        bboxqa.agree(SIMULATED, reference=str(gold), bootstrap=0)


def test_several_thresholds_never_make_an_attribute_raise(result):
    first = result.thresholds[0]
    for name in ("alpha", "interval", "status", "existence", "place", "categories", "units"):
        assert getattr(result, name) is getattr(first, name)
    assert result.story
    assert result.story == result.diagnose().story[: len(result.story)]
    story = bboxqa.agree(SIMULATED, bootstrap=40).story
    assert story[0] == "with --bootstrap 40 nobody is named: it takes 200 or more"


def test_tables_are_frames_with_the_threshold(result, monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = result.table("categories")
    assert isinstance(frame, pandas.DataFrame)
    assert frame.groupby("iou_threshold").size().tolist() == [3, 3]
    assert result.table("annotators")["annotator"].tolist()[:3] == ["ann", "bob", "cid"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="pip install pandas"):
        result.table("categories")


def test_intervals_of_a_frame_draw_images(result):
    pytest.importorskip("pandas")
    units = result.table("units")
    units = units[units["iou_threshold"] == 0.5]
    categories = units["category"].fillna("(missing)")
    ratings = stats.ratings_from_columns(
        units["unit"], units["annotator"], categories, cluster=units["image"]
    )
    found = stats.measure(ratings, "krippendorff_alpha", bootstrap=50)
    one = found.coefficients["krippendorff_alpha"]
    assert one.value == pytest.approx(result.alpha)
    assert one.n_clusters == len(np.unique(units["image"]))


def test_a_saved_result_is_what_the_commands_read(result, saved, tmp_path):
    folder, files = saved
    assert {path.name for path in files} >= {"summary.json", "manifest.json", "confusions.csv"}
    assert json.loads((folder / "summary.json").read_bytes()) == result.to_dict()
    assert run("report", folder, "--out", tmp_path / "a.html").returncode == 0
    result.report(tmp_path / "b.html")
    pages = [(tmp_path / name).read_text("utf-8") for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]
    with pytest.raises(OutputError, match="or add --force\nIn Python: --force is force=True"):
        result.save(folder)
    result.save(folder, force=True)
    (tmp_path / "c.html").write_text("mine")
    with pytest.raises(OutputError, match="or give --force"):
        result.report(tmp_path / "c.html")


def test_sources_are_never_replaced(tmp_path):
    path = write(tmp_path / "summary.json", two_annotators())
    before, result = path.read_bytes(), bboxqa.agree(path, bootstrap=0)
    for made, target in ((result.save, tmp_path), (result.report, path)):
        with pytest.raises(OutputError, match="summary"):
            made(target, force=True)
    assert path.read_bytes() == before


def test_a_paper_has_every_choice_and_what_it_cites(result, saved):
    text = result.methods()
    assert run("cite", saved[0]).stdout == f"{text}\n"
    for part in ("3 annotators drew 264 annotations in 60 images", "from IoU 0.5", "200 bootstrap",
                 "the seed 0", "a category of its own",
                 f"bboxqa {bboxqa.__version__}, Python"):  # fmt: skip
        assert part in text
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert keys == ["efron1993", "hesterberg2015", "krippendorff2022", "kuhn1955", "muellner2011",
                    "bboxqa"]  # fmt: skip
    assert "For categories of objects that two or more drew, Krippendorff's alpha was 0." in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"matcher": "complete"}, "complete linkage (Müllner 2011)"),
        ({"matcher": "average"}, "Sokal and Michener 1958"),
        ({"matcher": "recursive"}, "Tschirschwitz et al. 2022"),
        ({"missing": "ignore"}, "a missing annotation was left out"),
        ({"empty_images": "unit"}, "an image that all left empty counted as a unit"),
        ({"category_lenient": True}, "those of equal category first"),
        ({"similarity": "giou", "iou_threshold": 0.25}, "from giou 0.25 (similarity giou) on"),
        ({"bootstrap": 0}, "No intervals were computed."),
    ],
)
def test_each_choice_is_said(settings, part):
    text = bboxqa.agree(SIMULATED, **{"bootstrap": 0, **settings}).methods()
    assert part in text
    cited = re.findall(r"title = \{\{(.*)\}\}", text)
    assert ("Modern Hierarchical, Agglomerative Clustering Algorithms" in cited) == (
        "Müllner 2011" in text
    )


def test_a_result_without_figures_says_so(tmp_path):
    folder = tmp_path / "result"
    document = two_annotators()
    for each in document["annotations"]:
        each["category_id"] = document["categories"][0]["id"]
    found = bboxqa.agree(document, bootstrap=0)
    found.save(folder)
    text = run("cite", folder).stdout
    assert "There is no Krippendorff's alpha (" in text
    # With one category, all have the same.
    assert "had the same category" not in text
    assert run("cite", tmp_path / "none").returncode == 2


def test_errors_have_a_note_on_arguments_of_python(tmp_path):
    path = unnamed(tmp_path / "a.json")
    with pytest.raises(DatasetError) as caught:
        bboxqa.agree(path)
    (note,) = caught.value.__notes__
    people = "--annotator is {NAME: FILE, …} in place of files"
    assert note == f"In Python: --annotator-key is annotator_key=…, {people}"
    with pytest.raises(ConfigError, match=r"^iou_threshold is 1\.5; expected above 0"):
        bboxqa.consensus(SIMULATED, iou_threshold=1.5)
    # The command names its options still.
    assert "or --annotator-key KEY" in run("agree", path).stderr
    assert pickle.loads(pickle.dumps(bboxqa.agree)) is bboxqa.agree  # noqa: S301


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try --join name, or --join path.", "--join is join=…"),
        ("give --image-size 1920x1080", "--image-size is bboxqa.reading(image_size=…)"),
        ("--from says (--group-by KEY)",
         "--from is bboxqa.reading(from_format=…), --group-by is group_by=…"),
        ("then --add-proposed adds the others", "--add-proposed is add_proposed=True"),
        ("run: bboxqa agree a.json --iou 0.5\nor --no-checks, --map a=b",
         "--no-checks is checks=False, --map is category_map={…}"),
        ("well-known--annotator; --details adds tables", ""),
    ],
)  # fmt: skip
def test_options_are_named_as_arguments(text, expected):
    assert in_python(text).removeprefix("In Python: ") == expected


def test_help_shows_first_what_most_people_need():
    first, also = run("--help").stdout.split("\nCommands:\n")[1].split("\nAlso:\n")
    names = [re.findall(r"^  (\w+)  ", part, re.MULTILINE) for part in (first, also)]
    most = "validate agree audit consensus compare convert draw report batch plan"
    assert names == [
        most.split(),
        ["accept", "cite", "stats", "segments", "simulate", "example", "explain"],
    ]
