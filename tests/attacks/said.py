"""Attacks: what a signature line says."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.support.attacks import (
    HELLO,
    TEXT,
    V1,
    Arena,
    Found,
    attack,
)
from tests.support.signed import (
    ANN,
    EVE,
    SIGNED_AT,
    hashed,
    old_envelope,
    sign,
)


@attack
def older_line_re_dated(arena: Arena) -> None:
    """Another time in an older line, whose signature does not cover it: the verdict holds, the list differs."""
    arena.sim.write("project", HELLO, TEXT)
    arena.sim.sign("project", HELLO, form=V1)
    arena.list_items()
    arena.sim.re_date("project", HELLO)


@attack
def older_provider_suffix_forged(arena: Arena) -> None:
    """The same in an older line, which may have one: nothing of it is ever shown."""
    data = TEXT.encode()
    arena.sim.write("project", HELLO, hashed(old_envelope(data, tail="|registry@admin")) + data)
    loaded = arena.sim.registry().get("tool:demo/hello", "project")
    assert "admin" not in str(loaded.signature.to_dict())
    assert loaded.signature.owner == "ann"


@attack
def signer_fingerprint_forged(arena: Arena) -> None:
    """A line by eve that names the first 16 digits of ann's key: they only choose the key to check with."""
    data = TEXT.encode()
    line = old_envelope(data, EVE).replace(EVE.public.fingerprint[:16], ANN.public.fingerprint[:16])
    arena.sim.write("project", HELLO, hashed(line) + data)


@attack
def signature_from_another_context(arena: Arena) -> None:
    """Signatures ann made for something else, an endorsement, put into a v2 line."""
    line, _, rest = arena.hello.read_bytes().partition(b"\n")
    from rye.trust.trust_file import sign_trust_file

    endorsed = sign_trust_file(rest, stem="hello", key=ANN, now=SIGNED_AT).partition(b"\n")[0]
    assert endorsed != line
    arena.hello.write_bytes(endorsed + b"\n" + rest)


@attack
def bare_hash_signed_by_an_oracle(arena: Arena) -> None:
    """Whoever lets ann sign 64 hex digits has an older line; a v2 line cannot be made of it."""
    data = TEXT.encode()
    arena.sim.write("project", HELLO, hashed(old_envelope(data)) + data)


@attack
def tool_of_another_registry(arena: Arena) -> Found:
    """A tool that ann signed for one registry is put, at the same id, into the project of another."""
    arena.hello.write_bytes(sign(TEXT.encode(), audience="acme/ops"))
    assert arena.verify("--audience", "acme/ops").well == {"ok"}
    arena.hello.write_bytes(sign(TEXT.encode(), audience="acme/shop"))
    (hit,) = arena.sim.registry(audience="acme/ops").search("hello", space="project").results
    assert (hit.signature.verdict, hit.signature.code) == ("untrusted", "audience")
    assert arena.sim.registry(audience="acme/ops").search("is:trusted", space="project").total == 0
    assert arena.sim.registry().search("is:trusted", space="project").total == 1
    return arena.verify("--audience", "acme/ops")


@attack
def tool_for_no_registry_in_one_that_demands_it(arena: Arena) -> Found:
    """A line without an audience, of either format, where one is demanded."""
    found = {arena.verify("--audience", "acme/ops")}
    arena.hello.write_bytes(sign(TEXT.encode(), form=V1))
    found.add(arena.verify("--audience", "acme/ops"))
    assert len(found) == 1
    return found.pop()


@attack
def project_in_place_of_another(arena: Arena) -> Found:
    """All of another registry, items and list, before a checker that has seen neither."""
    arena.hello.write_bytes(sign(TEXT.encode(), audience="acme/shop"))
    arena.list_items(audience="acme/shop")
    assert arena.verify("--require-list", "--audience", "acme/shop").status == 0
    shutil.rmtree(os.environ["RYE_STATE_DIR"])
    return arena.verify("--require-list", "--audience", "acme/ops")


@attack
def audience_edited_or_stripped(arena: Arena) -> Found:
    """The audience of a v2 line is replaced by the one that is demanded, or taken away where none is."""
    signed = sign(TEXT.encode(), audience="acme/shop")
    arena.hello.write_bytes(signed.replace(b":acme/shop", b":acme/ops"))
    found = arena.verify("--audience", "acme/ops")
    arena.hello.write_bytes(signed.replace(b":acme/shop", b""))
    assert arena.verify() == found
    return found


@attack
def audience_named_by_the_project(arena: Arena) -> Found:
    """A project brings policies and settings that name the audience of what is in it: nobody reads them."""
    arena.hello.write_bytes(sign(TEXT.encode(), audience="acme/shop"))
    for name in ("policy.yaml", "audience.yaml", "search.yaml"):
        arena.sim.write("project", f"config/{name}", "audience: acme/shop\n")
        (arena.sim.project / name).write_text("audience: acme/shop\n")
    (arena.sim.project / ".env").write_text("RYE_AUDIENCE=acme/shop\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RYE_AUDIENCE", "acme/ops")
        return arena.verify(inside=arena.sim.project)
