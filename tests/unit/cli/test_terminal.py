"""When there is colour, which marks there are, and how text leaves the process."""

from __future__ import annotations

import io
import sys

import pytest

from rye.cli.terminal import PLAIN, Terminal, note, say, say_raw
from rye.errors import EnvironmentFault
from tests.unit.cli.samples import HOSTILE


@pytest.fixture(autouse=True)
def no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without any wish about colour."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_colour_is_for_terminals_only() -> None:
    """A terminal has colour, a file has none."""
    assert Terminal.of(Screen()).colour
    assert not Terminal.of(io.StringIO()).colour


def test_links_are_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path with escapes, blanks and bytes that are not text becomes an address; forced colour makes no links."""
    path = "/home/a b\x1b]8;;evil\x07\udcff.md"
    link = Terminal.of(Screen()).link("x", path)
    assert link == "\x1b]8;;file:///home/a%20b%1B%5D8%3B%3Bevil%07%FF.md\x1b\\x\x1b]8;;\x1b\\"
    assert Terminal.of(Screen()).link("x", "relative") == "x"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Terminal.of(io.StringIO()).link("x", path) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Terminal.of(Screen()).link("x", path) == "x"


@pytest.mark.parametrize(
    ("wishes", "on_screen", "in_file"),
    [
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR": "0"}, False, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_wishes_about_colour(
    monkeypatch: pytest.MonkeyPatch,
    wishes: dict[str, str],
    on_screen: bool,  # noqa: FBT001 - a column of the table
    in_file: bool,  # noqa: FBT001 - the same
) -> None:
    """NO_COLOR wins over all, a demand over CLICOLOR, an empty NO_COLOR is no wish."""
    for name, value in wishes.items():
        monkeypatch.setenv(name, value)
    assert Terminal.of(Screen()).colour is on_screen
    assert Terminal.of(io.StringIO()).colour is in_file


def test_a_closed_or_missing_stream_shows_nothing_special() -> None:
    """A stream that is gone is plain, not an error."""
    closed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    closed.close()
    assert Terminal.of(None) == Terminal.of(closed) == PLAIN


def test_raw_text_goes_to_a_program_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line ends, controls and undecodable file names reach a pipe as they are."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii", errors="backslashreplace"))
    say("first")
    say_raw(b"a\r\n\x1b\xc3\x9f\xff\0")
    assert buffer.getvalue() == b"first\na\r\n\x1b\xc3\x9f\xff\x00"


def test_raw_text_is_made_harmless_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who looks at raw content is not attacked by it."""
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    say_raw(HOSTILE.encode("utf-8", "surrogatepass"))
    assert "\x1b" not in screen.getvalue()


def test_a_closed_standard_output_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that nobody can read is not a success; a lost note is none's loss."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    note("lost")
    with pytest.raises(EnvironmentFault, match="closed"):
        say("x")
