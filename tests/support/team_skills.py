"""A repository with twelve skills, as a team keeps them, and ten questions of a colleague, each with its skill."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_SKILLS = """\
review-changes
Review a pull request or a diff before it is merged. Use when somebody asks whether a change is correct.
Read the whole diff. Look for missing tests, changed public functions and unhandled errors. Run the tests. Say
which lines must change before the merge, and which are a matter of taste.

accessible-pages
Check web pages for people who use a screen reader or a keyboard. Use for contrast, labels and focus order.
Open the page without a mouse. Every image needs a text, every form field a label. Measure contrast. People
who cannot see the page hear it: read the headings aloud in order.

plan-infrastructure
Read a Terraform plan and name what it creates, changes or destroys. Use before infrastructure is applied.
Run terraform plan. List resources that would be destroyed or replaced first. A database that is replaced
loses its data. Ask a person before you apply.

clean-spreadsheets
Clean up CSV and Excel files: duplicates, dates in several formats, empty rows and wrong encodings.
Load the table with pandas. Count duplicate rows, parse dates, strip blanks. Never overwrite the original
file.

write-release-notes
Write the changelog of a release from merged pull requests and commits. Use when a version is tagged.
Collect the commits since the last tag. Group them: added, changed, fixed. Write for users, not for
developers.

profile-queries
Find out why a database query is slow, with EXPLAIN and indexes. Use for PostgreSQL and MySQL.
Run EXPLAIN ANALYZE. Look for sequential scans of large tables. Propose an index, and measure again.

rotate-credentials
Replace passwords, tokens and certificates that leaked or expire. Use when a secret was committed.
Revoke the leaked token first. Make a new one, store it in the vault, restart what reads it. Purge it from the
history of the repository.

fill-pdf-forms
Fill in PDF forms, read their fields and merge pages. Use when a form must be completed or signed by hand.
List the fields with pypdf. Fill in the values, flatten the form, and compare it with the original page.

triage-incidents
Handle an outage of a production service: find the cause, roll back, tell customers. Use when alerts fire.
Look at the dashboards and the last deployment. Roll back first, search the cause later. Write a timeline.

translate-texts
Translate the texts of the user interface into other languages. Use for locale files and plural forms.
Keep placeholders. Ask for the context of short words. Check plural forms of every language.

onboard-developers
Set up the machine of a new colleague: tools, access rights, a first task. Use in somebody's first week.
Install the toolchain, clone the repositories, ask for accounts. Pick a first issue that takes a day.

design-emails
Write newsletters and e-mails to customers that arrive and are read. Use for campaigns and receipts.
Keep the subject below fifty characters. Send a plain text part. Test in dark mode and on a telephone.
"""
"""Skills, a paragraph each: the name, the description, and the body from the third line on."""

QUESTIONS: Mapping[str, str] = {
    "can I merge this diff without breaking anything": "review-changes",
    "do our pages work for somebody who cannot see": "accessible-pages",
    "which of our servers would terraform destroy": "plan-infrastructure",
    "this csv has every customer twice": "clean-spreadsheets",
    "what should we tell users about the new version": "write-release-notes",
    "the orders page is slow because of the database": "profile-queries",
    "somebody pushed an api token to the repository": "rotate-credentials",
    "complete this tax form for me, it is a pdf": "fill-pdf-forms",
    "the shop is down since the last deployment": "triage-incidents",
    "someone new starts on monday, what do they need": "onboard-developers",
}
"""Question → the skill that answers it."""


def lay(project: Path) -> None:
    """Write the skills into a project."""
    for skill in _SKILLS.split("\n\n"):
        name, description, body = skill.split("\n", 2)
        folder = project / ".claude" / "skills" / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: '{description}'\n---\n\n# {name}\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
