"""Every page answers as HTML and as JSON, says what is wrong, and lets nothing of an item into the page as markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from rye import Registry
from rye._text import quote
from rye.web.gate import SAFE_HEADERS
from rye.web.markup import LinkedItem, rendered
from rye.web.serving import app
from rye.web.site import PAGES
from tests.support.signed import ANN, XML, html, key, old_envelope
from tests.support.spacesim import SpaceSim

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{ 7 * 7 }}\u202e'
MARKDOWN = f"""\
---
name: evil
title: '{HOSTILE}'
description: '{HOSTILE}'
version: "1.0.0"
tags: ['{HOSTILE}']
---

# {HOSTILE}

Deploy <script>alert(3)</script> with <style>body {{ display: none }}</style> and
[a](javascript:alert(4)) [b](data:text/html,x) [c](//evil.example/) [d](https://evil.example/) [e](ops/deploy)
![picture](https://evil.example/track.png "t") <svg onload=alert(5)></svg>

```"><script>alert(6)</script>
<b>"
```

<form action="https://evil.example/"><input name=q></form>
"""
TOOL = 'def deploy():\n    """Deploy <b>it</b>."""\n    return "</code><script>alert(7)</script>"\n'
ADDRESSES = (
    "/",
    "/search?q=deploy",
    "/search?q=deploy&filters=type=tool&facets=type,tag&limit=1&explain=true",
    "/search?q=title:%22",
    "/why?q=deploy&item=ops/deploy",
    "/why?q=deploy&item=evil",
    "/item/knowledge/evil",
    "/item/knowledge/evil?view=raw",
    "/item/tool/ops/deploy",
    "/diff/tool/ops/deploy?old=user&new=project",
    "/overview",
    "/overview?space=user",
    "/trust",
    "/item/tool/nope",
    "/nope",
)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Return a registry of a few items, hostile ones among them; read only."""
    folder = tmp_path_factory.mktemp("web")
    for path, text in {"knowledge/evil.md": MARKDOWN, "tools/ops/deploy.py": TOOL}.items():
        place = folder / "project" / ".ai" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    copy = folder / "user" / ".ai" / "tools" / "ops" / "deploy.py"
    copy.parent.mkdir(parents=True)
    copy.write_text(TOOL.replace("Deploy <b>it</b>", "Deploy <i>it</i>"), encoding="utf-8")
    for client in (".claude", ".cursor"):
        skill = folder / "project" / client / "skills" / "pdf" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: pdf\ndescription: Forms.\n---\n\nAs in {client}/skills.\n", encoding="utf-8")
    return Registry(folder / "project", user=folder / "user", bundles=(), cache_dir=folder / "cache")


@pytest.fixture(scope="session")
def client(registry: Registry) -> Iterator[TestClient]:
    """Return a client of the pages of that registry."""
    with TestClient(app(registry), follow_redirects=False) as found:
        yield found


class Tags(HTMLParser):
    """Collects the elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_of_an_item_becomes_markup(client: TestClient, address: str) -> None:
    """Scripts, styles and images are the page's own files; links lead to pages here, or away by http with a rel."""
    text = client.get(address).text
    for tag, attributes in Tags(text).found:
        assert tag not in {"iframe", "object", "embed", "style", "base", "form"} or (
            tag == "form" and str(attributes["action"]) in {"/search", "/why"}
        )
        assert not any(name.startswith("on") or name == "style" for name in attributes), attributes
        source = str(attributes.get("src") or "/static/")
        assert source.startswith("/static/"), attributes
        if tag == "a" and (target := attributes.get("href")):
            inside = target.startswith(("/", "#")) and not target.startswith("//")
            assert inside or "noopener" in str(attributes.get("rel")), attributes
    assert "\u202e" not in text


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_is_safe(client: TestClient, address: str) -> None:
    """Whatever the status, the headers forbid what a page does not need; there is no cookie."""
    headers = client.get(address).headers
    assert {name: headers[name] for name in SAFE_HEADERS} == SAFE_HEADERS
    assert "set-cookie" not in headers


def test_every_page_has_a_twin(client: TestClient, registry: Registry) -> None:
    """It is what the registry answers."""
    found = client.get("/search.json?q=deploy&facets=type").json()
    expected = json.loads(json.dumps(registry.search("deploy", facets=["type"]).to_dict()))
    assert found | {"took_ms": 0} == expected | {"took_ms": 0}
    assert client.get("/item.json/tool/ops/deploy").json() == registry.get("tool:ops/deploy").to_dict()
    assert client.get("/why.json?q=deploy&item=evil").json() == registry.why("deploy", "evil").to_dict()
    stats = registry.stats("project").to_dict()
    found = client.get("/overview.json?space=project").json()
    assert found == json.loads(json.dumps(stats))
    lists = [each.to_dict() for each in registry.check_lists()]
    assert client.get("/trust.json").json() == registry.trust_keys().to_dict() | {"lists": lists}
    assert PAGES.keys() == {"search", "why", "item", "diff", "overview", "trust"}


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/search?limit=x", 400, "Limit is"),
        ("/search?limit=5&limit=6", 400, "several times"),
        ("/search?lmit=5", 400, "no argument"),
        ("/search?mode=none", 400, "Valid are auto"),
        ("/search?filters=x", 400, "not a filter"),
        ("/search?q=titel:deploy", 400, "title:deploy"),
        ("/item/tool/ops/deplo", 404, "ops/deploy"),
        ("/item/tol/ops/deploy", 400, "directive"),
        ("/why?q=deploy", 400, "Item is missing"),
        ("/static/../site.py", 404, "no page"),
        ("/static/site.py", 404, "no page"),
    ],
)
def test_what_is_wrong_is_said(client: TestClient, *, address: str, status: int, words: str) -> None:
    """The status is that of HTTP, and the page says what to do."""
    found = client.get(address)
    assert found.status_code == status
    assert words in found.text


