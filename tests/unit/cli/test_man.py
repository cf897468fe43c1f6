"""Manual pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rye.cli import main
from rye.cli.commands import COMMANDS


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the pages; tests only read them."""
    folder = tmp_path_factory.mktemp("manual") / "man1"
    assert main(["help", "--man", str(folder)]) == 0
    return folder


def test_every_command_has_a_page(manual: Path) -> None:
    """Groups and their actions have one each."""
    names = {path.name for path in manual.iterdir()}
    assert names >= {"rye.1", "rye-keys-generate.1", *(f"rye-{name}.1" for name in COMMANDS)}


def test_a_page_says_what_help_does(manual: Path) -> None:
    """Usage, options in their sections, and examples; nothing of it is a request of roff."""
    text = (manual / "rye-search.1").read_text()
    assert ".SH EXAMPLES\n.TP\n\\&both words, in any field\n\\fBrye search verify signatures\\fR\n" in text
    assert "\n.SH BY MEANING\n" in text
    assert "\n\\fB\\-h, \\-\\-help\\fR\n" in text
    assert main(["search", "-h"]) == 0  # also where click has remembered the option of the page
    assert "\n\\fB\\-n, \\-\\-limit N\\fR\n\\&Hits on the page, 1 to 1,000." in text
    requests = {
        line.split()[0] for page in manual.iterdir() for line in page.read_text().splitlines() if line[0] in ".'"
    }
    assert requests == {".TH", ".SH", ".PP", ".TP"}


def test_man_shows_every_page_without_a_warning(manual: Path) -> None:
    """It is set by man-db with all warnings of groff."""
    program = shutil.which("man")
    if program is None or not (shutil.which("mandb") and shutil.which("groff")):
        pytest.skip("there is no man of man-db with groff")
    for path in sorted(manual.iterdir()):
        line = [program, "--warnings", "-E", "UTF-8", "-l", str(path)]
        done = subprocess.run(line, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b""), path.name
