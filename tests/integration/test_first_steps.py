"""From a folder with files, or with nothing, to signed items that a search finds: ``rye init``, ``new``, ``import``."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from rye.cli import main
from rye.items.model import ItemType
from rye.items.reader import parse
from rye.registry.registry import Registry
from tests.support.repositories import git

needs_links = pytest.mark.skipif(os.name != "posix", reason="needs links")
SOURCE = f"acme/rye@{'0123456789' * 4}"
SKILL = "---\nname: pdf\ndescription: Fill in PDF forms.\n---\n\n# PDF\n"


class Newcomer:
    """A user with an empty home, who runs rye in a folder of theirs."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        own = ("RYE_", "XDG_", "USER_SPACE", "USERPROFILE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        self.env = {**kept, "HOME": str(self.home), "RYE_CACHE_DIR": str(folder / "cache")}

    def __call__(self, *words: str, status: int = 0) -> str:
        """Run rye and return all that it printed."""
        out = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, chdir(self.work), redirect_stdout(out), redirect_stderr(out):
            for name in os.environ.keys() - self.env.keys():
                patch.delenv(name)
            for name, value in self.env.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.StringIO())
            found = main(list(words))
        assert found == status, out.getvalue()
        return out.getvalue()

    def write(self, **files: str) -> None:
        """Write files of the work folder."""
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        """Return every file of the work folder and the home folder."""
        found = [path for folder in (self.work, self.home) for path in folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in found}


@pytest.fixture
def rye(tmp_path: Path) -> Newcomer:
    """A user without any key or item."""
    return Newcomer(tmp_path)


def test_from_a_folder_of_notes_to_a_signed_search(rye: Newcomer) -> None:
    """Listed without a change, done on ``--yes``, found and trusted, and a second run changes nothing."""
    rye.write(**{f"note-{number}.md": f"# Note {number}\n\nHow to deploy part {number}.\n" for number in range(30)})
    rye.write(**{"todo.txt": "Call the baker\n\nBefore noon.\n", "data.bin": "\0"})
    before = rye.files()
    assert "--dry-run" in rye("init", status=2)
    assert ".ai/knowledge/note-29.md" in rye("init", "--dry-run")
    assert rye.files() == before
    said = rye("init", "--yes")
    assert "31 items signed" in said
    assert " trusted " in said.partition("$ rye search")[2]
    assert all(rye.files()[path] == data for path, data in before.items())
    after = rye.files()
    assert "nothing left to do" in rye("init", "--yes")
    assert rye.files() == after
    rye("verify", "--space", "project", "--policy", "rye-policy.yaml")
    assert "knowledge:todo" in rye("search", "title:baker", "--format=ids")


def test_skills_are_signed_where_they_are(rye: Newcomer) -> None:
    """Nothing is copied where other clients have files; git is told to keep their line ends; a git file is extended."""
    skill = {".claude/skills/pdf/SKILL.md": SKILL, "AGENTS.md": "# Agents\n", "README.md": "# Read\n"}
    skill |= {".claude/skills/pdf/forms.md": "# Forms\n", ".claude/skills/pdf/scripts/fill.py": "print(1)\n"}
    rye.write(**skill, **{".git/HEAD": "", ".gitattributes": "*.png binary"})
    assert "2 items signed" in rye("init", "--yes")
    changed = [name for name, text in skill.items() if (rye.work / name).read_text(encoding="utf-8") != text]
    assert changed == ["AGENTS.md"], "a skill is signed as a whole, beside its files"
    assert sorted(path.name for path in rye.work.iterdir() if path.is_dir()) == [".claude", ".git"]
    lines = (rye.work / ".gitattributes").read_text(encoding="utf-8").splitlines()
    assert lines[1:4] == ["/.ai/** -text", "/.claude/skills/** -text", "/AGENTS.md -text"]
    assert (lines[0], lines[4:]) == ("*.png binary", ["rye.list -merge", "SKILL.sig -merge"])
    rye("verify", "--space", "project")
    assert "nothing left to do" in rye("init", "--yes")
    (rye.work / ".gitattributes").unlink()
    rye("init", "--yes")
    again = (rye.work / ".gitattributes").read_text(encoding="utf-8").splitlines()
    assert again == lines[1:], "git keeps the line ends of what was signed before, too"


