"""Takes the pictures of the pages in ``.github/pages``: ``python -m tests.support.screenshots``.

They show what ``rye serve`` answers for the project of :mod:`tests.support.sample_project`, in the machine's Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.sample_project import furnish

FOLDER = Path(__file__).resolve().parents[2] / ".github" / "pages"
PAGES = {
    "search": "/search?q=refund%20order",
    "error": "/search?q=titel%3Arefund%20order",
    "item": "/item/tool/shop/refund",
    "tampered": "/item/knowledge/shop/refund-policy",
    "overview": "/overview",
    "trust": "/trust",
}
"""Each picture, and the page it is of."""

WIDTHS = (1280, 390)


def main() -> None:
    """Write a picture of each page at each width."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        project, home = furnish(Path(folder))
        variables = os.environ | {"HOME": str(home), "RYE_CACHE_DIR": f"{folder}/cache", "USER_SPACE": str(home)}
        command = [sys.executable, "-m", "rye", "serve", "--port", "0", "--project", str(project)]
        with (
            subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process,
            sync_playwright() as playwright,
        ):
            found = re.search(r"serves (http://\S+)/", str(process.stderr and process.stderr.readline()))
            assert found
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-lcd-text"]
            )
            for width in WIDTHS:
                page = browser.new_page(base_url=found[1], viewport={"width": width, "height": 720})
                for name, place in PAGES.items():
                    page.goto(place)
                    page.screenshot(path=FOLDER / f"{name}-{width}.png")
            browser.close()
            process.terminate()


if __name__ == "__main__":
    main()
