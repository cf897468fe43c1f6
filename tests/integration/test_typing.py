"""``rye search`` without a query, as a person at a terminal sees it: a real process in a pseudo-terminal."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.typist import INTERRUPT, Typist
from tests.unit.cli.workshop import Workshop, lay

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Lay the workshop; tests of this module only read it."""
    return lay(tmp_path_factory.mktemp("shop"))


def test_a_long_item_is_shown_in_the_pager(shop: Workshop, tmp_path: Path) -> None:
    """What does not fit goes through the pager without escapes of its own; what fits does not."""
    pager = tmp_path / "mine"
    pager.write_text('#!/bin/sh\necho "paged $* $(tr -d "\\33" | wc -l)"; trap "echo caught" INT; sleep 30\n')
    pager.chmod(0o755)
    env = {**shop.env, "TERM": "xterm-256color", "NO_COLOR": "", "PAGER": f"{pager} -x '$(touch owned)'"}
    with Typist("show", "rye/ci", cwd=shop.project, env=env) as typist:
        typist.wait_for("paged -x $(touch owned) ")
        time.sleep(0.3)
        typist.type(INTERRUPT)
        typist.wait_for("caught")
        assert typist.end() == 0
    with Typist("show", "demo/guide", cwd=shop.project, env=env) as typist:
        assert typist.end() == 0
        assert "How a server is run." in typist.screen
        assert "paged" not in typist.screen
    with Typist("show", "rye/ci", cwd=shop.project, env={**env, "PAGER": "cat"}) as typist:
        assert typist.end() == 0
    assert not (shop.project / "owned").exists()
    assert "\x1b" not in shop.process("show", "demo/trap").out


def test_names_lead_to_files_on_a_terminal(shop: Workshop) -> None:
    """The name of a hit is a link to its file, and a hostile item makes none."""
    env = {**shop.env, "TERM": "xterm-256color", "NO_COLOR": ""}
    with Typist("search", "server", "--space", "project", cwd=shop.project, env=env) as typist:
        assert typist.end() == 0
    address = f"\x1b]8;;file://{shop.project}/.ai/knowledge/demo/guide.md\x1b\\"
    assert address.encode() in typist.raw
