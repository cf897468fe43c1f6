"""Tools as code: metadata and description from the text, symbols from the syntax tree, also of broken code."""

from __future__ import annotations

import warnings

import pytest

from rye.items.model import Symbol
from tests.support.files import read


def test_python_description_comes_from_the_docstring_or_the_first_comment() -> None:
    """The docstring's first paragraph where no dunder states one; the head comment where there is no docstring."""
    assert read("tools/a.py", '"""Do it\n    now.\n\n    Later.\n    """\n').description == "Do it now."
    assert read("tools/a.py", "#!/bin/python\n# Do it\n# now.\n#\n# Later.\nx = 1\n").description == "Do it now."


@pytest.mark.parametrize(
    "broken",
    ["def run(:\n", "match x:\n  case\n", "print 'two'\n", "x = 1\n\ty = 2\n", "9" * 5000, "(\x00\x01", "x = (" * 300],
)
def test_python_that_does_not_parse_is_still_found(broken: str) -> None:
    """Metadata and symbols are read from the text, the body can be searched, and it is no error."""
    head = '"""Do it.\n\nMore."""\n__version__ = "1.0"\n__tags__ = [\'a\', "b"]\n\n'
    item = read("tools/ops/a.py", f"{head}class A:\n    def run(self): ...\n\n{broken}".encode())
    assert (item.version, item.tags, item.description, item.category) == ("1.0", ("a", "b"), "Do it.", "ops")
    assert item.symbols[:2] == (Symbol("A", "class", 7, 8, "class A"), Symbol("A.run", "method", 8, 8, "def run(self)"))
    assert "def run(self)" in item.body


def test_reading_a_tool_warns_of_nothing() -> None:
    """String escapes of a stranger's tool are not ours to warn about."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("tools/a.py", 'x = "\\d"\n').body


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("export default function () {}", "function"),
        ("export default async (a) => a", "function"),
        ("export default class extends Base { run() {} }", "class"),
        ("module.exports = class { run() {} }", "class"),
        ("module.exports = function* () {}", "function"),
    ],
)
def test_what_a_file_exports_without_a_name_is_its_default(code: str, kind: str) -> None:
    """The name under which others import it."""
    methods = [("default.run", "method")] if "run" in code else []
    found = [(one.name, one.kind) for one in read("tools/a.js", f"{code}\nfunction after() {{}}\n").symbols]
    assert found == [("default", kind), *methods, ("after", "function")]


def test_the_default_export_of_an_object_or_a_value() -> None:
    """Its methods; of a value nothing."""
    found = [one.name for one in read("tools/a.js", "export default { data() {} }\n").symbols]
    assert found == ["default.data"]
    assert read("tools/a.js", "export default define({ data() {} })\nmodule.exports = a = { b() {} }\n").symbols == ()


@pytest.mark.parametrize(
    "element",
    [
        "<p>Don't</p>",
        "<p>The users' data</p>",
        "<a>http://x.org/a</a>",
        "<a title='it'>https://x.org and won't</a>",
        '<p>19" rack</p>',
        "a ? <p>Don't</p> : (<p>won't</p>)",
        "<td>/</td>",
        "<br />",
        "<p>:(</p>",
        "<p>a) b</p>",
    ],
)
@pytest.mark.parametrize("suffix", [".js", ".jsx", ".tsx"])
def test_the_text_of_jsx_hides_no_definition(suffix: str, element: str) -> None:
    """Quotes, slashes and brackets between tags neither begin nor end anything that later code depends on."""
    shown = f"export function Show() {{ return ({element}) }}"
    code = f"// File.\n\n// Shows.\n{shown}\n\n// Hides.\nexport function Hide() {{}}\n"
    found = [(one.name, one.line, one.docstring) for one in read(f"tools/a{suffix}", code).symbols]
    assert found == [("Show", 4, "Shows."), ("Hide", 7, "Hides.")]


def test_a_keyword_before_a_string_is_no_word_with_an_apostrophe() -> None:
    """As minified code has it; a quote in a comment or a regular expression begins no string either."""
    code = (
        "function a() { switch (x) { case'(':return'{' } }\n// don't (\nconst b = () => /'(/.test(x)\nfunction c() {}\n"
    )
    assert [one.name for one in read("tools/a.js", code).symbols] == ["a", "b", "c"]


def test_attack_names_and_signatures_that_are_long_or_control_a_terminal() -> None:
    """A name of many characters is none, so that those of its methods cannot fill the memory; the rest is cut."""
    long = "A" * 100_000
    for suffix, text in ((".py", f"class {long}:\n    def a(self): ...\n"), (".ts", f"class {long} {{ a() {{}} }}")):
        assert read(f"tools/a{suffix}", text).symbols == ()
    one = read("tools/a.ts", f"// The file.\n\n/** \u202eDoc {long} */\nfunction f(a = '\u202e{long}') {{}}").symbols[0]
    assert len(one.signature) == len(one.docstring) == 200
    assert "\u202e" not in one.signature + one.docstring


@pytest.mark.parametrize(
    "head",
    [
        "# ryeos-tool:\n# category: ops\n",
        "# ryeos-tool:\n#   category: ops\n# and prose\n",
        "# ryeos-tool:\n#   category: [ops\n",
        "# ryeos-tool:\n#   category: ops\n#   category: other\n",
        "# ryeos-tool:\n#   just text\n",
        "# ryeos-tool: category\n",
        "# a word before\n# ryeos-tool:\n#   category: ops\n",
        "import os\n# ryeos-tool:\n#   category: ops\n",
    ],
)
def test_a_comment_that_ryeos_refuses_states_nothing(head: str) -> None:
    """Not its first line, not indented, not YAML, or not a mapping: the constants count as in any other tool."""
    item = read("tools/ops/a.py", f'{head}__version__ = "3"\n')
    assert (item.version, dict(item.declared)) == ("3", {})