def test_init_ends_with_what_makes_the_signatures_count_for_others(rye: Newcomer) -> None:
    """Commit, the key and its passphrase, a colleague, CI, in 80 columns; nothing of it where nothing was done."""
    rye.write(**{".claude/skills/pdf/SKILL.md": SKILL})
    said = rye("init", "--yes").partition("\nnext:\n")[2]
    assert "commit" in said
    assert "private_key.pem\n               without a passphrase" in said
    assert "rye keys export > FILE, and runs rye trust add FILE" in said
    assert "rye help ci" in said
    assert all(len(line) <= 80 for line in said.splitlines() if str(rye.home) not in line)
    assert "next:" not in rye("init", "--yes")
    assert "set its variable TRUSTED_KEY" in rye("init", "--yes", "--ci", "github", "--rye", SOURCE)
    rye.write(**{".claude/commands/ship.md": "Ship it.\n"})
    rye.env["RYE_KEY_PASSPHRASE"] = "open sesame"  # noqa: S105 - of a test
    assert "rye-policy.yaml still demands the old key" in rye("keys", "rotate", "--sign", "--yes")
    assert "without a passphrase" not in rye("init", "--yes").partition("\nnext:\n")[2]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("ops/backup", "ops/backup.py"),
        ("ops/backup.v2", "ops/backup.v2.py"),
        ("deploy.js", "deploy.js"),
        ("deploy.tsx", "deploy.tsx"),
        ("deploy.sh", "deploy.sh"),
        ("deploy.json", "deploy.json"),
        ("deploy.toml", "deploy.toml"),
        ("deploy.yml", "deploy.yml"),
    ],
)
def test_a_new_tool_has_the_name_and_description_that_were_given(name: str, path: str, rye: Newcomer) -> None:
    """Each kind of program says in its own comments or keys what it is for."""
    rye("new", "tool", name, "--description", "Copy the database away.")
    data = (rye.work / ".ai/tools" / path).read_bytes()
    stem = path.rpartition(".")[0]
    item = parse(data, item_type=ItemType.TOOL, item_id=stem, suffix=Path(path).suffix)
    assert item.description == "Copy the database away."


