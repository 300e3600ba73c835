"""Reading tables of ratings, of every kind and layout."""

import csv
import json

import numpy as np
import pytest
from msgspec.structs import replace
from support.cli import run
from support.datasets import annotation, dataset, document, image, object_rows
from support.datasets import write as put

import bboxqa
from bboxqa import stats
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats.ratings import from_array, from_columns, read_ratings


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def triples(ratings):
    """Return (unit, annotator, value) by name, in order."""
    data = ratings.data
    units = ratings.unit_names or range(10**6)
    return [
        (units[u], ratings.annotator_names[a], ratings.value_names[v])
        for u, a, v in zip(data.unit, data.annotator, data.value, strict=True)
    ]


def read(path, **settings):
    return read_ratings(path, **settings)[None]


ROWS = [("a", "x", "yes"), ("a", "y", "no"), ("b", "x", "no")]
LONG = "unit,annotator,value\na,x,yes\nb,x,no\na,y,no\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", LONG), ("t.csv", "\ufeff" + LONG), ("t.csv", LONG.encode("utf-16")),
        ("t.csv", LONG.replace("\n", "\r\n")), ("t.csv", LONG.replace(",", ";")),
        ("t.csv", LONG.replace(",", ", ").replace("no\n", " no \n")), ("t.csv", LONG + "\n,,\n"),
        ("t.tsv", LONG.replace(",", "\t")), ("t.txt", LONG.replace(",", "\t")),
        ("t.csv", 'extra,"unit",annotator,value\n"1\n2",a,x,yes\n,b,x,no\n,a,y,"no"\n'),
    ],
)  # fmt: skip
def test_delimited_tables(write, name, text):
    ratings = read(write(text, name))
    assert triples(ratings) == ROWS
    data = ratings.data
    assert [x.dtype for x in (data.unit, data.annotator, data.value, data.state, data.group)] == [
        np.int64, np.int32, np.int32, np.uint8, np.int32,
    ]  # fmt: skip
    assert (data.n_values, data.n_groups, data.group.tolist()) == (2, 2, [0, 1])


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    unit, annotator, value = zip(*ROWS, ("b", "y", None), strict=True)
    table = pa.table({"unit": pa.array(unit).dictionary_encode(), "annotator": annotator,
                      "value": value})  # fmt: skip
    parquet.write_table(table, tmp_path / "t.parquet")
    assert triples(read(tmp_path / "t.parquet")) == ROWS


RATERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]  # fmt: skip


def table_text(rows, header=None, names=None, missing=""):
    lines = [[missing if x is None else str(x) for x in row] for row in rows]
    if names:
        lines = [[name, *line] for name, line in zip(names, lines, strict=True)]
    return "".join(",".join(line) + "\n" for line in ([header] if header else []) + lines)


@pytest.mark.parametrize("missing", ["", "NA", "null", "nan", "-", "."])
def test_one_table_in_every_layout(write, missing):
    names = ["A", "B", "C", "D"]
    across = list(zip(*RATERS, strict=True))
    units = [f"u{i:02}" for i in range(12)]
    wide = write(table_text(RATERS, ["annotator", *units], names, missing))
    tall = write(table_text(across, ["unit", *names], units, missing), "tall.csv")
    rows = [
        f"{unit},{name},{missing if x is None else x}"
        for name, row in zip(names, RATERS, strict=True)
        for unit, x in zip(units, row, strict=True)
    ]
    long = write("\n".join(["unit,annotator,value", *rows]), "long.csv")
    expected = triples(read(long))
    assert len(expected) == 41
    assert triples(read(wide)) == expected
    assert triples(read(tall, layout="units-x-raters")) == expected
    array = from_array(RATERS, annotator_names=names, unit_names=units)
    assert triples(array) == expected
    assert array.numbers.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("values", "n"),
    [("+-+-", 4), (".!.?", 4), (",.,.", 4), ("a.b.", 2), ("a-b-", 2), ("1.-2", 2)],
)
def test_signs_are_answers_beside_other_signs(write, values, n):
    rows = [f'u{i // 2},{"xy"[i % 2]},"{each}"' for i, each in enumerate(values)]
    read = read_ratings(write("unit,annotator,value\n" + "\n".join(rows) + "\n"))
    assert len(read[None].data.unit) == n


