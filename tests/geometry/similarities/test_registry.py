"""Similarities by name."""

import pytest

from bboxqa.core.errors import ConfigError
from bboxqa.geometry.registry import needs_outlines, similarity


@pytest.mark.parametrize("ask", [similarity, needs_outlines])
def test_an_unknown_name(ask):
    with pytest.raises(ConfigError, match="similarity is 'boxes'; expected one of bbox, giou,"):
        ask("boxes")
