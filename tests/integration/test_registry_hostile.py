"""Hostile files, links, pipes, cache folders and bundles: that one is reported, everything else is found."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from rye import Registry
from tests.support.files import lay
from tests.support.signed import ANN
from tests.support.spacesim import SpaceSim

GOOD: Mapping[str, str] = {
    "tools/good/deploy.py": '"""Deploy a build."""\n',
    "tools/good/data.yaml": "description: Deploy as data.\n",
    "knowledge/good/deploying.md": "# Deploying\n\nHow to deploy.\n",
    "directives/good/deploy.md": "# Deploy\n\nDeploy it.\n",
}

REFUSED: Mapping[str, bytes] = {
    "tools/bad/latin.py": '"""Dépl deploy."""\n'.encode("latin-1"),
    "tools/bad/huge.py": b"# deploy\n" + b"#" * (1 << 20),
    "tools/bad/open.json": b'{"description": "deploy"',
    "tools/bad/deep.json": b'{"deploy": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "tools/bad/deep.yaml": b"deploy: " + b"[" * 10_000 + b"]" * 10_000,
    "tools/bad/flow.yaml": b"deploy: " + b"{a: " * 5_000 + b"}" * 5_000,
    "tools/bad/broken.toml": b'deploy = "\n',
    "tools/bad/utf16.yaml": "description: deploy\n".encode("utf-16"),
    "tools/bad/bomb.yaml": b"a0: &a0 [deploy, deploy]\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)),
    "tools/bad/self.yaml": b"deploy: &a [*a]\n",
    "knowledge/bad/latin.md": "déploy deploy\n".encode("latin-1"),
    "knowledge/bad/huge.md": b"deploy " * 200_000,
}
"""Files that are no items, and must be said to be none."""

STRANGE: Mapping[str, bytes] = {
    "tools/odd/list.yaml": b"- deploy\n- deploy\n",
    "tools/odd/nul.py": b'"""deploy\0."""\n',
    "tools/odd/nul.yaml": b"description: deploy\0\n",
    "tools/odd/nested.py": b"x = " + b"(" * 50_000 + b")" * 50_000 + b"  # deploy\n",
    "tools/odd/minus.py": b"x = " + b"-" * 100_000 + b"1  # deploy\n",
    "tools/odd/number.py": b"__version__ = " + b"9" * 100_000 + b"\n# deploy\n",
    "tools/odd/number.json": b'{"description": "deploy", "n": ' + b"9" * 100_000 + b"}",
    "tools/odd/infinite.json": b'{"description": "deploy", "n": Infinity, "m": NaN, "o": 1e999}',
    "tools/odd/tags.yaml": b"description: deploy\nrun: !!python/object/apply:os.system ['exit 1']\n",
    "tools/odd/keys.yaml": b"? [a, b]\n: deploy\n? {c: d}\n: deploy\n",
    "tools/odd/dates.yaml": b"description: deploy\ncreated: 0000-99-99\nupdated: 9999-12-31T23:59:59+99:99\n",
    "knowledge/odd/open.md": b"---\ntitle: deploy\n" + b"a: b\n" * 5_000,
    "knowledge/odd/rlo.md": "# \u202edeploy\u202c \ud7ff\ufffe\U0010ffff\u0000\x1b[2J\n".encode(),
    "knowledge/odd/marks.md": ("deploy " + "e\u0301" * 20_000 + "\n").encode(),
    "knowledge/odd/hash.md": b"#" * 500_000 + b" deploy\n",
    "knowledge/odd/brackets.md": b"[" * 200_000 + b"](deploy)\n",
    "knowledge/odd/fences.md": b"```\n" * 40_000 + b"deploy\n",
    "knowledge/odd/entities.yaml": b"description: '&lol; deploy'\n",
    "directives/odd/entities.md": b"```xml\n<!DOCTYPE x [<!ENTITY a 'deploy'>"
    + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10 if n else b"&a;" * 10) for n in range(12))
    + b"]>\n<directive name='entities' version='1'><description>&a11;</description></directive>\n```\n",
    "directives/odd/external.md": b"```xml\n<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n"
    b"<directive name='external' version='1'><description>deploy &a;</description></directive>\n```\n",
    "directives/odd/deep.md": b"```xml\n<directive name='deep' version='1'>"
    + b"<a>" * 100_000
    + b"deploy"
    + b"</a>" * 100_000
    + b"</directive>\n```\n",
    "directives/odd/open.md": b"<directive " * 50_000 + b"deploy",
    "directives/odd/signed.md": b"<!-- rye:signed:" + b"deploy:" * 100_000 + b" -->\n",
}
"""Files that may be items or not; either they are found or they are reported, and quickly."""


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay a project with a few good items."""
    sim = SpaceSim(tmp_path, bundles=())
    lay(sim.root("project"), GOOD)
    return sim


def ids(registry: Registry, query: str = "deploy") -> list[str]:
    """Return the ids that a search of the project finds, by name."""
    return sorted(hit.id for hit in registry.search(query, space="project", limit=1000).results)


def all_good(registry: Registry) -> bool:
    """Tell whether every good item is found."""
    found = registry.search("deploy", space="project", scope="*", limit=1000).results
    return {path.partition("/")[2].rpartition(".")[0] for path in GOOD} <= {hit.id for hit in found}


# files


