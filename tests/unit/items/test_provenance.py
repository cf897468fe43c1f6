"""The records of installers are read as their makers define them; whatever else is there is refused."""

from __future__ import annotations

import json

import pytest

from rye.errors import ItemError
from rye.items.provenance import RECORDS, read_record, stated_source

EXAMPLES = {
    "skills-lock.json": json.dumps(
        {
            "version": 1,
            "skills": {
                "PDF Forms": {"source": "acme/skills", "sourceType": "github", "computedHash": "a" * 64, "ref": "v2"}
            },
        }
    ),
    ".agents/.skill-lock.json": json.dumps(
        {
            "version": 3,
            "skills": {
                "pdf-forms": {
                    "source": "acme/skills",
                    "sourceType": "github",
                    "sourceUrl": "https://git.example/acme/skills",
                    "skillPath": "skills/pdf",
                    "skillFolderHash": "b" * 40,
                    "ref": "v2",
                }
            },
            "dismissed": {},
        }
    ),
    "apm.lock.yaml": """
lockfile_version: "1"
dependencies:
  - repo_url: acme/skills
    resolved_commit: 7f3c9a0000000000000000000000000000000000
    resolved_ref: v2
    deployed_files: [.github/skills/pdf-forms/SKILL.md, .github/prompts/x.prompt.md, skills]
  - {repo_url: acme/none, resolved_commit: 7f3c9a}
""",
    "toolhive.lock.yaml": """
version: 1
skills:
  - {name: pdf-forms, version: v2, source: acme/skills, digest: "sha256:0", contentDigest: "sha256:1"}
""",
}
BAD = ["", "[]", "{", "null", "skills: [1]", '{"version": 1, "skills": {"a": {"source": 1}}}', "dependencies: 1"]


@pytest.mark.parametrize("path", RECORDS)
def test_a_record_says_where_a_skill_came_from(path: str) -> None:
    """The folder of the skill, and its source with the version."""
    (found,) = read_record(path, EXAMPLES[path].encode())
    assert (found.folder, found.source) == ("pdf-forms", "acme/skills#v2")


@pytest.mark.parametrize("path", RECORDS)
@pytest.mark.parametrize("text", [*BAD, "[" * 10_000, "a: &a [*a]", "\0", "x" * 2_000_000])
def test_attack_what_is_no_record_is_refused(path: str, text: str) -> None:
    """With one clear error, whatever it is, and quickly."""
    with pytest.raises(ItemError) as caught:
        read_record(path, text.encode())
    assert caught.value.code == "unparsable"


@pytest.mark.parametrize(
    ("metadata", "source"),
    [
        (
            {"github-repo": "https://github.com/acme/skills", "github-ref": "refs/tags/v2"},
            "https://github.com/acme/skills#v2",
        ),
        ({"github-repo": "https://github.com/acme/skills"}, "https://github.com/acme/skills"),
        ({"github-repo": ["x"], "github-ref": "v2"}, ""),
        ({}, ""),
        ("text", ""),
    ],
)
def test_the_keys_of_gh_say_where_a_skill_came_from(metadata: object, source: str) -> None:
    """What the command writes into the front matter; anything else says nothing."""
    assert stated_source({"metadata": metadata}) == source
