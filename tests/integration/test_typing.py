"""``rye search`` without a query, as a person at a terminal sees it: a real process in a pseudo-terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.typist import DOWN, ENTER, ESCAPE, INTERRUPT, PAGE_DOWN, Typist
from tests.unit.cli.workshop import FILES, Workshop, lay

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")

LEFT = b"\x1b[?1049l"
"""What is written to a terminal to show the screen as it was before."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Lay the workshop; tests of this module only read it."""
    return lay(tmp_path_factory.mktemp("shop"))


def sit_down(shop: Workshop, *words: str, **env: str) -> Typist:
    """Start ``rye search`` at a terminal, without the items of rye itself."""
    return Typist(
        "search",
        "--space",
        "project",
        *words,
        cwd=shop.project,
        env={**shop.env, "TERM": "xterm-256color", "PAGER": "cat", **env},
    )


def test_hits_follow_what_is_typed_and_enter_shows_the_item(shop: Workshop) -> None:
    """All items at first, then those of the letters so far; the marked one stands beside them; 0 once it is shown."""
    with sit_down(shop) as typist:
        screen = typist.wait_for(f"[{len(FILES) - 1} of {len(FILES) - 1} results -- all]")
        assert screen.startswith("search:")
        typist.type("serv")
        typist.wait_for("[2 of 2 results -- all]")
        typist.type("er")
        typist.wait_for(
            "search: server",
            "knowledge:demo/guide  Guide to servers",
            "[2 of 2 results -- all]",
            "How a server is run.",
        )
        typist.type(DOWN)
        typist.wait_for("def run():")
        typist.type(ENTER)
        assert typist.end() == 0
        assert LEFT in typist.raw
        assert "tool:demo/deploy" in typist.screen
        assert '__version__ = "2.1.0"' in typist.screen


def test_escape_leaves_the_screen_as_it_was(shop: Workshop) -> None:
    """Status 1, since nothing was chosen; nothing of the screen stays. Control-C is an interrupt."""
    for key, status in ((ESCAPE, 1), ("\x04", 1), (INTERRUPT, 130)):
        with sit_down(shop) as typist:
            typist.wait_for("results -- all]")
            typist.type(key)
            assert typist.end() == status
            assert LEFT in typist.raw
            assert "results" not in typist.raw.partition(LEFT)[2].decode()


def test_a_query_that_is_half_typed_is_no_error(shop: Workshop) -> None:
    """An open quote, an operator without operand, a field that does not exist: what can be read is searched."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        for text in (
            '"server',
            "server AND ",
            "(server OR",
            "title:gui",
            "server -",
            "is:uns",
            "nofield:x server",
            "[[]",
        ):
            typist.type(text)
            screen = typist.wait_for(f"search: {text}".rstrip(), "results -- ")
            assert "error" not in screen
            typist.type("\x15")  # Control-U empties the line
            typist.wait_for("search:\n")
        typist.type("title:gui")
        assert "knowledge:demo/guide" in typist.wait_for("[1 of 1 results -- all]")
        typist.type("\x15is:uns")
        typist.wait_for(f"[{len(FILES) - 1} of {len(FILES) - 1} results -- all]")
        typist.type(ESCAPE)
        assert typist.end() == 1


def test_enter_at_once_chooses_among_the_hits_of_what_was_typed(shop: Workshop) -> None:
    """Keys that come faster than searches are not answered by an older search; without a hit there is no choice."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        typist.type("qqqqzzzzxxxx" + ENTER)
        typist.wait_for("[0 of 0 results")
        typist.type("\x15release it" + ENTER)
        assert typist.end() == 0
        assert "directive:demo/release" in typist.screen


def test_a_selection_moved_at_once_is_among_the_hits_of_what_was_typed(shop: Workshop) -> None:
    """Down moves among the hits of the whole text, and no search that ends later moves the selection back."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        typist.type("server" + DOWN + ENTER)
        assert typist.end() == 0
        assert "tool:demo/deploy" in typist.screen


def test_hostile_items_do_nothing_to_the_terminal(shop: Workshop) -> None:
    """Titles and bodies with control characters are written out, in the list, beside it, and when they are shown."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        typist.type("trap")
        typist.wait_for("\\x1b]0;owned\\x07")
        typist.type(ENTER)
        assert typist.end() == 0
        assert b"\x1b]0;owned" not in typist.raw
        assert b"\x07" not in typist.raw
        assert "\u202e".encode() not in typist.raw


def test_the_options_of_the_search_hold_for_what_is_typed(shop: Workshop) -> None:
    """Scope and state narrow it; a narrow terminal shows the item below; no colour where none is wanted."""
    with sit_down(shop, "--scope", "tool", NO_COLOR="1") as typist:
        typist.wait_for("[2 of 2 results -- all]")
        typist.type(ESCAPE)
        typist.end()
        assert b"\x1b[0;36" not in typist.raw
    with Typist(
        "search", "--include-superseded", "--space", "project", cwd=shop.project,
        env={**shop.env, "TERM": "xterm"}, columns=60, lines=50,
    ) as typist:  # fmt: skip
        typist.wait_for(f"[{len(FILES)} of {len(FILES)} results -- all]")
        typist.type("old")
        screen = typist.wait_for("How a server was run.")
        name = "knowledge:demo/old  exact  superseded, see"
        assert re.search(rf"{name}.*\n  see instead +knowledge:demo/guide\n.*How a server", screen, re.DOTALL)
        typist.type(PAGE_DOWN + ESCAPE)
        typist.end()


