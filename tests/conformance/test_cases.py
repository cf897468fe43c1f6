"""Plays the searches of ``cases.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rye import Registry

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_search_finds_what_its_case_says(case: dict[str, Any], tmp_path: Path) -> None:
    """Each query of the case is answered as the case says, in keyword mode."""
    pages = {f".ai/knowledge/{name}.md": f"# {name}\n\n{text}\n" for name, text in case.get("pages", {}).items()}
    for path, text in (pages | case.get("files", {})).items():
        page = tmp_path / "project" / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    registry = Registry(tmp_path / "project", user=tmp_path / "user", bundles=(), cache_dir=tmp_path / "cache")
    for ask in case["ask"]:
        ids = [hit.id for hit in registry.search(ask["query"], mode="keyword", filters=ask.get("filters")).results]
        if "first" in ask:
            assert ids[:1] == [ask["first"]], ask["query"]
        else:
            assert sorted(ids) == sorted(ask.get("only", [])), ask["query"]
