"""Make the environments of the peers: one virtual environment for each, made once and reused.

    python benchmarks/peers.py --environments DIR

An environment is complete when it holds the required versions; one that is not (an interrupted
installation) is completed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PEERS: dict[str, tuple[str, ...]] = {
    # kalphacv imports pillow without asking for it.
    "kalphacv": ("kalphacv==1.5.2", "pillow"),
    "kalos": ("kalos==0.8.0",),
}
"""What measures agreement, by name."""

VALIDATORS: dict[str, tuple[str, ...]] = {
    "hotcoco": ("hotcoco==1.3.0",),
    "kwcoco": ("kwcoco==0.9.1",),
}
"""What validates files, by name."""

STATISTICS: dict[str, tuple[str, ...]] = {
    "statistics": (
        "krippendorff==0.9.0",
        "nltk==3.10.4",
        "scikit-learn==1.9.1",
        "statsmodels==0.15.0",
        "pandas",
    ),
}
"""What computes coefficients of agreement: libraries that share one environment."""

REPORTED = (
    "bboxqa",
    "kalphacv",
    "kalos",
    "hotcoco",
    "kwcoco",
    "msgspec",
    "numpy",
    "scipy",
    "shapely",
    "pillow",
)
"""Packages whose versions are written beside the results."""

LIST_VERSIONS = """
import importlib.metadata, json, platform, sys
versions = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(versions))
"""


class PeerError(RuntimeError):
    """An environment could not be made."""


def default_environments() -> Path:
    """Give the folder in which the environments are kept where none is named."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bboxqa-benchmarks"


def python_of(environment: Path) -> Path:
    """Give the Python of a virtual environment."""
    if os.name == "nt":
        return environment / "Scripts" / "python.exe"
    return environment / "bin" / "python"


def versions(python: Path, names: Sequence[str] = REPORTED) -> dict[str, str]:
    """Give the versions of Python and of the named packages, without those not installed."""
    finished = subprocess.run(
        [str(python), "-c", LIST_VERSIONS, *names], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(finished.stdout)
    return found


def is_complete(python: Path, requirements: Sequence[str]) -> bool:
    """Tell whether an environment exists and holds what is required."""
    if not python.exists():
        return False
    names = [requirement.partition("==")[0] for requirement in requirements]
    found = versions(python, names)
    for requirement in requirements:
        name, _, version = requirement.partition("==")
        if name not in found or (version and found[name] != version):
            return False
    return True


def ensure(name: str, environments: Path) -> Path:
    """Give the Python of a peer's environment, made if need be.

    Raises
    ------
    PeerError
        If a package cannot be installed; with the last line of what pip said.
    """
    requirements = (PEERS | VALIDATORS | STATISTICS)[name]
    environment = environments.expanduser().absolute() / name
    python = python_of(environment)
    if is_complete(python, requirements):
        return python
    print(f"making the environment of {name}", file=sys.stderr)
    try:
        venv.create(environment, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PeerError(f"{name}: {error}") from error
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    finished = subprocess.run(
        [*command, *requirements], capture_output=True, text=True, check=False
    )
    if finished.returncode:
        lines = [line for line in finished.stderr.splitlines() if line.startswith("ERROR")]
        raise PeerError(f"{name}: {(lines or ['pip failed'])[-1]}")
    return python


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--environments", type=Path, default=default_environments(), metavar="DIR")
    arguments = parser.parse_args()
    for name in (*PEERS, *VALIDATORS, *STATISTICS):
        try:
            found = versions(ensure(name, arguments.environments))
        except PeerError as error:
            sys.exit(str(error))
        print(name, ", ".join(f"{key} {value}" for key, value in found.items()))


if __name__ == "__main__":
    main()
