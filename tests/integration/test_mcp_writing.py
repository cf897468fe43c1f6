"""What ``rye mcp`` writes: signatures, once the user has agreed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, types

from rye.errors import SigningError
from rye.mcp.calls import Call
from rye.mcp.projects import Projects
from rye.mcp.startup import Options
from rye.mcp.tools.sign import TOOL
from rye.mcp.tools.tool import Work
from rye.trust.keys import SigningKey
from tests.support.mcp_server import ERAS, called, refused, text_of, with_client
from tests.support.signed import EVE
from tests.support.spacesim import SpaceSim, furnish

DRAFT = "directive:agents/create_thread"
REL = "directives/agents/create_thread.md"


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay the furnished spaces, and the user's key."""
    found = SpaceSim(tmp_path)
    furnish(found)
    found.save_user_key()
    return found


class User:
    """Someone who answers what the client shows, and remembers it."""

    def __init__(self, action: str, then: Callable[[], object] = lambda: None) -> None:
        self.action = action
        self.then = then
        self.asked: list[str] = []

    async def __call__(self, _context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer one question."""
        self.asked.append(params.message)
        self.then()
        self.then = lambda: None
        return types.ElicitResult(action=self.action, content={} if self.action == "accept" else None)  # type: ignore[arg-type]


async def sign(client: Client) -> types.CallToolResult:
    """Ask for a signature."""
    return await client.call_tool("rye_sign", {"target": DRAFT})


@pytest.mark.parametrize("mode", ERAS)
def test_signing_asks_the_user_and_signs(sim: SpaceSim, mode: str) -> None:
    """The question names the item and the key; afterwards the item is trusted, and found as such at once."""
    user = User("accept")

    async def talk(client: Client) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        done = await called(client, "rye_sign", target=DRAFT)
        again = await called(client, "rye_sign", target=DRAFT)
        return done, again, await called(client, "rye_search", query="create thread is:trusted", space="project")

    done, again, found = with_client(sim, talk, mode=mode, elicitation_callback=user)
    assert [(item["id"], item["changed"]) for item in done["items"]] == [("agents/create_thread", True)]
    assert [item["changed"] for item in again["items"]] == [False]
    assert [hit["id"] for hit in found["results"]] == ["agents/create_thread"]
    (question,) = user.asked
    assert DRAFT in question
    assert done["fingerprint"][:16] in question


def test_an_item_with_a_byte_order_mark_is_signed(sim: SpaceSim) -> None:
    """The mark is part of the bytes that are signed, and stays."""
    path = sim.path("project", REL)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    done = with_client(sim, sign, mode=ERAS[0], elicitation_callback=User("accept"))
    assert not done.is_error, text_of(done)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert sim.registry().get("directive:agents/create_thread", "project").signature.verdict == "trusted"


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_what_the_user_does_not_want_signed_is_not(sim: SpaceSim, mode: str, action: str) -> None:
    """The file keeps its bytes, and the error says why."""
    before = sim.path("project", REL).read_bytes()
    result = with_client(sim, sign, mode=mode, elicitation_callback=User(action))
    assert result.is_error
    assert result.structured_content["error"]["code"] == "not-confirmed"
    assert sim.path("project", REL).read_bytes() == before


@pytest.mark.parametrize("mode", ERAS)
def test_an_agreement_is_about_the_bytes_that_were_asked_about(sim: SpaceSim, mode: str) -> None:
    """A file swapped while the user reads the question is not signed on the strength of that answer."""
    path = sim.path("project", REL)
    swapped = path.read_bytes().replace(b"Create or make", b"Delete or make")
    user = User("accept", then=lambda: path.write_bytes(swapped))
    result = with_client(sim, sign, mode=mode, elicitation_callback=user)
    if mode == "legacy":
        assert result.structured_content["error"]["code"] == "changed-meanwhile"
        assert path.read_bytes() == swapped
    else:  # the call comes again, and the user is asked again
        assert not result.is_error
        assert len(user.asked) == 2


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_cannot_ask_signs_on_its_own_approval(sim: SpaceSim, mode: str) -> None:
    """Without elicitation the client's own approval of the call is what counts, of what was written since the start."""

    async def talk(client: Client) -> dict[str, Any]:
        error = await refused(client, "rye_sign", target=DRAFT)
        sim.path("project", REL).write_bytes(sim.path("project", REL).read_bytes())
        await called(client, "rye_sign", target=DRAFT)
        return error

    time.sleep(0.2)  # so that the server is younger than the file
    error = with_client(sim, talk, mode=mode)
    assert error["code"] == "cannot-ask"
    assert "before this server was started" in error["message"]
    assert error["hint"].endswith(f"the user runs: rye sign --space project {DRAFT}")


def test_attack_a_file_swapped_while_a_client_that_cannot_ask_signs(sim: SpaceSim) -> None:
    """Its new bytes were not checked for where they come from, so nothing is signed."""
    path = sim.path("project", REL)
    swapped = path.read_bytes().replace(b"Create or make", b"Delete or make")

    class Swapping(Call):
        def check(self) -> None:
            super().check()
            path.write_bytes(swapped)

    options = Options(cache_dir=sim.cache)
    work = Work(Projects(options, lambda *_: None), options, Swapping())
    path.write_bytes(path.read_bytes())
    with pytest.raises(SigningError) as caught:
        TOOL.answer(work, sim.registry(), {"target": DRAFT, "space": "project", "dry_run": False})
    assert caught.value.code == "changed-meanwhile"
    assert path.read_bytes() == swapped


def test_attack_a_file_swapped_once_all_is_agreed(sim: SpaceSim) -> None:
    """Between the last look at the file and its signature: what is signed are the bytes that were looked at."""
    path = sim.path("project", REL)
    swapped = path.read_bytes().replace(b"Create or make", b"Delete or make")

    class Swapping(Call):
        times = 0

        def check(self) -> None:
            self.times += 1
            if self.times == 2:  # the item, then the end of all questions
                path.write_bytes(swapped)

    options = Options(cache_dir=sim.cache)
    work = Work(Projects(options, lambda *_: None), options, Swapping())
    path.write_bytes(path.read_bytes())
    with pytest.raises(SigningError) as caught:
        TOOL.answer(work, sim.registry(), {"target": DRAFT, "space": "project", "dry_run": False})
    assert caught.value.code == "changed-meanwhile"
    assert path.read_bytes() == swapped


def test_the_question_counts_all_items_and_names_ten(sim: SpaceSim) -> None:
    """All are signed once the user agrees."""
    for number in range(12):
        sim.write("project", f"tools/draft/tool{number:02}.py", TEXT.replace('"ops"', '"draft"'))
    user = User("accept")

    async def talk(client: Client) -> dict[str, Any]:
        return await called(client, "rye_sign", target="tool:draft/*")

    done = with_client(sim, talk, elicitation_callback=user)
    assert [item["changed"] for item in done["items"]] == [True] * 12
    (question,) = user.asked
    assert question.startswith("Sign 12 item(s) of project space")
    assert (question.count("tool:draft/"), "and 2 more" in question) == (10, True)


def test_a_dry_run_asks_nobody_and_writes_nothing(sim: SpaceSim) -> None:
    """It only says what would be signed."""
    user = User("decline")
    sim.delete("project", "knowledge/threads/orchestrator.md")
    before = sim.path("project", REL).read_bytes()

    async def talk(client: Client) -> types.CallToolResult:
        return await client.call_tool("rye_sign", {"target": "*", "dry_run": True})

    text = text_of(with_client(sim, talk, elicitation_callback=user))
    assert f"{DRAFT}  would be signed" in text
    assert "tool:rye/file-system/read  already signed" in text
    assert user.asked == []
    assert sim.path("project", REL).read_bytes() == before


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"target": "tool:rye/file-system/read", "space": "system"}, "bad-space"),
        ({"target": DRAFT, "space": "all"}, "bad-space"),
        ({"target": "tool:no/such"}, "nothing-to-sign"),
        ({"target": "/etc/passwd"}, "bad-scope"),
        ({}, "missing-argument"),
    ],
)
def test_a_signature_that_cannot_be_is_refused(sim: SpaceSim, given: dict[str, Any], code: str) -> None:
    """System space is never signed, paths are no targets, and what is not there cannot be signed."""

    async def talk(client: Client) -> dict[str, Any]:
        return await refused(client, "rye_sign", **given)

    assert with_client(sim, talk)["code"] == code