def test_counts(write):
    ratings = read(write("unit,no,yes,never\na,1,2,0\nb,0,3,0\n"), layout="counts")
    named = replace(ratings, annotator_names=("1", "2", "3"))
    assert triples(named) == [
        ("a", "1", "no"), ("a", "2", "yes"), ("a", "3", "yes"),
        ("b", "1", "yes"), ("b", "2", "yes"), ("b", "3", "yes"),
    ]  # fmt: skip
    assert ratings.annotator_names == ()
    assert ratings.data.n_values == 3


def test_clusters_and_numbers_of_options(write):
    text = "unit,annotator,value,image,n\na,x,1,i,2\nb,x,1,j,3\nc,x,2,i,4\n"
    ratings = read(write(text), cluster="image", n_options="n")
    assert (ratings.data.group.tolist(), ratings.data.n_groups) == ([0, 1, 0], 2)
    assert ratings.n_options.tolist() == [2, 3, 4]


@pytest.mark.parametrize("make", ["list", "numpy", "pandas", "polars", "pyarrow"])
def test_columns_of_any_library(make):
    makers = {
        "list": list,
        "numpy": lambda x: np.array(x, object),
        "pandas": lambda x: pytest.importorskip("pandas").Series(x),
        "polars": lambda x: pytest.importorskip("polars").Series(x),
        "pyarrow": lambda x: pytest.importorskip("pyarrow").array(x),
    }
    column = makers[make]
    ratings = from_columns(column([2, 10, 2]), column(["x", "x", "y"]), column(["b", None, "a"]))
    assert triples(ratings) == [("2", "x", "b"), ("2", "y", "a")]
    assert ratings.unit_names == ("2", "10")
    numbers = from_columns(column([1, 1, 2]), column(["x", "y", "x"]), column([1, None, 10]))
    assert numbers.numbers.tolist() == [1, 10]


