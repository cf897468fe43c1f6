"""What comes with rye is found in a checkout and in an installed package."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

from rye import _resources


def test_checkout_has_grammar_and_items_at_its_top() -> None:
    """Without a bundled copy, the folders beside the package are read."""
    assert "?start:" in _resources.grammar_text()
    assert _resources.items_root() == Path(_resources.__file__).resolve().parent.parent / "items"


def test_installed_package_reads_its_own_copy(tmp_path: Path) -> None:
    """A wheel carries both inside, and whatever lies beside the package does not count."""
    for top, text in (("rye/_bundled", "inside"), ("", "beside")):
        folder = tmp_path / top / "grammar"
        folder.mkdir(parents=True)
        (folder / "query.lark").write_text(text, encoding="utf-8")
    installed = runpy.run_path(str(shutil.copy(_resources.__file__, tmp_path / "rye")))
    assert installed["grammar_text"]() == "inside"
    assert installed["items_root"]() == tmp_path / "rye" / "_bundled" / "items"