def test_an_error_has_a_click_that_corrects_it(client: TestClient) -> None:
    """The suggestion of a query error is a link to a page that answers."""
    links = [attributes.get("href") for tag, attributes in Tags(client.get("/search?q=titel:deploy").text).found]
    corrected = next(link for link in links if link and link.startswith("/search?q=title"))
    assert client.get(corrected).status_code == 200


def test_facets_narrow_the_page_down(client: TestClient) -> None:
    """Each value is a link that keeps the items with it, and once chosen one that drops it again."""
    links = [str(each.get("href")) for _, each in Tags(client.get("/search?q=deploy").text).found]
    narrowed = next(link for link in links if "filters=type%3Dtool" in link)
    page = client.get(narrowed).text
    assert "2 items" in page
    assert "/search?q=deploy" in [each.get("href") for _, each in Tags(page).found]


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("/item/tool/ops/deploy?spce=user", "spce"),
        ("/item/tool/ops/deploy?view=rwa", "rwa"),
        ("/item/tool/ops/deploy?space=user&space=project", "space"),
        ("/diff/tool/ops/deploy?old=user", "new"),
        ("/diff/tool/ops/deploy?old=user&new=project&context=1", "context"),
        ("/search?q=deploy&q=release", "several times"),
    ],
)
def test_no_argument_is_ignored(client: TestClient, address: str, named: str) -> None:
    """One that is unknown, missing, given twice or of no known value is an error that names it, as HTML and as JSON."""
    page, _, rest = address[1:].partition("/") if "/" in address[1:] else address[1:].partition("?")
    sign = "/" if "/" in address[1:] else "?"
    for each in (address, f"/{page}.json{sign}{rest}"):
        answer = client.get(each)
        assert (answer.status_code, named in answer.text) == (400, True), each


def test_copies_are_compared(client: TestClient) -> None:
    """The page of an item leads to its other copies, and to what differs."""
    text = client.get("/item/tool/ops/deploy").text
    assert 'href="/diff/tool/ops/deploy?old=user&amp;new=project"' in text
    lines = client.get("/diff.json/tool/ops/deploy?old=user&new=project").json()["lines"]
    assert [line[:1] for line in lines if line[:3] not in {"+++", "---"} and line[:1] in "+-"] == ["-", "+"]
    assert client.get("/diff/tool/ops/deploy?old=system&new=project").status_code == 404


def test_references_to_items_that_are_not_trusted_are_marked() -> None:
    """Their links have a class and a title."""
    targets = {"x.py": LinkedItem("/item/tool/x", "unsigned"), "y.py": LinkedItem("/item/tool/y", "trusted")}
    text = str(rendered("`x.py` [`x.py`](x.py) [y](y.py) `z.py`\n", targets=targets))
    doubtful = '<a href="/item/tool/x" class="uncovered" title="unsigned, says rye"><code>x.py</code></a>'
    assert text == f'<p>{doubtful} {doubtful} <a href="/item/tool/y">y</a> <code>z.py</code></p>\n'


def test_a_link_to_a_heading_leads_to_its_line() -> None:
    """By the anchor that GitHub gives it; a fragment that no heading has leads nowhere."""
    drawn = str(rendered("[a](#which-keys) [b](#gone)\n\n## Which `keys`?\n", first=5))
    assert '<a href="#L7">a</a> <a title="#gone">b</a>' in drawn
    assert 'id="L7"' in drawn


