"""What people paste finds: shell commands, addresses, paths, descriptions and paragraphs, and it is never an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rye import Registry
from rye.errors import QueryError
from tests.conformance.corpus import entries
from tests.property.test_query import TEXTS
from tests.support.spacesim import SpaceSim

PASTED = [entry.query for kind in ("ok", "err") for entry in entries(kind) if entry.file in ("pasted", "punctuation")]


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """A registry of rye's own items alone."""
    nobody = tmp_path_factory.mktemp("nobody")
    return Registry(nobody, user=nobody, cache_dir=tmp_path_factory.mktemp("cache"), max_staleness=float("inf"))


@pytest.mark.parametrize("text", [each for each in PASTED if each[0] not in "([{|\\"])
def test_pasted_text_is_an_error_only_with_a_suggestion_that_is_answered(own: Registry, text: str) -> None:
    """Of few words that look like no command, the language says what is wrong."""
    try:
        own.search(text)
    except QueryError as error:
        assert len(text.split()) <= 7
        own.search(error.suggestion)


@pytest.mark.parametrize(
    "text",
    ["pip install -r zzz.txt", "docker run -it --rm zzz", "ls -la /tmp", "rm -rf zzz", 'git commit -m "msg"'],
)
def test_a_command_that_finds_nothing_is_suggested_as_words(own: Registry, text: str) -> None:
    """Its options are exclusions, and are taken as such."""
    found = own.search(text)
    assert (found.total, found.stage) == (0, "all")
    assert own.search(found.did_you_mean).total > 0


@pytest.mark.parametrize(
    "text",
    [
        *(
            "list_items()",
            "os.setsid()",
            "main()",
            "a.b.c()",
            "localhost:8080",
            "main.py:12",
            "redis:7-alpine",
            "python:3.11",
        ),
        *(
            "C:\\Users\\me\\file.txt",
            "urn:isbn:12345",
            "note:this matters",
            "localhost:80/a?b=c",
            '19" rack',
            "5'10\" tall",
        ),
        *(
            ":) smile",
            "50% off (today only",
            "AND gate",
            "~5 minutes",
            "approx. ~100",
            "a~b",
            "hello^world",
            '"',
            "()",
            "\\",
        ),
        *('"sign file', "OR", "NEAR/5", "file) system", "file ^2", 'file ""'),
        *("(a OR b", "file OR", "direcive~3", "file^2^3", "a && b", '"a b" "c', "foo:x type:tool", "x:y -z", "!a"),
        *('title:"a b', "title:main()", "foo:>=2", "(AND b) c", "AND OR b", "(a b)~2", "foo:(a b)", "tag:[a, b]"),
    ],
)
def test_a_query_that_does_not_parse_or_names_no_field_is_plain_words(own: Registry, text: str) -> None:
    """A warning has the error and its suggestion; with ``relax`` off it is the error."""
    found = own.search(text)
    assert found.stage in ("text", "fuzzy", "substring", "any")
    assert any("plain words" in warning for warning in found.warnings)
    with pytest.raises(QueryError):
        own.search(text, relax=False)
    near = own.search(text, proximity={"max_distance": 3})
    assert any("plain words" in warning for warning in near.warnings)


@pytest.mark.parametrize("unseen", "\u00ad\u180e\u200b\u200c\u200d\u200e\u2060\u2063\ufeff\ufe0f")
@pytest.mark.parametrize(
    "text", ["sig{}nature", '"sig{}nature line"', "sig{}*", "signa{}tur~1", "title:si{}gn", '{}"signature line"']
)
def test_characters_that_nobody_sees_change_no_answer(own: Registry, text: str, unseen: str) -> None:
    """Wherever they stand; a warning names them."""
    found, plain = own.search(text.format(unseen)), own.search(text.format(""))
    assert (found.total, [hit.id for hit in found.results]) == (plain.total, [hit.id for hit in plain.results])
    assert any("it is invisible" in warning for warning in found.warnings)
    assert own.search("", fields={"title": f"si{unseen}gn"}).total == own.search("title:sign").total


@pytest.mark.parametrize("text", ["a -b", "sign -verify", "zzz -signing", "sign*", '"signed list"'])
def test_operators_stay_exact(own: Registry, text: str) -> None:
    """Whatever a reader of the language writes is nothing else."""
    assert own.search(text).stage == "all"
    assert own.search(text).total == own.search(text, relax=False).total


