"""Settings of `agree` with the similarity and the matcher that they name."""

import pytest

from bboxqa.core.errors import ConfigError
from bboxqa.model.settings_files import bundled_configs
from bboxqa.pipelines.settings import agree_settings_from, read_agree_settings


@pytest.mark.parametrize("name", bundled_configs())
def test_bundled_files_name_what_there_is(name):
    values = read_agree_settings(name)
    settings = agree_settings_from(values)
    assert values
    for key, value in values.items():
        assert getattr(settings, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('similarity = "boxes"', "similarity is 'boxes'; expected one of bbox, giou, centroid"),
        ('similarity = "poligon"', "pixel, raster; did you mean 'polygon'?"),
        (
            'matcher = "hungaria"',
            (
                "matcher is 'hungaria'; expected one of hungarian, recursive, greedy; "
                "did you mean 'hungarian'?"
            ),
        ),
        ("iou_threshold = 0.0", "iou_threshold is 0; expected more than 0 and at most 1 for"),
        ("iou_threshold = 1.5", "iou_threshold is 1.5; expected more than 0 and at most 1 for"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(text, message, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_agree_settings(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_an_option_is_named_as_it_is_typed():
    with pytest.raises(ConfigError, match=r"^--matcher is 'best'; expected one of hungarian"):
        agree_settings_from({"matcher": "best"}, names={"matcher": "--matcher"})


def test_negative_thresholds_are_for_similarities_that_can_be_negative():
    settings = agree_settings_from({"similarity": "giou", "iou_threshold": -0.5})
    assert settings.iou_threshold == (-0.5,)
    with pytest.raises(ConfigError, match="expected more than -1 and at most 1 for similarity"):
        agree_settings_from({"similarity": "giou", "iou_threshold": -1})
    with pytest.raises(ConfigError, match="expected more than 0 and at most 1 for similarity"):
        agree_settings_from({"similarity": "bbox", "iou_threshold": -0.5})