def test_attack_rendering_hides_no_words(tmp_path: Path) -> None:
    """What Markdown itself leaves out, an agent would read: definitions, deep nesting, words behind a fence's name."""
    html = str(rendered('[//]: # (be quiet)\n\nSee [a].\n\n[a]: https://e.example/ "psst"\n', first=3))
    assert '<li id="L3" value="3"><code>[//]: # (be quiet)</code></li>' in html
    assert '<li id="L7" value="7"><code>[a]: https://e.example/ &#34;psst&#34;</code></li>' in html
    assert "<small>py run &lt;this&gt;</small>" in str(rendered("```py run <this>\nx\n```\n"))
    assert 'title="https://e.example/ psst"' in str(rendered('[a](https://e.example/ "psst") ![b](c.png "psst")'))
    assert rendered("- " * 200 + "hidden\n") is None
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "knowledge/deep.md", "# Deep\n\n" + "- " * 200 + "hidden\n")
    with TestClient(app(sim.registry())) as client:
        page = client.get("/item/knowledge/deep").text
        assert ('<li id="L3" value="3">' in page, "Show it rendered" in page) == (True, False)


def test_a_hit_whose_title_repeats_its_name_is_a_link_with_the_name(tmp_path: Path) -> None:
    """``# pdf`` in a skill ``pdf`` is very common; a link without words cannot be followed."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "knowledge/pdf.md", "---\ndescription: Forms.\n---\n\n# pdf\n\nFill them.\n")
    with TestClient(app(sim.registry())) as client:
        assert re.search(r'<h2><a href="[^"]+">pdf</a></h2>', client.get("/search?q=forms").text)


def test_a_skill_that_is_signed_as_a_whole_says_so(tmp_path: Path) -> None:
    """The files that the signature covers are named beside the verdict, unless one of them differs."""
    sim = SpaceSim(tmp_path, bundles=())
    skill = sim.project / ".claude" / "skills" / "pdf"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: Forms.\n---\n\nRun `scripts/fill.py`.\n", encoding="utf-8"
    )
    (skill / "scripts" / "fill.py").write_text('"""Fill."""\n', encoding="utf-8")
    sim.save_user_key()
    registry = sim.registry()
    registry.sign(str(skill))
    with TestClient(app(registry)) as client:
        said = f"covers every file in <code>{skill}</code>"
        assert [said in client.get(each).text for each in ("/item/directive/pdf", "/item/tool/pdf/scripts/fill")] == [
            True
        ] * 2
        (skill / "scripts" / "fill.py").write_text('"""Evil."""\n', encoding="utf-8")
        assert said not in client.get("/item/directive/pdf").text


def test_lines_are_counted_as_everywhere_else(tmp_path: Path) -> None:
    """A lone carriage return ends one, so that it moves neither marks nor anchors, and hides nothing in the head."""
    sim = SpaceSim(tmp_path, bundles=())
    text = b"evil one\r\r\revil two\n\n# H\n\n```xml\n" + XML + b"\n```\n"
    sim.write("project", "directives/x.md", html(old_envelope(XML)) + text)
    sim.write("project", "knowledge/y.md", "---\ntitle: A\r\rb: 2\n---\n\nfirst\n\n# H\n")
    with TestClient(app(sim.registry())) as client:
        raw = client.get("/item/directive/x?view=raw").text
        assert '<li id="L2" value="2"><code>evil one\\x0d</code></li>' in raw
        page = client.get("/item/directive/x").text
        assert '<h1 id="L7">H</h1>' in page
        page = client.get("/item/knowledge/y").text
        assert page.index("</details>") < page.index("<p>first</p>") < page.index('<h1 id="L9">H</h1>')


def test_an_item_shows_the_commands_for_it(tmp_path: Path) -> None:
    """As a shell and as an agent take them, whatever the id; of a stranger's item also how to trust who signed it."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "knowledge/it's $(odd).md", "# Odd\n")
    sim.add("system:shop", "tools/pay.py", TOOL, who=key("stranger"))
    with TestClient(app(sim.registry())) as client:
        odd = unescape(client.get("/item/knowledge/it's $(odd)").text)
        assert ">rye show " + quote("knowledge:it's $(odd)") + "</code>" in odd
        assert """>rye_load {"item": "knowledge:it's $(odd)"}</code>""" in odd
        assert "rye trust" not in odd
        assert '<code tabindex="0">rye trust add ' in client.get("/item/tool/pay").text


def test_a_shadowed_hit_is_explained_by_its_own_score(client: TestClient) -> None:
    """The page that explains an item is about the copy that is searched first; that of another is the hit alone."""
    hits = client.get("/search.json?q=deploy&filters=type=tool&explain=true").json()["results"]
    page = client.get("/search?q=deploy&filters=type=tool").text
    whys = [unescape(each) for each in re.findall(r'data-why="([^"]*)"', page)]
    assert sorted(bool(each["shadowed_by"]) for each in hits) == [False, True]
    for hit, address in zip(hits, whys, strict=True):
        answer = client.get(address).text
        assert ("/search?" in address) == bool(hit["shadowed_by"])
        assert "".join(f"{each:.3f}" for each in sorted((e["contribution"] for e in hit["explain"]), reverse=True)) == (
            "".join(re.findall(r"</svg>(\d\.\d{3})</td>", answer))
        )