HEAD = "unit,annotator,value\n"


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "is empty"),
        (HEAD, {}, "has no ratings: every value is missing"),
        ("unit,rater,value\na,x,1\n", {"layout": "long"},
         "line 1: has no column 'annotator'; columns: unit, rater, value"),
        ("unit,value,value,annotator\na,x,1,2\n", {}, "has several columns 'value'"),
        (HEAD + "a,x,1\na,x\nb,x,2,3\n", {}, "line 3: has 2 cells; expected 3"),
        (HEAD + "a,x,1\na,x\nb,x,2,3\n", {}, "line 4: has 4 cells"),
        (HEAD + "a,x,1\n\n,x,1\n", {}, "line 4: unit is missing"),
        (HEAD + "a,,1\n", {}, "line 2: annotator is missing"),
        (HEAD + 'a,x,1\na,"x,1\n', {}, "line 3: cannot be split into cells"),
        (HEAD + "a,x," + "y" * 200_000 + "\n", {}, "line 2: cannot be split into cells: field"),
        (HEAD.encode() + b"a,x,\xe9\n", {}, "line 2: is not utf-8: byte 25 of the file is 0xe9"),
        (b"PK\x03\x04", {}, "is a compressed archive"),
        (b"\x1f\x8b", {}, "is a compressed archive"),
        ('{"unit": 1}\n[2]\n', {}, "line 2: is not a JSON object"),
        ('{"unit": 1, "annotator": 2, "value": {"a": 3}}', {}, "line 1: value is an object"),
        ("unit,annotator,value,n\na,x,1,2\na,y,1,3\n", {"n_options": "n"},
         "line 3: n of unit 'a' is '3'; expected '2', as in line 2"),
        ("unit,annotator,value,n\na,x,1,two\n", {"n_options": "n"},
         "line 2: n is 'two'; expected a whole number, 1 or more"),
        ("unit,annotator,value,c\na,x,1,\n", {"cluster": "c"}, "line 2: c is missing"),
        ("unit,annotator,label\na,x,1\n", {}, "line 1: the header does not show"),
        ("image,category,x,y,width,height\na,b,1,2,3,4\n", {}, "`bboxqa agree` measures its boxes"),
        ("item,coder,code\na,x,1\n", {"unit": "item", "annotator": "coder"},
         "line 1: has no column 'value'; columns: item, coder, code"),
        ("id,ann,bob\na,1,2\n", {"unit": "id"}, "does not show the layout of the table: id, ann"),
        ("id,ann,bob\na,1,2\n", {"unit": "item"}, "line 1: has no column 'item'; columns: id, ann"),
        ("unit,ann,bob\na,1,2\nb,3,3\n", {},
         "does not show the layout of the table: unit, ann, bob"),
        ("1,2,3\n1,2,4\n", {"layout": "raters-x-units"}, "expected names of columns in line 1"),
        ("annotator,u,u\nA,1,2\n", {}, "column 'u' occurs several times"),
        ("unit,a,b\nx,1,no\n", {"layout": "counts"}, "row 'x', column 'b': is 'no'; expected a"),
        ("unit,a,b\nx,1,999999999\n", {"layout": "counts"}, "counts add up to"),
        ("unit,a,b\nx,yes,no\n", {"layout": "raters-x-units"}, "first column is called 'unit'"),
        ("annotator,a,b\nx,yes,no\n", {"layout": "units-x-raters"}, "is called 'annotator'"),
        ("rater1,rater2\nyes,no\n", {"layout": "raters-x-units"}, "expected names of columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(write, text, settings, message):
    settings = dict(settings)
    path = write(text, settings.pop("name", "table.csv"))
    with pytest.raises(DatasetError, match=message) as raised:
        read_ratings(path, **settings)
    assert all(problem.startswith(str(path)) for problem in raised.value.problems)


@pytest.mark.parametrize(("n_annotators", "n_units"), [(8, 7), (8, 8), (5, 4), (5, 5)])
def test_more_annotators_than_units_are_refused(write, n_annotators, n_units):
    array = np.array([[f"v{i * j % 3}" for j in range(n_units)] for i in range(n_annotators)])
    names, units = [f"n{i}" for i in range(n_annotators)], [f"q{j}" for j in range(n_units)]
    would = f"would be {n_annotators} annotators of {n_units} units"
    wide, tall = ("raters-x-units", "annotator", array), ("units-x-raters", "unit", array.T)
    for (layout, word, rows), turned in ((wide, tall[0]), (tall, wide[0])):
        lines, columns = (names, units) if layout == wide[0] else (units, names)
        path = write(table_text(rows.tolist(), ["name", *columns], lines))
        if n_annotators > n_units:
            words = f"does not look like {layout}: it {would}"
            with pytest.raises(DatasetError, match=words) as no:
                read(path, layout=layout)
            assert f"--layout {turned}" in no.value.advice
            assert f"with the word {word}," in no.value.advice
            path.write_text(path.read_text().replace("name", word, 1))
        assert len(read(path, layout=layout).annotator_names) == n_annotators
    if n_annotators > n_units:
        with pytest.raises(DatasetError, match=f"table: {would}") as raised:
            from_array(array)
        assert "table.T" in raised.value.advice
    named = from_array(array, annotator_names=names, unit_names=units)
    assert triples(named) == triples(read(path, layout=layout))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (None, {}, "no such file"),
        (LONG, {"layout": "x"}, "expected one of long"),
        (LONG, {"unit": "value"}, "three different columns"),
        ("annotator,u\nA,1\n", {"layout": "raters-x-units", "by": "t"},
         "--by is for the layout long"),
    ],
)  # fmt: skip
def test_settings_that_contradict_are_refused(tmp_path, write, text, settings, message):
    path = tmp_path / "no.csv" if text is None else write(text)
    with pytest.raises((ConfigError, DatasetError), match=message):
        read(path, **settings)
    with pytest.raises(DatasetError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("array", "more", "message"),
    [
        ([1, 2], {}, "expected an array"),
        ([[1], [2]], {"annotator_names": ["x"]}, "annotator_names: has 1 names; expected 2"),
        ([[1]], {"n_options": [0]}, "n_options: expected"),
    ],
)
def test_arrays_that_do_not_fit(array, more, message):
    with pytest.raises(DatasetError, match=message):
        from_array(array, **more)