def test_raw_content_keeps_every_byte(rye: Newcomer, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Also the mark at the beginning, which is no part of the text."""
    path = rye.work / ".ai/knowledge/marked.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data := b"\xef\xbb\xbf# Marked\r\n")
    subprocess.run(
        [sys.executable, "-P", "-m", "rye", "show", "marked", "--raw"], cwd=rye.work, env=rye.env, check=True
    )
    assert capfdbinary.readouterr().out == data


def test_a_new_tool_that_would_be_no_item_is_refused(rye: Newcomer) -> None:
    """The error lists the extensions that there are."""
    assert ".sh" in rye("new", "tool", "deploy.rb", status=2)
    assert not (rye.work / ".ai").exists()


def test_a_repository_of_skills_is_told_of_lists(rye: Newcomer) -> None:
    """Signatures do not say that a skill is gone; the list that the command signs does, and then nothing is said."""
    rye.write(**{f"skills/{name}/SKILL.md": SKILL.replace("pdf", name) for name in ("pdf", "doc")})
    assert "rye sign list" in rye("init", "--yes")
    rye("sign", "list", str(rye.work), "--yes")
    assert "sign list" not in rye("init", "--yes")
    shutil.rmtree(rye.work / "skills/doc")
    assert "file-removed" in rye("verify", "--space", "project", status=1)


def test_an_empty_folder_is_told_how_to_begin(rye: Newcomer) -> None:
    """There is a key and a policy; then an item is written, signed and found."""
    assert "rye new" in rye("init", "--yes")
    rye("new", "knowledge", "ops/rollback", "--description", "Bring back the last release.")
    assert "1 item signed" in rye("init", "--yes")
    assert "trusted" in rye("search", "bring back")


@pytest.mark.parametrize("space", ["all", "project", "user"])
@pytest.mark.parametrize("command", ["search", "list", "verify"])
def test_where_there_is_nothing_it_is_said_where_rye_looked(rye: Newcomer, command: str, space: str) -> None:
    """The folder that was searched, what was looked for, and the next command."""
    status = 2 if command == "verify" else 0 if space == "all" else 1
    said = rye(command, "--space", space, status=status)
    assert "there are no items" in said
    assert ("AGENTS.md" in said) == (space != "user")
    assert str(rye.home if space == "user" else rye.work) in said
    assert "rye new" in said
    assert ("0 items\n" in said) == (command == "list" and space != "all")


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("directive", "ops/roll-back", ".ai/directives/ops/roll-back.md"),
        ("knowledge", "ops/roll-back", ".ai/knowledge/ops/roll-back.md"),
        ("tool", "ops/roll-back", ".ai/tools/ops/roll-back.py"),
        ("tool", "ops/roll-back.sh", ".ai/tools/ops/roll-back.sh"),
        ("tool", "ops/roll-back.yaml", ".ai/tools/ops/roll-back.yaml"),
        ("skill", "roll-back", ".agents/skills/roll-back/SKILL.md"),
    ],
)
def test_a_frame_says_what_was_asked(rye: Newcomer, kind: str, name: str, path: str) -> None:
    """The file parses, can be signed, and is never overwritten; a dry run writes nothing."""
    text = 'It\'s "undone": 100% #1 {x} \\n.'
    rye("new", kind, name, "--description", text, "--dry-run")
    assert rye.files() == {}
    rye("new", kind, name, "--description", text)
    written = rye.work / path
    item_type = ItemType.DIRECTIVE if kind == "skill" else ItemType(kind)
    item = parse(written.read_bytes(), item_type=item_type, item_id="roll-back", suffix=written.suffix)
    assert item.description == text
    before = rye.files()
    assert "is there already" in rye("new", kind, name, status=2)
    assert rye.files() == before
    rye("keys", "generate")
    rye("sign", "--yes", "--all")
    rye("verify", "--space", "project")


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../b", ".hidden", "a/", "", "a/_b", "a\nb"])
def test_attack_a_name_that_leaves_its_folder(rye: Newcomer, name: str) -> None:
    """A name cannot be a place outside the space, nor a file that is no item."""
    for kind in ("knowledge", "skill"):
        rye("new", kind, name, status=2)
    rye("import", ".", "--namespace", name or "/", status=2)
    assert rye.files() == {}


def test_files_from_elsewhere_become_items(rye: Newcomer) -> None:
    """Type by name and text; metadata from the text; what cannot be an item is named; a second run keeps all."""
    rye.write(
        **{
            "in/a b.txt": "First line\n\nThe paragraph.\n",
            "in/deep/c.prompt": "You are a baker.\n",
            "in/d.md": "---\nname: Other Name\ncategory: x\ntags: [t]\n---\n\nBody.\n",
            "in/e.sh": "# Make bread\n",
            "in/f.prompt.md": "# Ask\n",
            "in/g.rst": "=====\nBread\n=====\n\nHow to bake.\n",
            "in/h.prompty": "---\nname: Oven\ndescription: Heat it.\nmodel:\n  api: chat\n---\nsystem:\nHeat.\n",
            "in/skill/SKILL.md": "# A skill\n",
            "in/empty.md": "",
            "in/g.png": "",
        }
    )
    said = json.loads(rye("import", "in", "--json"))
    assert sorted(row["ref"] for row in said["files"]) == [
        *("directive:in/deep/c", "directive:in/f", "directive:in/h", "directive:in/skill"),
        *("knowledge:in/a-b", "knowledge:in/d", "knowledge:in/g", "tool:in/e"),
    ]
    assert {"empty.md", "g.png"} == {text.split(": ")[1].rpartition("/")[2] for text in said["warnings"]}
    rye("keys", "generate")
    rye("sign", "--yes", "--all")
    found = json.loads(rye("show", "knowledge:in/d", "--json"))
    assert (found["title"], found["metadata"]["imported_name"], found["tags"]) == ("Other Name", "Other Name", ["t"])
    shown = json.loads(rye("show", "knowledge:in/a-b", "--json"))
    assert (shown["title"], shown["description"]) == ("First line", "First line")
    assert json.loads(rye("show", "knowledge:in/g", "--json"))["title"] == "Bread"
    assert json.loads(rye("show", "directive:in/h", "--json"))["description"] == "Heat it."
    before = rye.files()
    assert {row["action"] for row in json.loads(rye("import", "in", "--json"))["files"]} == {"kept"}
    assert rye.files() == before
    assert "can be an item" in rye("import", "in/g.png", status=2)


def test_attack_links_and_pipes_of_a_checkout_are_not_taken_in(rye: Newcomer) -> None:
    """A link that the shell names for ``repo/*.md`` is left out, as in a folder; nobody waits for a pipe."""
    rye.write(**{"secret": "Mine.\n", "repo/a.md": "# Bread\n"})
    repo = rye.work / "repo"
    (repo / "b.md").symlink_to("../secret")
    (repo / "c").symlink_to("..")
    os.mkfifo(repo / "d.md")
    said = json.loads(rye("import", *map(str, sorted(repo.iterdir())), "--json"))
    assert [row["ref"] for row in said["files"]] == ["knowledge:a"]
    assert said["warnings"] == [f"left out: {repo}/b.md and 2 more: it is a link or no file; name what a link leads to"]
    assert "it is a link or no file" in rye("import", "repo/b.md", status=2)


def test_what_others_signed_is_left_alone(rye: Newcomer) -> None:
    """A stranger's signature and an altered item stay as they are, and are counted; the rest is signed."""
    rye("new", "knowledge", "theirs")
    rye("new", "knowledge", "altered")
    rye("keys", "generate", "eve", "--no-trust")
    rye("sign", "--yes", "--all", "--key", "eve")
    with (rye.work / ".ai/knowledge/altered.md").open("a", encoding="utf-8") as stream:
        stream.write("evil\n")
    rye("new", "knowledge", "mine")
    before = rye.files()
    said = rye("init", "--yes")
    assert "1 item signed" in said
    assert "1 untrusted" in said
    assert "1 tampered" in said
    for name in ("theirs", "altered"):
        path = str(rye.work / ".ai/knowledge" / f"{name}.md")
        assert rye.files()[path] == before[path]


@needs_links
@pytest.mark.parametrize("place", [".ai", ".ai/knowledge", ".github", "rye-policy.yaml", ".gitattributes"])
def test_attack_a_link_out_of_the_project(rye: Newcomer, tmp_path: Path, place: str) -> None:
    """A clone that links a place to be written out of itself has nothing written, there or anywhere."""
    (outside := tmp_path / "outside").mkdir()
    target = outside / "file" if "." in place[1:] or place == ".gitattributes" else outside
    rye.write(**{"note.md": "# Note\n", ".git/HEAD": ""})
    (rye.work / place).parent.mkdir(exist_ok=True)
    (rye.work / place).symlink_to(target)
    before = rye.files()
    status = 0 if place == "rye-policy.yaml" else 2
    rye("init", "--yes", "--ci", "github", "--rye", SOURCE, status=status)
    assert list(outside.iterdir()) == []
    assert status == 0 or rye.files() == before


def test_attack_a_link_among_the_texts(rye: Newcomer, tmp_path: Path) -> None:
    """Nothing from outside a folder is copied and signed with it."""
    (tmp_path / "secret.md").write_text("# Secret\n", encoding="utf-8")
    rye.write(**{"note.md": "# Note\n"})
    (rye.work / "link.md").symlink_to(tmp_path / "secret.md")
    rye("init", "--yes")
    assert not any(b"Secret" in data for path, data in rye.files().items() if ".ai" in path)


def test_the_home_folder_is_no_project(rye: Newcomer) -> None:
    """Its ``.ai`` is the user space."""
    rye.work = rye.home
    assert "user space" in rye("init", "--yes", status=2)
    assert rye.files() == {}
    rye("new", "knowledge", "note", "--space", "user")
    assert (rye.home / ".ai/knowledge/note.md").is_file()


@pytest.mark.parametrize(
    ("server", "path", "says"),
    [
        ("github", ".github/workflows/rye.yml", f"acme/rye/.github/actions/verify@{SOURCE[-40:]}"),
        ("gitlab", ".gitlab-ci.yml", "https://github.com/acme/rye"),
        ("gitlab", ".gitlab-ci.yml", '--policy rye-policy.yaml --trust "$TRUSTED_KEY"'),
        ("github", ".github/workflows/rye.yml", "            --policy\n            rye-policy.yaml"),
        ("pre-commit", ".pre-commit-config.yaml", "args: [--policy, rye-policy.yaml]"),
    ],
)
def test_the_job_of_a_build_server(rye: Newcomer, server: str, path: str, says: str) -> None:
    """It is that of the documentation with the copy of rye that is named; without one, nothing is written."""
    assert "--rye" in rye("init", "--yes", "--ci", server, status=2)
    assert rye.files() == {}
    rye("init", "--yes", "--no-sign", "--ci", server, "--rye", SOURCE)
    text = (rye.work / path).read_text(encoding="utf-8")
    assert says in text
    assert "COMMIT" not in text
    assert "OWNER" not in text
    assert not (rye.home / ".ai").exists()


def test_a_repository_of_skills_is_verified_without_a_word_about_its_plugin(rye: Newcomer) -> None:
    """Its ``.claude-plugin`` makes it a bundle; what lies in another hidden folder and is no matter is not named."""
    rye.write(**{"skills/pdf/SKILL.md": SKILL, ".claude-plugin/marketplace.json": '{"name": "acme"}', ".x/y": ""})
    said = rye("verify", ".", status=1)
    assert "directive:pdf" in said
    assert ".claude-plugin" not in said
    assert ".x" not in said


def test_a_project_named_by_a_relative_path_is_set_up(rye: Newcomer) -> None:
    """With skills of a client in it, and accepted findings are named below it."""
    rye.write(**{".claude/skills/pdf/SKILL.md": SKILL, ".claude/settings.json": "{}"})
    rye("init", "--project", ".", "--yes")
    rye("verify", "--project", ".", "--space", "project", "--strict", "--policy", "p.yaml", "--accept")
    assert '"path": ".claude/settings.json"' in (rye.work / "p.accepted.jsonl").read_text()


def test_instructions_deep_down_are_signed_where_there_are_no_others(rye: Newcomer) -> None:
    """By their path, their id and with all others; a search does not look so deep."""
    rye.write(**{"a/b/c/d/AGENTS.md": "# Deep\n", ".ai/tools/x.py": '"""X."""\n'})
    rye("keys", "generate")
    assert "directive:a/b/c/d/AGENTS" in rye("verify", "--space", "project", status=1)
    for words in (["a/b/c/d/AGENTS.md"], ["directive:a/b/c/d/AGENTS"], ["--all", "--yes"]):
        assert "a/b/c/d/AGENTS.md" in rye("sign", "--force", *words)
    assert "2 items: 2 trusted" in rye("verify", "--strict", "--space", "project")
    assert "1 item: 1 trusted" in rye("verify", "a/b/c/d/AGENTS.md")


def test_what_git_ignores_is_left_out_everywhere(rye: Newcomer) -> None:
    """By signing, verifying, the Python API and what doctor says is uncovered; what git tracks there is not."""
    rye.write(**{".gitignore": "build/\n", "AGENTS.md": "# A\n", "build/CLAUDE.md": "# B\n", "build/x/.mcp.json": "{}"})
    rye.write(**{"a/b/c/d/CLAUDE.md": "# Deep\n"})
    git(rye.work, "init", "-q")
    rye("keys", "generate")
    signed = rye("sign", "--all", "--yes")
    assert ("a/b/c/d/CLAUDE.md" in signed, "build" in signed) == (True, False)
    said = rye("verify", "--strict", "--space", "project")
    assert "2 items: 2 trusted -- all passed" in said
    assert "git ignores what was not looked into: build" in said
    assert not [text for text in Registry(rye.work).verify(space="project").warnings if "build" in text]
    assert "no findings" in rye("doctor", "--project", str(rye.work))
    git(rye.work, "add", "-f", "build/CLAUDE.md")
    assert "build/CLAUDE.md" in rye("verify", "--space", "project", status=1)


HEADS = {
    "colon": "---\nname: colon\ndescription: Clean spreadsheets: duplicates, dates\n---\n",
    "open": "---\nname: open\ndescription: Never closed.\n",
    "twice": "---\nname: twice\ndescription: One.\ndescription: Two.\n---\n",
    "space": "---\nname:\u00a0space\ndescription:\u00a0Beta.\n---\n",
    "globs": "---\nname: globs\ndescription: Rules.\nglobs: *.json\n---\n",
}
"""Name of a skill → front matter that YAML refuses, or reads in another way than its author."""


def test_a_fault_of_front_matter_is_said_by_init_and_sign_alone(rye: Newcomer) -> None:
    """With the file and the line; searches and all other commands read what the author meant, and are silent."""
    rye.write(**{f".claude/skills/{name}/SKILL.md": f"{head}\n# Body\n\nText.\n" for name, head in HEADS.items()})
    noted = (
        "mapping values are not allowed in this context: 1 file, colon/SKILL.md (line 3)",
        "the front matter is never closed; write a line of --- below it: 1 file, open/SKILL.md (line 1)",
        "'description' is there twice: 1 file, twice/SKILL.md (line 4)",
        "a no-break space follows 'name:'; write a plain space: 1 file, space/SKILL.md (line 2)",
    )
    said = [rye("sign", "--all", "--dry-run"), rye("init", "--yes")]
    for output in said:
        assert [output.count(note) for note in noted] == [1, 1, 1, 1], output
        assert "globs/SKILL.md (" not in output
    silent = [rye("search", "spreadsheets"), rye("list"), rye("verify", "--space", "project"), rye("show", "twice")]
    silent += [rye("show", f"directive:{name}") for name in HEADS]
    assert "directive:colon" in silent[0]
    for description in ("Clean spreadsheets: duplicates, dates", "Never closed.", "Two.", "Beta.", "Rules."):
        assert description in silent[1]
    for output in silent:
        assert "line by line" not in output
        assert "warning" not in output


@needs_links
def test_a_working_directory_that_was_removed_is_named(rye: Newcomer, capfd: pytest.CaptureFixture[str]) -> None:
    """As by a checkout of another branch in another window."""
    gone = rye.work / "gone"
    gone.mkdir()
    words = [sys.executable, "-P", "-m", "rye", "search", "x"]
    script = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], sys.argv[1:])"
    assert subprocess.run([sys.executable, "-c", script, *words], cwd=gone, env=rye.env, check=False).returncode == 2
    assert "the working directory is gone" in capfd.readouterr().err


def test_a_repository_of_somebody_else_leads_to_its_trust_as_a_bundle(rye: Newcomer, tmp_path: Path) -> None:
    """Named by its path it is a project; each piece of advice says what makes it count, until it does."""
    (tmp_path / "publisher").mkdir()
    publisher = Newcomer(tmp_path / "publisher")
    publisher.write(**{"skills/lint/SKILL.md": SKILL.replace("pdf", "lint"), ".claude-plugin/plugin.json": "{}"})
    publisher("keys", "generate", "--owner", "Ann")
    publisher("sign", "bundle", "--yes", ".")
    bundle = str(publisher.work)
    said = rye("verify", bundle, status=1)
    assert f"fix: rye trust bundle {bundle}" in said
    fingerprint = json.loads(publisher("keys", "show", "--json"))["fingerprint"]
    rye("trust", "bundle", bundle, "--fingerprint", fingerprint)
    assert f"fix: rye verify --space system --bundle {bundle}" in rye("verify", bundle, status=1)
    rye("verify", "--space", "system", "--bundle", bundle)


@pytest.mark.parametrize("command", [("sign", "--yes", "--all"), ("sign", "bundle", "--yes", ".")])
def test_a_merge_conflict_is_not_signed(rye: Newcomer, command: tuple[str, ...]) -> None:
    """It is named with its line; an example of one that is indented is signed."""
    rye("keys", "generate", "--owner", "ann")
    rye.write(**{".claude/skills/pdf/SKILL.md": f"{SKILL}<<<<<<< ours\nOne.\n=======\nTwo.\n>>>>>>> theirs\n"})
    before = rye.files()
    assert "a merge conflict begins at line 7: resolve it" in rye(*command, status=2)
    assert rye.files() == before
    rye.write(**{".claude/skills/pdf/SKILL.md": f"{SKILL}    <<<<<<< ours\n    =======\n    >>>>>>> theirs\n=======\n"})
    assert "1 item signed" in rye(*command)


def test_a_list_keeps_its_name_under_a_new_key(rye: Newcomer) -> None:
    """Also that of skills at the top of a repository, which is a project of its own then."""
    rye("keys", "generate", "--owner", "ann")
    rye.write(**{"skills/pdf/SKILL.md": SKILL})
    rye("sign", "bundle", "--yes", ".")
    assert "list work, number 1" in rye("sign", "list", ".", "--yes")
    rotated = rye("keys", "rotate", "--yes")
    assert ("with RYE_KEY_PASSPHRASE a passphrase" in rotated, "--passphrase" in rotated) == (True, False)
    assert "list work, number 2" in rye("sign", "list", ".", "--yes")


def test_a_list_of_nothing_is_not_signed(rye: Newcomer) -> None:
    """A project whose skills lie in the folder of a client has no file in .ai to list."""
    rye("keys", "generate", "--owner", "ann")
    rye.write(**{".claude/skills/pdf/SKILL.md": SKILL})
    before = rye.files()
    assert "error[nothing-to-sign]: there is no file to list below" in rye("sign", "list", "--yes", status=2)
    assert rye.files() == before