@given(TEXTS | st.lists(st.sampled_from(PASTED), max_size=3).map(" ".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_a_suggestion_is_always_answered(own: Registry, text: str) -> None:
    """Both that of an error and that of an answer."""
    try:
        suggestion = own.search(text).did_you_mean
    except QueryError as error:
        suggestion = error.suggestion
    own.search(suggestion)


@pytest.mark.parametrize(
    "text",
    [
        *("df -h", "uniq -c", "sort -k2 f", "make -j4", "ls -la", "tar -x a.tgz", "./run.sh -debug", '"$HOME/bin" -I'),
        *("find . -type f -exec rm {} \\;", "gcc -W -o x", "$tools/foo -extra", "$ git commit -m x"),
    ],
)
def test_a_command_that_an_item_has_is_found_or_suggested_in_quotes(tmp_path: Path, text: str) -> None:
    """Its options are exclusions in the language: what it finds as written does not have them."""
    words = re.sub(r"\W+", " ", text)
    over = registry_of(
        tmp_path, verbatim=f"Run `{text}` then wait for it to end.", other=f"All about {words.split()[0]}."
    )
    found = over.search(text, space="project")
    if found.stage == "literal":
        assert [hit.id for hit in found.results] == ["verbatim"]
    else:
        assert "verbatim" not in [hit.id for hit in found.results]
        assert found_by(over, found.did_you_mean) == ["verbatim"]


def registry_of(folder: Path, **texts: str) -> Registry:
    """Return a registry of a few knowledge items, by their names."""
    below = folder / "project/.ai/knowledge"
    below.mkdir(parents=True)
    for name, text in texts.items():
        (below / f"{name}.md").write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    return Registry(folder / "project", user=folder / "user", cache_dir=folder / "cache")


def found_by(registry: Registry, text: str, **options: Any) -> list[str]:
    """Return the ids in the project that a query finds, in order."""
    return [hit.id for hit in registry.search(text, space="project", **options).results]


def test_an_exclusion_excludes(tmp_path: Path) -> None:
    """Whatever else an item has, and if it has the query word for word; in a field too."""
    over = registry_of(tmp_path, both="Use git -legacy and docker compose.", one="All about git and docker.")
    for text in ("git -legacy", "docker -compose"):
        assert found_by(over, text) == found_by(over, "", fields={"content": text}) == ["one"]
    assert found_by(over, "docker NOT git") == []


@pytest.mark.parametrize(
    "unseen", ["\u200b", "\u00ad", "\ufeff", "\u2060", "\u200e", "\u202e", "\ufe0f", "\u200b\u00ad"]
)
def test_characters_that_nobody_sees_hide_no_word_of_an_item(tmp_path: Path, unseen: str) -> None:
    """Whole, as a phrase and with a wildcard; what is marked is the word with them, in its place."""
    text = f"# The data{unseen}base\n\nBack up the da{unseen}ta{unseen}base of cafe{unseen}\u0301 each night."
    over = registry_of(tmp_path, page=text, other="Nothing of that kind.")
    sought = {"database": {"database"}, '"page of"': set(), "datab*": {"database"}, "café": {"cafe\u0301"}}
    for query, words in sought.items():
        hits = over.search(query, space="project", relax=False).results
        marks = [hit.preview[start:end] for hit in hits for start, end in hit.highlights["preview"]]
        assert {mark.replace(unseen, "") for mark in marks} == words
    (hit,) = over.search('"the database"', space="project").results
    marked = " ".join(hit.preview[start:end] for start, end in hit.highlights["preview"])
    assert marked.replace(unseen, "") == "The database the database"
    assert found_by(over, f"da{unseen}tabase") == ["page"]
    assert found_by(over, '"the database"') == ["page"]


QUOTING = "I'm running into this: {0}. Can you walk me through it, please?"


@pytest.mark.parametrize("quoted", ['"a disk failed — can I rebuild"', '"verify + sign"', '"the signature line"'])
def test_a_sentence_that_quotes_is_read_by_its_words(own: Registry, quoted: str) -> None:
    """A sign that stands alone in the quotes is punctuation, and not every word of the sentence has to be there."""
    found = own.search(QUOTING.format(quoted), mode="keyword")
    plain = own.search(QUOTING.format(quoted.replace('"', "").replace("— ", "").replace("+ ", "")), mode="keyword")
    assert found.stage == plain.stage == "any"
    assert {hit.id for hit in found.results[:3]} & {hit.id for hit in plain.results[:3]}


def test_pasted_words_of_long_items_are_no_error_about_a_phrase_that_nobody_wrote(tmp_path: Path) -> None:
    """The phrase of all words would compare too many positions, so it does not count; the words find the items."""
    sim = SpaceSim(tmp_path, bundles=())
    for name in ("one", "two"):
        sim.write("project", f"knowledge/{name}.md", f"# Long\n\n{'a b ' * 120_000}\n")
    response = sim.registry().search("a b " * 60, mode="keyword")
    assert (response.total, response.stage) == (2, "all")
