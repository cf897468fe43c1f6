"""Arguments of wrong types, names that cannot be, bytes that are not text: an error of rye's, of that one thing."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.errors import RyeError
from rye.trust.line import sign_bytes, unsigned_bytes
from tests.support.mcp_server import with_client
from tests.support.signed import ANN, SIGNED_AT, place
from tests.support.spacesim import SpaceSim

WRONG: tuple[Any, ...] = (
    *(None, 5, -1, 1.5, float("nan"), True, b"x", ["x"], ("x",), {"a": 1}, {1}, object(), [None]),
    *("", "x", "x\0y", "\ud800", "a" * 5000, f"/{'a' * 300}", "~nobody-of-this-name/x"),
)
ODD = b"---\n# rye:signed:v2:2026\x80:x\nname: odd\ndescription: Roll out\n---\n# Odd\n"
METHODS = sorted(name for name in dir(Registry) if not name.startswith("_") and callable(getattr(Registry, name)))


pytestmark = pytest.mark.usefixtures("no_items_of_rye")


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """Lay an item that is well and one whose signature line is no UTF-8; some of the methods write beside them."""
    monkeypatch.chdir(tmp_path)  # where a relative cache folder comes to lie
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "directives/deploy.md", "---\nname: deploy\ndescription: Deploy\n---\n# Deploy\n")
    sim.write("project", "directives/odd.md", ODD)
    sim.save_user_key(ANN)
    return sim


@pytest.mark.parametrize("method", [name for name in METHODS if name not in {"clear", "rebuild"}])
def test_every_method_refuses_what_it_cannot_take_with_an_error_of_ryes(sim: SpaceSim, method: str) -> None:
    """No wrong value of any argument ends in an error of Python's or of the operating system's."""
    call = getattr(sim.registry(), method)
    parameters = inspect.signature(call).parameters.values()
    named = [each for each in parameters if each.kind is not each.VAR_POSITIONAL]
    needed = {each.name: "deploy" for each in named if each.default is each.empty}
    for each in parameters:
        for value in WRONG:
            words = [value] if each.kind is each.VAR_POSITIONAL else []
            options = needed if words else needed | {each.name: value}
            if method == "sign":
                words, options = words or ["directive:deploy"], {"dry_run": True} | options
            try:
                call(*words, **options)
            except RyeError:
                continue
            except Exception as error:  # noqa: BLE001 - that there is none is what is tested
                pytest.fail(f"{method}({each.name}={value!r:.40}): {error!r}")


@pytest.mark.parametrize("name", [each for each in inspect.signature(Registry).parameters if each != "progress"])
def test_a_registry_refuses_what_it_cannot_take_with_an_error_of_ryes(sim: SpaceSim, name: str) -> None:
    """So does the first call that needs what was given."""
    for value in WRONG:
        try:
            sim.registry(**{"cache_dir": sim.folder / "cache", name: value}).status()
        except RyeError:
            continue
        except Exception as error:  # noqa: BLE001 - that there is none is what is tested
            pytest.fail(f"Registry({name}={value!r:.40}): {error!r}")


def test_an_empty_path_is_not_the_working_directory(sim: SpaceSim) -> None:
    """As of a variable that is not set: nothing is read or written there."""
    for name in ("project", "user", "cache_dir"):
        with pytest.raises(RyeError, match=name):
            sim.registry(**{name: ""})
    assert not (sim.folder / "v1").exists()


def test_attack_an_odd_byte_in_a_signature_line_hides_no_other_item(sim: SpaceSim) -> None:
    """It costs the item its verdict, and neither the list it stands in nor the text of the item."""
    registry = sim.registry()
    loaded = registry.get("directive:odd")
    assert loaded.signature.code == "malformed"
    assert r"2026\x80:x" in loaded.content

    async def talk(client: Any) -> tuple[set[str], str]:
        prompts = {each.name for each in (await client.list_prompts()).prompts}
        read = await client.read_resource("rye://project/directive/odd")
        return prompts, read.contents[0].text

    prompts, text = with_client(sim, talk)
    assert {"deploy", "odd"} <= prompts
    assert "tampered" in text


def test_signing_replaces_a_line_that_is_no_text() -> None:
    """What the line held is no part of what is signed."""
    origin = place("odd", "directive")
    signed = sign_bytes(ODD, suffix=".md", origin=origin, key=ANN, now=SIGNED_AT)
    assert b"\x80" not in signed
    assert unsigned_bytes(signed, ".md") == unsigned_bytes(ODD, ".md")