# Tables that bboxqa writes, given to bboxqa stats.


def rows():
    return object_rows(np.random.default_rng(3), n_images=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a result with two thresholds; one category is called as a missing rating is."""
    folder = tmp_path_factory.mktemp("own")
    names = [{"id": n, "name": name} for n, name in enumerate(("NA", "cat", "dog"))]
    records = [annotation(n, i, c, b, annotator=f"r{a}") for n, (i, a, c, b) in enumerate(rows())]
    content = document(records, [image(i) for i in range(20)], names)
    data = put(folder / "data.json", content)
    bboxqa.agree(data, iou_threshold=[0.5, 0.7], bootstrap=0).save(folder / "result")
    return folder / "result"


def alphas_of(folder):
    summary = json.loads((folder / "summary.json").read_text())
    return {str(part["iou_threshold"]): part["alpha"] for part in summary["thresholds"]}


def measured(path, *options):
    result = run("stats", path, "--coefficient", "krippendorff_alpha", "--bootstrap", 0,
                 "--format", "json", *options)  # fmt: skip
    assert result.returncode == 0, result.stderr
    return {
        task["task"]: task["coefficients"]["krippendorff_alpha"]["value"]
        for task in json.loads(result.stdout)
    }


@pytest.mark.parametrize(
    "options",
    [(), ("--value", "category"), ("--layout", "units-x-raters"), ("--by", "iou_threshold")],
)
def test_alpha_of_units_is_that_of_agree(folder, options):
    found, expected = measured(folder / "units.csv", *options), alphas_of(folder)
    assert found.keys() == expected.keys()
    for threshold, alpha in expected.items():
        assert found[threshold] == pytest.approx(alpha, abs=1e-12)


def test_one_threshold_is_one_table(folder, write):
    lines = (folder / "units.csv").read_text().splitlines(keepends=True)
    path = write("".join([lines[0], *(line for line in lines if line.startswith("0.7,"))]))
    found = measured(path)
    assert found == {None: pytest.approx(alphas_of(folder)["0.7"], abs=1e-12)}
    ratings = read_ratings(path)[None]
    images = {row["image"] for row in csv.DictReader(path.read_text().splitlines())}
    assert ratings.data.n_groups == len(images)
    said = "a missed object has the value (missing), and intervals draw images"
    assert said in run("stats", path, "--bootstrap", 0).stdout


@pytest.mark.parametrize("name", ["images", "pairs", "categories", "boxes_per_object"])
def test_tables_of_results_are_no_ratings(folder, name):
    for options in ((), ("--layout", "units-x-raters"), ("--layout", "counts")):
        result = run("stats", folder / f"{name}.csv", *options)
        assert result.returncode == 2
        assert "is a table of results of bboxqa; expected ratings" in result.stderr
        assert "Ratings are in units.csv" in result.stderr


@pytest.mark.parametrize("view", [np.ndarray, np.recarray])
def test_a_structured_array_as_a_frame(view):
    kind = [("unit", int), ("annotator", "U1"), ("value", "U1")]
    table = np.array([(1, "a", "x"), (1, "b", "x"), (2, "a", "y")], kind).view(view)
    assert stats.ratings_from_frame(table).value_names == ("x", "y")


def test_what_is_no_frame_is_refused():
    with pytest.raises(ConfigError, match="unit is 'unit', which is not a column"):
        stats.ratings_from_frame(None)


def test_units_as_a_frame():
    result = bboxqa.agree(dataset(rows()), bootstrap=0)
    columns = zip(*result.units.rows(), strict=True)
    units = dict(zip(result.units.columns, map(list, columns), strict=True))
    frames = [(units, {}), (result.units.to_pandas(), {"value": "category"})]
    for frame, options in frames:
        ratings = stats.ratings_from_frame(frame, **options)
        found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0).coefficients
        assert found["krippendorff_alpha"].value == pytest.approx(result.alpha, abs=1e-12)
        assert ratings.data.n_groups == len(set(units["image"]))
