"""Categories of several files whose names differ."""

import json
import shlex

import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.pipelines.agree import agree
from bboxqa.pipelines.read import read_coco


def files(tmp_path, **names):
    """Return files with a box of each category on each of six images."""
    for first, (who, own) in enumerate(names.items()):
        categories = [{"id": n, "name": name} for n, name in enumerate(own, 10 * first)]
        images = [image(number) for number in range(1, 7)]
        boxes = [
            annotation(8 * number + place, number, each["id"], bbox=[30 * place, 0, 9, 9])
            for number in range(1, 7)
            for place, each in enumerate(categories)
        ]
        write(tmp_path / f"{who}.json", document(boxes, images, categories))
    return [tmp_path / f"{who}.json" for who in names]


def test_names_that_differ_by_case_are_a_headline_with_the_options_that_join_them(tmp_path):
    both = files(tmp_path, ann=["cat", "dog"], bob=["Cat", "dog "])
    data = read_coco(both)
    (headline,) = data.headlines
    assert headline == (
        "categories 'Cat' and 'cat', 'dog' and 'dog ' differ only by case or blanks, and count as "
        "different; to join them: --map cat=Cat --map 'dog =dog'"
    )
    assert agree(data, bootstrap=0).alpha < 0.2
    options = ("--map", "cat=Cat", "--map", "dog =dog")
    values = json.loads(run("agree", *both, *options, "--format", "json").stdout)
    assert values["thresholds"][0]["alpha"] == 1
    assert values["notes"] == [note for note in values["notes"] if "differ by case" not in note]
    mapped = read_coco(both, category_map={"cat": "Cat", "dog ": "dog"})
    assert mapped.category_names == ("Cat", "dog")


def test_renamed_categories_are_refused_with_the_options_that_join_them(tmp_path):
    both = files(tmp_path, ann=["cat"], bob=["cat"])
    content = json.loads(both[1].read_bytes())
    content["categories"] = [{"id": 0, "name": "feline pet"}]
    content["annotations"] = [each | {"category_id": 0} for each in content["annotations"]]
    write(both[1], content)
    with pytest.raises(DatasetError) as caught:
        read_coco(both)
    assert str(caught.value).splitlines()[-1] == (
        "If they are one category: --map 'feline pet=cat'"
    )
    assert run("agree", *both, "--map", "feline pet=cat", "--bootstrap", "0").returncode == 0


@pytest.mark.parametrize(
    "names", [["cat", "CAT", "cat"], ["CAT", "cat"], ["cat ", "CAT", "cat"], ["Cat", "CAT", "cat"]]
)
def test_the_options_that_join_renamed_categories_lead_to_the_first_name(names, tmp_path):
    paths = [tmp_path / f"{place}.json" for place in range(len(names))]
    for path, name in zip(paths, names, strict=True):
        write(path, document([annotation(1)], [image(1)], [{"id": 1, "name": name}]))
    with pytest.raises(DatasetError) as caught:
        read_coco(paths)
    options = shlex.split(caught.value.advice.partition(": ")[2])
    assert options[::2] == ["--map"] * (len({*names}) - 1)
    assert {each.partition("=")[2] for each in options[1::2]} == {names[0]}
    assert run("agree", *paths, *options, "--bootstrap", "0").returncode == 0


def test_an_unknown_category_is_named_with_the_nearest(tmp_path):
    both = files(tmp_path, ann=["cat"], bob=["cat"])
    with pytest.raises(ConfigError, match="--map names 'catt', which is not a category; did you"):
        read_coco(both, category_map={"catt": "dog"})
    found = read_coco(both, category_map={"Cat": "cat"})
    assert found.category_names == ("cat",)
    assert found.notes[-1] == "--map Cat=cat: no category is called 'Cat'"
