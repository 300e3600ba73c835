"""Packages that add parts to bboxqa through entry points, as pip would install them."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["install"]


def install(
    folder: Path, package: str, entry_points: Mapping[str, str], modules: Mapping[str, str]
) -> None:
    """Write a distribution into a folder of `sys.path`.

    Parameters
    ----------
    folder : Path
        Put it on the path by `monkeypatch.syspath_prepend`.
    package : str
        Name of the distribution.
    entry_points : mapping
        Group to its lines, such as ``"oks = acme.oks:OKS"``.
    modules : mapping
        Name of a module to its text. Python keeps imported modules: use each name once only.
    """
    metadata = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    sections = (f"[{group}]\n{lines}\n" for group, lines in entry_points.items())
    (metadata / "entry_points.txt").write_text("".join(sections))
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