def test_without_a_key_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    """The user makes the key, not the agent."""
    sim = SpaceSim(tmp_path)
    furnish(sim)

    async def talk(client: Client) -> dict[str, Any]:
        return await refused(client, "rye_sign", target=DRAFT)

    error = with_client(sim, talk)
    assert error["code"] == "no-signing-key"
    assert "rye keys generate" in error["hint"]


# what has come from elsewhere

PLANTED = "tool:ops/planted"
PLANTED_REL = "tools/ops/planted.py"
TEXT = '"""Deploy a build."""\n\n__version__ = "1.0.0"\n__category__ = "ops"\n'


@pytest.mark.parametrize("who", [EVE, None])
def test_a_client_that_cannot_ask_signs_nothing_that_came_from_elsewhere(sim: SpaceSim, who: SigningKey | None) -> None:
    """Signed by somebody else, or the same as an item elsewhere that is not trusted."""
    source = sim.write("project", PLANTED_REL, TEXT)
    if who:
        sim.sign("project", PLANTED_REL, who)
    sim.write("user", PLANTED_REL, source.read_bytes())
    before = sim.path("user", PLANTED_REL).read_bytes()

    async def talk(client: Client) -> dict[str, Any]:
        return await refused(client, "rye_sign", target=PLANTED, space="user")

    planted = with_client(sim, talk)
    assert planted["code"] == "cannot-ask"
    assert ("rye sign" in planted["hint"]) == (who is None)
    assert who or planted["hint"].endswith(f"the user runs: rye sign --space user {PLANTED}")
    assert sim.path("user", PLANTED_REL).read_bytes() == before


