"""Similarities by name."""

import subprocess
import sys

import pytest

from bboxqa.core.errors import ConfigError
from bboxqa.geometry.registry import needs_outlines, similarity


@pytest.mark.parametrize("ask", [similarity, needs_outlines])
def test_an_unknown_name(ask):
    with pytest.raises(ConfigError, match="similarity is 'boxes'; expected one of bbox, giou,"):
        ask("boxes")


def test_the_registry_loads_no_library_of_geometry():
    script = (
        "import sys, bboxqa.geometry.registry\n"
        "print(sorted({'shapely', 'rasterio', 'pycocotools', 'PIL', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
