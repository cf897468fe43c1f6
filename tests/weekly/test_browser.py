"""The pages of ``rye serve`` in Chromium, as people use them: typed, clicked, narrow, dark, without script, hostile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.mcp_server import environment
from tests.support.signed import EVE
from tests.support.spacesim import SpaceSim

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="it comes with rye-search[browser]")
axe_core = pytest.importorskip("axe_playwright_python.sync_playwright", reason="it comes with rye-search[browser]")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

SCRIPT = (
    "<script>window.evil = 1; fetch('https://evil.example/')</script><img src=https://evil.example/x onerror=evil()>"
)
HOSTILE = f"""\
---
name: evil
title: 'Evil {SCRIPT}'
description: '{SCRIPT}'
version: "1.0.0"
---

# Evil {SCRIPT}

Deploy. <style>body {{ display: none }} .verdict::after {{ content: "trusted" }}</style> {SCRIPT}
[click](javascript:alert(1)) ![picture](https://evil.example/track.png)
<svg onload="evil()"><use href="https://evil.example/x.svg#a"/></svg>
<p class="verdict trusted">trusted</p> <div style="position: fixed; inset: 0">trusted</div>

```html
{SCRIPT}
```
"""
NOTE = """\
---
name: n{0}
title: Note {0}
tags: [red]
version: "1.0.0"
---

# Note {0}

Deploy build {0}; see `tool:ops/deploy`.
"""
PAGES = (
    "/",
    "/search?q=deploy",
    "/search?q=titel:deploy",
    "/item/knowledge/evil",
    "/item/tool/ops/deploy",
    "/diff/tool/ops/deploy?old=user&new=project",
    "/why?q=deploy&item=tool:ops/deploy",
    "/overview",
    "/trust",
    "/nope",
)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a project with hostile items from a process of its own; return the address."""
    sim = SpaceSim(tmp_path_factory.mktemp("browser"))
    sim.write("project", "knowledge/evil.md", HOSTILE)
    sim.write(
        "project", "tools/ops/deploy.py", f'"""Deploy {SCRIPT}."""\n\n\ndef deploy() -> None:\n    """Deploy it."""\n'
    )
    sim.write("user", "tools/ops/deploy.py", '"""Deploy a build."""\n')
    for number in range(25):
        sim.write("project", f"knowledge/notes/n{number}.md", NOTE.format(number))
    sim.add(
        "system:shop", "directives/buy.md", "---\nname: buy\nversion: '1.0.0'\n---\n\n# Buy\n\nDeploy a shop.\n", EVE
    )
    sim.add("project", "knowledge/whole.md", "# Whole\n")
    torn = sim.add("project", "knowledge/torn.md", "# Torn\n")
    torn.write_text(torn.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    command = [sys.executable, "-m", "rye", "serve", "--port", "0", "--project", str(sim.project)]
    with subprocess.Popen(command, env=environment(sim), stderr=subprocess.PIPE, text=True) as process:
        try:
            found = re.search(r"serves (http://\S+)/", str(process.stderr and process.stderr.readline()))
            assert found
            yield found[1]
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Return the browser of this machine."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser, served: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return a page in a context of its own; it fails if anything ran that should not, or was asked of elsewhere."""
    context = chromium.new_context(base_url=served, **getattr(request, "param", {}))
    found, asked, wrong = context.new_page(), list[str](), list[str]()
    found.on("request", lambda each: asked.append(each.url))
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield found
    assert not [url for url in asked if not url.startswith((served, "data:"))]
    assert not wrong
    context.close()


def shown(page: Page) -> str:
    """Return the first line above the hits."""
    return str(page.locator("#results h1").inner_text())


def test_results_come_as_you_type_and_the_address_goes_with_them(page: Page) -> None:
    """Keys lead from the query to a hit and back, and the way back leads to the search that was left."""
    page.goto("/search?q=note")
    page.keyboard.press("/")
    page.keyboard.type("depl")
    page.wait_for_url("**/search?q=depl&prefix=true")
    sync_api.expect(page.locator("#results h1")).to_contain_text("depl")
    page.keyboard.press("ArrowDown")
    assert page.locator(".hit.current").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/**")
    page.go_back()
    sync_api.expect(page.locator("#q")).to_have_value("depl")
    page.locator("#q").focus()
    page.keyboard.press("Escape")
    sync_api.expect(page.locator("#q")).to_have_value("")


def test_the_arrow_keys_go_on_from_the_hit_with_the_focus(page: Page) -> None:
    """However it came there; Escape leads back to the query, whose text is replaced by the next key."""
    page.goto("/search?q=note")
    links = page.locator(".hits > .hit a.title, .hits > .hit h2 a")
    links.nth(1).focus()
    page.keyboard.press("ArrowDown")
    sync_api.expect(page.locator(".hit.current")).to_contain_text(links.nth(2).inner_text())
    page.keyboard.press("ArrowUp")
    sync_api.expect(page.locator(".hit.current")).to_contain_text(links.nth(1).inner_text())
    page.keyboard.press("Escape")
    page.keyboard.type("d")
    sync_api.expect(page.locator("#q")).to_have_value("d")


def test_the_page_stays_while_the_server_is_away(page: Page) -> None:
    """What is shown stays, and says that it may be old; once the server is back, the next key and the fold answer."""
    page.goto("/search?q=note")
    page.route("**/search?**", lambda route: route.abort())
    page.locator("#q").press_sequentially("s")
    sync_api.expect(page.locator(".outcome")).to_contain_text("does not answer")
    assert page.locator(".hits > .hit").count() == 10
    fold = page.locator(".why summary").first
    fold.click()
    fold.click()
    page.unroute("**/search?**")
    fold.click()
    sync_api.expect(page.locator(".why .shares").first).to_be_visible()
    page.locator("#q").fill("note")
    sync_api.expect(page.locator(".outcome")).to_contain_text("25 items")


def test_an_error_of_the_query_is_corrected_by_a_click(page: Page) -> None:
    """The caret shows where it is, the suggestion answers."""
    page.goto("/search?q=titel:note")
    assert "^^^^^" in page.locator(".place").inner_text()
    page.locator(".suggestion a").click()
    page.wait_for_url("**/search?q=title*")
    assert shown(page).startswith("25 items")


def test_facets_and_pages_are_links_that_back_undoes(page: Page) -> None:
    """Choosing a value narrows the hits, the next page shows further ones, and back returns."""
    page.goto("/search?q=deploy")
    before = shown(page)
    page.get_by_role("link", name=re.compile("^knowledge")).click()
    page.wait_for_url("**filters=type%3Dknowledge**")
    narrowed = shown(page)
    assert narrowed != before
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**offset=10**")
    assert "11 to 20" in shown(page)
    page.go_back()
    sync_api.expect(page.locator("#results h1")).to_have_text(narrowed)
    page.go_back()
    sync_api.expect(page.locator("#results h1")).to_have_text(before)


def test_an_item_shows_its_verdict_its_copies_and_its_relations(page: Page) -> None:
    """The difference of two copies is one click away, and the drawing leads to what refers to it."""
    page.goto("/item/tool/ops/deploy")
    assert "unsigned" in page.locator(".judged").inner_text()
    page.locator(".graph a").first.click()
    page.wait_for_url("**/item/knowledge/notes/**")
    page.go_back()
    page.get_by_role("link", name="difference").click()
    page.wait_for_url("**/diff/**")
    assert "Deploy a build" in page.locator("main").inner_text()


@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True)
def test_everything_works_without_script(page: Page) -> None:
    """Search, choices and pages are a form and links."""
    page.goto("/")
    page.locator("#q").fill("deploy")
    page.locator("#q").press("Enter")
    page.wait_for_url("**/search?**")
    page.locator("select[name=sort_by]").select_option("name")
    page.locator("#find button").click()
    page.wait_for_url("**sort_by=name**")
    page.get_by_role("link", name="Next").click()
    assert page.locator(".hit").count() == 10


@pytest.mark.parametrize("page", [{"viewport": {"width": 320, "height": 700}}], indirect=True)
def test_nothing_is_wider_than_a_small_screen(page: Page) -> None:
    """At 320 pixels no page scrolls sideways."""
    for address in PAGES:
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 320, (address, wide)


@pytest.mark.parametrize(
    "page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"]
)
def test_no_page_violates_what_axe_core_checks(page: Page) -> None:
    """Names, roles, order, contrast, in both colour schemes."""
    found: dict[str, Any] = {}
    for address in PAGES:
        page.goto(address)
        for details in page.locator("details").all():
            details.evaluate("each => each.open = true")
        violations = axe_core.Axe().run(page).response["violations"]
        found |= {f"{address} {each['id']}": [node["html"] for node in each["nodes"][:2]] for each in violations}
    assert found == {}


@pytest.mark.parametrize("address", PAGES)
def test_attack_nothing_of_an_item_runs_is_loaded_or_covers_the_page(page: Page, address: str) -> None:
    """Scripts, styles, images and handlers in titles, texts and code stay text; the fixture watches every request."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.evil") is None
    assert page.locator("main").is_visible()
    assert page.evaluate("document.cookie") == ""
    assert page.locator(".content [class~=verdict], .content [style], .content style").count() == 0