@pytest.mark.parametrize("rel", sorted(REFUSED))
def test_a_file_that_is_no_item(sim: SpaceSim, rel: str) -> None:
    """That file is named in the warnings with what is wrong, again at every search; all others are found."""
    sim.write("project", rel, REFUSED[rel])
    registry = sim.registry()
    for _ in range(2):
        assert all_good(registry)
        warnings = [warning for warning in registry.search("").warnings if rel in warning]
        assert len(warnings) == 1
        assert len(warnings[0]) < 1_000
    assert any(rel in problem for problem in registry.verify(space="project").problems)
    assert all_good(sim.registry())
    sim.delete("project", rel)
    assert registry.search("").warnings == ()


@pytest.mark.parametrize("rel", sorted(STRANGE))
def test_a_file_that_tries_to_break_its_reader(sim: SpaceSim, rel: str) -> None:
    """It is found or reported, never silently missing; nothing else suffers, and it takes no time to speak of."""
    began = time.monotonic()
    sim.write("project", rel, STRANGE[rel])
    registry = sim.registry()
    assert all_good(registry)
    item_id = rel.partition("/")[2].rpartition(".")[0]
    listed = item_id in ids(registry, "*")
    reported = any(rel in warning for warning in registry.search("").warnings)
    assert listed != reported
    response = registry.search("deploy", explain=True)
    assert "root:" not in json.dumps(response.to_dict())
    assert time.monotonic() - began < 20


def test_names_that_hide_something(sim: SpaceSim) -> None:
    """A name with line breaks, escapes or bytes that are not text is reported in printable form, not listed."""
    folder = os.fsencode(sim.root("project") / "tools")
    for name in (b"a\nb.py", b"a\x1b[2Jb.py", b"\xff\xfe.py", "\u202egpj.py".encode()):
        Path(os.fsdecode(os.path.join(folder, name))).write_bytes(b'"""deploy"""\n')  # noqa: PTH118 - bytes
    registry = sim.registry()
    assert all_good(registry)
    assert len(ids(registry, "*")) == len(GOOD)
    warnings = registry.search("").warnings
    assert len(warnings) == 4
    assert all(warning.isprintable() for warning in warnings)


# links and pipes


def test_a_link_out_of_the_space(sim: SpaceSim) -> None:
    """A linked file or folder outside the root is reported and not followed; one inside is."""
    secret = lay(
        sim.folder / "elsewhere", {"secret.py": '"""deploy secrets"""\n', "more/secret.md": "deploy secrets\n"}
    )
    root = sim.root("project")
    (root / "tools" / "secret.py").symlink_to(secret / "secret.py")
    (root / "knowledge" / "more").symlink_to(secret / "more")
    (root / "tools" / "relative.py").symlink_to("../../../elsewhere/secret.py")
    lay(root / "shared", {"inside.py": '"""deploy inside"""\n'})
    (root / "tools" / "inside.py").symlink_to("../shared/inside.py")
    registry = sim.registry()
    assert ids(registry, "secrets") == []
    assert "inside" in ids(registry)
    warnings = registry.search("").warnings
    assert sum("out of" in warning for warning in warnings) == 3
    assert len(warnings) == 3


@pytest.mark.parametrize("max_staleness", [0, float("inf")])
def test_attack_a_file_swapped_for_one_of_the_same_length_and_time(sim: SpaceSim, max_staleness: float) -> None:
    """No search shows the old verdict or text, also where the files are not compared with the index again."""
    path = sim.add("project", "tools/swap/ship.py", '"""Swapping: mild."""\n')
    registry, data, before = sim.registry(max_staleness=max_staleness), path.read_bytes(), path.stat()

    def asked() -> list[tuple[str, str]]:
        return [(str(hit.signature.verdict), hit.description) for hit in registry.search("swapping").results]

    assert asked() == asked() == [("trusted", "Swapping: mild.")]
    path.write_bytes(data.replace(b"mild", b"evil"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert asked() == [("tampered", "Swapping: evil.")]
    path.write_bytes(data)
    assert asked() == [("trusted", "Swapping: mild.")]


def test_attack_trust_that_was_taken_back_is_not_remembered(sim: SpaceSim) -> None:
    """The same bytes under the same key are judged by the trust files of each search."""
    sim.add("project", "tools/swap/ship.py", '"""Swapping."""\n')
    registry = sim.registry()

    def asked() -> list[str]:
        codes = [hit.signature.code for hit in registry.search("swapping").results]
        assert registry.search("is:trusted", space="project").total == codes.count("ok")
        assert registry.search("is:untrusted", space="project").total == len(codes) - codes.count("ok")
        return codes

    assert asked() == asked() == ["ok"]
    sim.revoke(ANN)
    assert asked() == ["revoked"]
    sim.trust(ANN, patterns=("other/*",))
    assert asked() == ["limited"]
    sim.distrust(ANN)
    assert asked() == ["unknown-key"]
    sim.trust(ANN)
    assert asked() == ["ok"]


def test_attack_signed_bytes_copied_to_another_id(sim: SpaceSim) -> None:
    """What is known of the original serves no copy, though their bytes are the same."""
    sim.add("project", "tools/swap/ship.py", '"""Swapping."""\n')
    registry = sim.registry()
    assert [hit.signature.code for hit in registry.search("swapping").results] == ["ok"]
    sim.copy("project", "tools/swap/ship.py", "tools/swap/other.py")
    sim.copy("project", "tools/swap/ship.py", "tools/swap/ship.py", to_source="user")
    found = {(hit.source, hit.id): hit.signature.verdict for hit in registry.search("swapping").results}
    verified = {(one.space, one.id): one.signature.verdict for one in registry.verify("tool.swap.*").items}
    assert found == verified
    assert found["project", "swap/other"] != "trusted"