def _alter(sim: SpaceSim) -> None:
    path = sim.add("project", PLANTED_REL, TEXT)
    path.write_bytes(path.read_bytes() + b"evil()\n")


def _strip(sim: SpaceSim) -> None:
    sim.add("project", PLANTED_REL, TEXT)
    sim.registry().sign_list()
    sim.write("project", PLANTED_REL, TEXT)


@pytest.mark.parametrize(("change", "verdict"), [(_alter, "tampered (digest)"), (_strip, "tampered (list-changed)")])
def test_a_client_that_cannot_ask_signs_nothing_altered(
    sim: SpaceSim, change: Callable[[SpaceSim], None], verdict: str
) -> None:
    """A line added to an item of the user's own, or a signature taken away that the list names."""
    change(sim)
    before = sim.path("project", PLANTED_REL).read_bytes()

    async def talk(client: Client) -> dict[str, Any]:
        return await refused(client, "rye_sign", target=PLANTED)

    error = with_client(sim, talk)
    assert (error["code"], sim.path("project", PLANTED_REL).read_bytes()) == ("cannot-ask", before)
    assert f"{PLANTED} is {verdict}" in error["message"]
    assert error["hint"].endswith(f"the user runs: rye verify --space project {PLANTED}")
    assert "rye sign" not in error["hint"]


def test_the_question_counts_what_is_tampered(sim: SpaceSim) -> None:
    """Also where more items are to be signed than the question names."""
    for number in range(12):
        sim.write("project", f"tools/ops/a{number:02}.py", TEXT)
    _alter(sim)
    user = User("decline")

    async def talk(client: Client) -> dict[str, Any]:
        return await refused(client, "rye_sign", target="tool:ops/*")

    assert with_client(sim, talk, elicitation_callback=user)["code"] == "not-confirmed"
    (question,) = user.asked
    assert "1 of them tampered" in question
    assert f"{PLANTED} is tampered (digest)" in question


def test_attack_the_eleventh_item_of_a_question_is_the_attackers(sim: SpaceSim) -> None:
    """What others signed comes first and is never folded away, with the reason."""
    for number in range(12):
        sim.write("project", f"tools/ops/a{number:02}.py", TEXT)
    sim.add("project", "tools/ops/z-signed.py", TEXT, EVE)
    user = User("decline")

    async def talk(client: Client) -> dict[str, Any]:
        return await refused(client, "rye_sign", target="tool:ops/*")

    assert with_client(sim, talk, elicitation_callback=user)["code"] == "not-confirmed"
    (question,) = user.asked
    first, second, *_ = question.splitlines()[1:]
    assert ("z-signed" in first, "has the signature of somebody else" in first) == (True, True)
    assert ("a00" in second, "and 3 more" in question) == (True, True)


def test_files_of_other_clients_are_signed_by_the_user_alone(sim: SpaceSim) -> None:
    """Beside them, items of the project are signed as ever."""
    skill = sim.project / ".claude/skills/pdf/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: pdf\ndescription: Fills forms\n---\n# PDF\n")
    script = skill.with_name("fill.py")
    script.write_text('"""Fill."""\n')

    async def talk(client: Client) -> list[dict[str, Any]]:
        refusals = [await refused(client, "rye_sign", target=f"tool:{item}") for item in ("pdf/fill", "*")]
        return [*refusals, await called(client, "rye_sign", target="tool:rye/*", dry_run=True)]

    one, all_tools, planned = with_client(sim, talk, elicitation_callback=User("accept"))
    assert (one["code"], all_tools["code"]) == ("bad-target", "bad-target")
    assert str(script) in one["message"]
    assert planned["dry_run"] is True
    assert script.read_text() == '"""Fill."""\n'
