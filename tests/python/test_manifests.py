"""The manifests of the two crates."""

from __future__ import annotations

import tomllib
from pathlib import Path


def test_the_fuzz_targets_compile_their_dependencies_like_the_crate(repository: Path) -> None:
    """With another profile, `make lint` compiles all of them again, which takes minutes."""
    crate, fuzz = (
        tomllib.loads((repository / folder / "Cargo.toml").read_text())["profile"]["dev"]
        for folder in ("", "fuzz")
    )
    packages = fuzz.pop("package")
    assert packages.items() <= crate.pop("package").items()
    assert fuzz == crate