def test_pages_can_be_mounted_below_a_path(registry: Registry) -> None:
    """Every link of every page keeps the path and leads somewhere."""
    application = Starlette(routes=[Mount("/our registry", app(registry))])
    root, seen = "/our%20registry", set[str]()
    with TestClient(application) as client:
        for address in ADDRESSES:
            answer = client.get(f"{root}{address}")
            found = re.findall(r'(?:href|action|src|data-why|template)="((?:http://testserver)?/[^"]*)"', answer.text)
            seen.update(unescape(each).removeprefix("http://testserver").partition("#")[0] for each in found)
        assert len(seen) > 50
        for address in seen:
            assert address.startswith(f"{root}/"), address
            wanted = 400 if address.endswith("/why") else 404 if "/rye/" in address else 200  # rye's own are left out
            assert client.get(address).status_code == wanted, address


def test_long_code_is_shown_in_parts(tmp_path: Path) -> None:
    """Each part says which lines it has and leads to the next; symbols lead into the part that has their line."""
    sim = SpaceSim(tmp_path)
    code = "".join(f"def f{number}():\n    return {number}\n\n" for number in range(1_000))
    sim.write("project", "tools/long.py", code)
    sim.write("project", "knowledge/long.md", f"# Top\n\n```py\n{code}```\n\n# Bottom\n" + "x\n" * 60_000)
    sim.write("user", "tools/long.py", code.replace("return", "yield"))
    with TestClient(app(sim.registry())) as client:
        page = client.get("/item/tool/long").text
        assert page.count('<li id="L') == 1_000
        assert page.count("Lines 1 to 1,000 of 2,999") == 2
        part = client.get("/item/tool/long?line=1001").text
        assert re.findall(r'<li id="L(\d+)"', part)[::999] == ["1001", "2000"]
        assert [f"line={number}#L{number}" in part for number in (1_000, 2_001)] == [True, True]
        assert '<a href="/item/tool/long?line=1#L1"><code>f0</code>' in part
        text = client.get("/item/knowledge/long").text
        assert '<a href="/item/knowledge/long?line=3006#L3006">Bottom</a>' in text
        assert '<li id="L3006"' in client.get("/item/knowledge/long?line=3006").text
        for wrong in ("0", "3000", "x", "-1", "1.5"):
            answer = client.get(f"/item/tool/long?line={wrong}")
            assert (answer.status_code, "from 1 to 2,999" in answer.text) == (400, True), wrong
        difference = client.get("/diff/tool/long?old=user&new=project").text
    assert difference.count("<code>") < 1_100
    assert " more</p>" in difference


def test_the_overview_names_signers_as_the_user_does(tmp_path: Path) -> None:
    """A trust file that counts for nothing gives no key a name, neither a stranger's nor that of the user."""
    sim = SpaceSim(tmp_path)
    sim.add("project", "knowledge/mine.md", "# Mine\n")
    sim.add("project", "knowledge/theirs.md", "# Theirs\n", key("stranger"))
    sim.trust(ANN, "project", owner="A Famous Company")
    sim.trust(key("stranger"), "project", owner="A Famous Company")
    sim.add("project", "knowledge/others.md", "# Others\n", key("other"))
    sim.trust(key("other"), "project", owner="Nobody")
    with TestClient(app(sim.registry())) as client:
        page = client.get("/overview?space=project").text
        facets = client.get("/search?q=mine OR theirs OR others&space=project").text.partition("<h2>signer")[2]
    named = [tuple(each.split(" ")) for each in re.findall(r"<span>([^<]*)</span>", facets)]
    assert ("ann", ANN.public.fingerprint[:12]) in named
    assert ("", key("stranger").public.fingerprint[:12]) in named
    assert ">A Famous Company" not in page + facets
    for name, who in (("theirs", "A Famous Company"), ("others", "Nobody")):
        words = f"The signature holds, but the key of '{who}' (its own claim) ("
        reason = unescape(page).partition(words)[2].partition("<p>")[0]
        assert f"<small>knowledge:{name}</small>" in reason


def test_only_reading(client: TestClient) -> None:
    """Nothing but GET and HEAD is answered, and no body is taken."""
    assert client.head("/search?q=deploy").status_code == 200
    assert client.head("/search?q=deploy").content == b""
    assert client.post("/search").status_code == 405
    assert client.request("GET", "/", content=b"x").status_code == 413