@pytest.mark.parametrize("text", ["rye/ci", "what does rye/ci say"])
def test_the_item_that_is_named_comes_first_though_its_name_may_go_on(shop: Workshop, text: str) -> None:
    """It is labelled, and Enter shows it, not an item that has more of the words that begin so."""
    env = {**shop.env, "TERM": "xterm-256color", "PAGER": "cat"}
    with Typist("search", "--space", "system", cwd=shop.project, env=env) as typist:
        typist.wait_for("results -- all]")
        typist.type(text)
        screen = typist.wait_for(" exact ")
        assert screen.splitlines()[2].split()[1:3] == ["knowledge:rye/ci", "exact"]
        typist.type(ENTER)
        assert typist.end() == 0
        assert b"knowledge:rye/ci" in typist.raw.partition(LEFT)[2].splitlines()[0]


def test_pasted_lines_are_words_of_the_one_line_there_is(shop: Workshop) -> None:
    """All that is searched for is to be seen, whatever ends the lines."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        typist.type("\x1b[200~guide\nto\r\nservers\x1b[201~")
        screen = typist.wait_for("[1 of 1 results -- all]")
        assert screen.splitlines()[0] == "search: guide to servers"
        typist.type(ENTER)
        assert typist.end() == 0
        assert "knowledge:demo/guide" in typist.screen


def test_what_speaks_against_an_item_is_seen_before_it_is_chosen(tmp_path: Path) -> None:
    """That it hides another signer's, in the row and beside it with the warning; what it is superseded by."""
    shop = lay(tmp_path)
    path = shop.project / ".ai" / "knowledge" / "rye" / "ci.md"
    path.parent.mkdir()
    path.write_text("# Mine\n\nNot what rye says.\n", encoding="utf-8")
    env = {**shop.env, "TERM": "xterm-256color"}
    with Typist("search", cwd=shop.project, env=env, columns=160) as typist:
        typist.wait_for("results -- all]")
        typist.type("rye/ci")
        typist.wait_for(
            "knowledge:rye/ci  exact  project, shadows system:rye",
            "knowledge:rye/ci  exact  system:rye, shadowed by project",
            "│  shadows      system:rye",
            "warning      knowledge:rye/ci of project hides that of",
        )
        typist.type("\x15demo/old")
        assert "knowledge:demo/old of project (unsigned) is superseded, so hidden; see" in typist.wait_for("so hidden")
    with Typist("search", "--include-superseded", cwd=shop.project, env=env, columns=160) as typist:
        typist.wait_for("results -- all]")
        typist.type("demo/old")
        screen = typist.wait_for("knowledge:demo/old  exact  superseded, see knowledge:demo/guide")
        assert re.search("│  see instead +knowledge:demo/guide", screen)


def test_a_signal_gives_the_terminal_back(shop: Workshop) -> None:
    """SIGTERM in the middle of it: the screen is as it was, and the process ends by that signal."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        os.kill(typist.pid, signal.SIGTERM)
        assert typist.end() in {-signal.SIGTERM, 143}
        assert LEFT in typist.raw


@pytest.mark.parametrize("words", [("--json",), ("--ids",), ("--limit", "2"), ("",)])
def test_what_asks_for_an_answer_at_once_gets_it_on_a_terminal_too(shop: Workshop, words: tuple[str, ...]) -> None:
    """A form, a page, or an empty query that was written."""
    with sit_down(shop, *words) as typist:
        assert typist.end() == 0
        assert b"\x1b[?1049h" not in typist.raw


def test_a_terminal_that_cannot_be_drawn_on_gets_a_list(shop: Workshop) -> None:
    """As does what is no terminal: everything in scope."""
    with sit_down(shop, TERM="dumb") as typist:
        assert typist.end() == 0
        assert b"results -- all]" in typist.raw
    done = shop.run("search", "--space", "project")
    assert (done.status, done.out.splitlines()[0]) == (0, f"[{len(FILES) - 1} of {len(FILES) - 1} results -- all]")


def test_a_search_with_a_query_loads_nothing_of_it(shop: Workshop) -> None:
    """Neither on a terminal nor elsewhere is it paid for by others."""
    shop.run("search", "deploy")  # the index is there: making it may load more
    code = (
        "import sys\nfrom rye.cli import main\nassert main(['search', 'deploy', '--max-staleness', 'inf']) == 0\n"
        "assert not {'prompt_toolkit', 'asyncio', 'rye.cli.browse'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=shop.project, env=dict(shop.env), capture_output=True, check=True)


def test_fast_keys_are_answered_by_the_last_of_them(shop: Workshop) -> None:
    """Fifty keys come faster than searches; what is shown in the end is what was typed."""
    with sit_down(shop) as typist:
        typist.wait_for("results -- all]")
        for letter in "guide" * 10:
            typist.type(letter)
            time.sleep(0.005)
        typist.wait_for("guide" * 10)
        typist.type("\x15guide")
        assert "knowledge:demo/guide" in typist.wait_for("[1 of 1 results -- all]")
        typist.type(ESCAPE)
        assert typist.end() == 1


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
