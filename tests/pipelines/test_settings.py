"""Settings of `agree` with the similarity and the matcher that they name."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import bboxqa
from bboxqa.cli.agree import agree as agree_command
from bboxqa.core.errors import ConfigError
from bboxqa.geometry import registry as similarities
from bboxqa.matching import matchers
from bboxqa.model.annotations import Choices
from bboxqa.model.settings import bundled_configs
from bboxqa.pipelines.read import AS_COMPARED, agree_settings_from, read_agree_settings, read_for

SIMILARITIES = ", ".join(similarities.names())
MATCHERS = ", ".join(matchers.names())


@pytest.mark.parametrize("name", bundled_configs())
def test_bundled_files_name_what_there_is(name):
    values = read_agree_settings(name)
    settings = agree_settings_from(values)
    assert values
    for key, value in values.items():
        assert getattr(settings, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("similarity", "poligon", f"expected one of {SIMILARITIES}; did you mean 'polygon'?"),
        ("matcher", "hungaria", f"expected one of {MATCHERS}; did you mean 'hungarian'?"),
    ],
)
def test_a_wrong_name_in_a_file_is_told(setting, value, message, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(f'{setting} = "{value}"')
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {setting} is '{value}'; {message}")):
        read_agree_settings(str(path))


@pytest.mark.parametrize("name", similarities.SIMILARITIES)
def test_each_similarity_is_documented(name):
    (option,) = (each for each in agree_command.params if each.name == "similarity")
    page = Path(__file__).parents[2] / "docs" / "agreement.md"
    assert re.search(rf"\b{name}\b", option.help)
    assert f'"{name}"' in bboxqa.agree.__doc__
    assert re.search(
        rf"`(--similarity )?{name}`|^similarity {name}\b", page.read_text("utf-8"), re.MULTILINE
    )


def test_sigmas_are_for_key_points():
    assert agree_settings_from({"similarity": "keypoints", "sigmas": 0.1}).sigmas == (0.1,)
    with pytest.raises(ConfigError, match="sigmas is given, but similarity is 'obb'"):
        agree_settings_from({"similarity": "obb", "sigmas": 0.1})


def test_what_five_numbers_hold_is_not_for_key_points(tmp_path):
    settings = agree_settings_from({"similarity": "keypoints"})
    reading = replace(AS_COMPARED, choices=Choices(rotated="xywh-cw-degrees"))
    with pytest.raises(ConfigError, match=r"--rotated .* --similarity keypoints"):
        read_for(tmp_path / "none.json", settings, reading)
