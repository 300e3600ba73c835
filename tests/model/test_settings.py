"""Settings: from files, from arguments, and what is said of wrong ones."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from support.datasets import document_of, object_rows, write

from bboxqa import agree, read_coco
from bboxqa.core.errors import ConfigError
from bboxqa.formats.dataset.people import WAYS
from bboxqa.model.settings import AgreeSettings, bundled_configs, read_settings_file, settings_from

NAMES = ("coco-bbox", "coco-segm", "default", "fruits", "kalos", "kalphacv", "landscape")


def test_all_settings_come_with_the_package():
    assert tuple(bundled_configs()) == NAMES


def test_default_file_is_the_default():
    assert settings_from(read_settings_file("default").agree) == AgreeSettings()


def test_bundled_files_differ_where_they_should():
    assert settings_from(read_settings_file("kalos").agree).empty_images == "unit"
    assert settings_from(read_settings_file("coco-segm").agree).similarity == "mask"
    assert len(settings_from(read_settings_file("coco-bbox").agree).iou_threshold) == 10


def of_two(rows, tmp_path):
    """Return the data set of rows in a file."""
    n_images = max(row[0] for row in rows) + 1
    of_file = [(i + 1, "ab"[a], c + 1, box) for i, a, c, box in rows]
    content = document_of(of_file, n_images, ("c1", "c2", "c3"), annotators=["a", "b"])
    return read_coco(write(tmp_path / "two.json", content))


def test_kalos_has_the_figures_of_kalos_for_two_annotators(tmp_path):
    """KαLOS 0.8.0 printed these figures for the same boxes."""
    rows = object_rows(np.random.default_rng(7), n_annotators=2)
    result = agree(of_two(rows, tmp_path), **read_settings_file("kalos").agree)
    assert result.alpha == pytest.approx(-0.039017974572555895, abs=1e-12)
    assert result.mean_image_alpha == pytest.approx(0.1464339052574347, abs=1e-12)


def test_kalphacv_differs_as_its_file_says(tmp_path):
    """kalphacv 1.5.2 printed 0.14645 for the same boxes, and 0.1667 for a pair at the threshold."""
    rows = object_rows(np.random.default_rng(7), n_annotators=2)
    result = agree(of_two(rows, tmp_path), **read_settings_file("kalphacv").agree)
    drawn = [row["alpha"] for row in result.images.records()]
    assert result.mean_image_alpha == pytest.approx(sum(drawn) / len(drawn))
    assert sum(round(alpha, 4) for alpha in drawn) / len(drawn) == pytest.approx(0.14645)
    half = (100.0, 100.0, 5.0, 10.0)
    rows = [(0, 0, 0, (100.0, 100.0, 10.0, 10.0)), (0, 1, 0, half)]
    rows += [(0, a, 2, (300.0, 300.0, 20.0, 20.0)) for a in (0, 1)]
    assert (
        agree(of_two(rows, tmp_path), **read_settings_file("kalphacv").agree).mean_image_alpha == 1
    )
    above = read_settings_file("kalphacv").agree | {"iou_threshold": [0.5 + 1e-6]}
    result = agree(of_two(rows, tmp_path), **above)
    assert result.mean_image_alpha == pytest.approx(0.1667, abs=5e-5)


def test_attributions_are_those_of_the_reader():
    options, *_ = get_args(AgreeSettings.__annotations__["attribution"])
    assert get_args(options) == WAYS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('matchers = "greedy"', "unknown setting 'matchers'; did you mean 'matcher'?"),
        ("colour = 1", "unknown setting 'colour'; expected one of similarity, iou_threshold, "),
        ("iou = 0.5", "unknown setting 'iou'; did you mean 'iou_threshold'?"),
        ('missing = "ignor"', "missing is 'ignor'; expected one of category, ignore; did you mean"),
        ('attribution = "fles"', "expected one of annotator-key, image-records, files; did you"),
        ('iou_threshold = "high"', "iou_threshold is 'high': expected `array`, got `str`"),
        ('iou_threshold = [0.5, "x"]', "iou_threshold[1] is"),
        ("iou_threshold = []", "iou_threshold is empty"),
        ("iou_threshold = [0.5, 0.5]", "names a number twice"),
        ('min_alpha = "x"', "min_alpha is 'x': expected `float | null`, got `str`"),
        ('annotator_key = ""', "annotator_key is empty; expected a key of annotations"),
        ("annotator_key = 3", "annotator_key is 3: expected `str | null`, got `int`"),
        ("bootstrap = 1.5", "bootstrap is 1.5: expected `int`, got `float`"),
        ('missing = "drop"', "missing is 'drop'"),
        ("min_alpha = 3.0", "min_alpha is 3; expected -1 to 1"),
        ("seed = -1", "seed is -1; expected 0 or more"),
        ("a = [", "is not TOML"),
        ("a = " + "[" * 100_000, "is not TOML: "),
        ("seed = " + "9" * 5000, "is not TOML: Exceeds the limit"),
        ("#" * 1_000_001, "has more than 1 MB"),
        (f"iou_threshold = {[n / 2000 for n in range(1001)]}", "has 1,001 numbers; expected at"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(text, message, tmp_path: Path):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_settings_file(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
