"""Tools as code: metadata and description from the text, symbols from the syntax tree, also of broken code."""

from __future__ import annotations

import json
import warnings

import pytest

from rye.items import Symbol
from tests.support.files import read

PYTHON = '''\
#!/usr/bin/env python3
# rye:signed:2026-02-18T00:00:00Z:aa:bb:cc
"""Back up a folder.

Longer text.
"""

__version__ = "1.2.0"
__tool_type__: str = "python"
__category__ = "ops"
__tool_description__ = (
    "Back up a folder "
    "into an archive."
)
__executor_id__ = None
__allowed_threads__ = ["inline", ("fork", 1)]
__timeout__ = -1.5
__computed__ = open("/etc/passwd").read()
__all__ = ["Backup"]
a = b = 1


class Backup:
    """A backup."""

    class Error(Exception):
        pass

    @property
    def size(self):
        def inner(): ...
        return 1

    async def run(self): ...


if True:
    def main(): ...
else:
    def other(): ...

try:
    from x import y
except ImportError:
    def y(): ...
finally:
    with a:
        def z(): ...
'''


def test_python_dunders_are_metadata_as_literals_only() -> None:
    """Names lose their underscores; values are literals of any kind; what would have to be computed is left out."""
    item = read("tools/ops/backup.py", PYTHON)
    assert dict(item.metadata) == {
        "version": "1.2.0",
        "tool_type": "python",
        "category": "ops",
        "tool_description": "Back up a folder into an archive.",
        "executor_id": None,
        "allowed_threads": ["inline", ["fork", 1]],
        "timeout": -1.5,
    }
    assert (item.version, item.category, item.description) == ("1.2.0", "ops", "Back up a folder into an archive.")
    assert dict(item.declared) == {"category": "ops"}


def test_python_symbols_have_their_lines_in_the_file() -> None:
    """Functions, classes and methods in file order, methods with their class; none from inside a function."""
    item = read("tools/ops/backup.py", PYTHON)
    lines = PYTHON.split("\n")
    assert [(symbol.name, symbol.kind) for symbol in item.symbols] == [
        ("Backup", "class"),
        ("Backup.Error", "class"),
        ("Backup.size", "method"),
        ("Backup.run", "method"),
        ("main", "function"),
        ("other", "function"),
        ("y", "function"),
        ("z", "function"),
    ]
    for symbol in item.symbols:
        assert symbol.name.rpartition(".")[2] in lines[symbol.line - 1]
    assert "async def run" in lines[item.symbols[0].end_line - 1]


def test_the_body_of_a_script_is_its_text_without_the_envelope() -> None:
    """Shebang and code stay; line numbers stay."""
    item = read("tools/ops/backup.py", PYTHON)
    assert item.envelope is not None
    assert item.envelope.number == 2
    assert item.body_line == 1
    assert item.body == PYTHON.replace("# rye:signed:2026-02-18T00:00:00Z:aa:bb:cc", "").rstrip()


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


def test_values_that_json_cannot_hold_are_left_out_or_replaced() -> None:
    """Sets become lists, bytes and complex numbers null like infinities, lone surrogates are replaced."""
    item = read(
        "tools/a.py",
        '__a__ = {3, 1}\n__b__ = b"x"\n__c__ = 1j\n__d__ = [1e999, ...]\n__e__ = "\\ud800\\x1b"\n'
        "__f__ = {1: {None: 2, True: 3}}\n__g__ = 10 ** 9999\n",
    )
    assert dict(item.metadata) == {
        "a": [1, 3],
        "b": None,
        "c": None,
        "d": [None],
        "e": "\ufffd ",
        "f": {"1": {"null": 2, "true": 3}},
    }
    assert json.dumps(dict(item.metadata), allow_nan=False)


TYPESCRIPT = """\
// rye:signed:2026-02-18T00:00:00Z:aa:bb:cc
// rye:unsigned
import { x } from "node:util";

export const __version__ = "1.0.0";
export const __category__: string = 'ops';
export const __tool_description__ =
  "Say \\"hello\\" — twice.";
const __parallel__ = true;
const __threads__ = ["inline", 'fork'];

export default class Greeter extends Base {
  run() { return 1; }
}

export async function greet(
  name: string,
): Promise<void> {
  function inner() {}
}

const shout = async (name: string): Promise<void> => {
  greet(name);
};
const once = (n) => n + 1;
let later = function () { return 2; }
"""


def test_typescript_constants_and_definitions() -> None:
    """Constants named as in Python are metadata; top-level functions and classes are symbols with their lines."""
    item = read("tools/ops/greet.ts", TYPESCRIPT)
    assert (item.version, item.category, item.description) == ("1.0.0", "ops", 'Say "hello" — twice.')
    assert (item.metadata["parallel"], item.metadata["threads"]) == (True, ["inline", "fork"])
    assert item.symbols == (
        Symbol("Greeter", "class", 12, 14, "export default class Greeter extends Base"),
        Symbol("Greeter.run", "method", 13, 13, "run()"),
        Symbol("greet", "function", 16, 20, "export async function greet(name: string): Promise<void>"),
        Symbol("shout", "function", 22, 24, "const shout = async (name: string): Promise<void>"),
        Symbol("once", "function", 25, 25, "const once = (n)"),
        Symbol("later", "function", 26, 26, "let later = function ()"),
    )


DEFINITIONS = """\
#!/usr/bin/env node
// The file.
import type { A } from './types.js'
import { b as c } from "../lib/util";
export * from './more'
const d = require('./old'), e = require(`./older`)
const text = "import x from './text'"; // from './comment'
import 'leftpad'

/**
 * Where shipments are.
 * @template T
 */
export interface Shelf<T extends { id: string }> extends Base { get(id: string): T }
type Size =
  | 'small'
  | { large: true }
export const enum Door { Open, Shut }
declare function native(a: string): void

/** Get, with "any" key. */
function get(a: string): { b: string }
function get(a: number): { b: string }
function get(a: any) { return /[/"'`{]/.test(a) ? `${a ? `}` : "{"} function inT() {}` : a / 2 / 1 }
namespace Fw {
  export class Locker extends Store<{ a: string }> implements B {
    // Opens it.
    @log({ level: 1 })
    #state = 1;
    static async *open(door: Door, { slow = false } = {}): AsyncGenerator<{ a: 1 }> {
      if (door) { function nested() {} }
      await import('./later.js')
    }
    handle = async (e: Event) => { }
    get size() { return 1 }
    abstract close(): void;
    count = call(1)
  }
}
/* class InComment { method() {} } */
const pattern = /function inRegex() {/, html = '<class InString {'
exports.legacy = function (a, b) {}
module.exports = class Old { run() {} }
const generic = <T,>(value: T): value is T & { a: 1 } =>
  Boolean(value) &&
  true
const notFunction = (1 + 2) * 3
"""


def test_definitions_of_typescript_have_kind_signature_and_documentation() -> None:
    """Methods, interfaces, types, enums, overloads and functions in any form; none in text, comments or bodies."""
    found = [
        (one.name, one.kind, one.line, one.end_line, one.signature, one.docstring)
        for one in read("tools/a.ts", DEFINITIONS).symbols
    ]
    shelf = "export interface Shelf<T extends { id: string }> extends Base"
    locker = "export class Locker extends Store<{ a: string }> implements B"
    slow = "static async *open(door: Door, { slow = false } = {}): AsyncGenerator<{ a: 1 }>"
    assert found == [
        ("Shelf", "interface", 14, 14, shelf, "Where shipments are."),
        ("Size", "type", 15, 17, "type Size = | 'small' | { large: true }", ""),
        ("Door", "enum", 18, 18, "export const enum Door", ""),
        ("native", "function", 19, 19, "declare function native(a: string): void", ""),
        ("get", "function", 22, 24, "function get(a: string): { b: string }", 'Get, with "any" key.'),
        ("Fw.Locker", "class", 26, 38, locker, ""),
        ("Fw.Locker.open", "method", 30, 33, slow, ""),
        ("Fw.Locker.handle", "method", 34, 34, "handle = async (e: Event)", ""),
        ("Fw.Locker.size", "method", 35, 35, "get size()", ""),
        ("Fw.Locker.close", "method", 36, 36, "abstract close(): void", ""),
        ("legacy", "function", 42, 42, "exports.legacy = function (a, b)", ""),
        ("Old", "class", 43, 43, "module.exports = class Old", ""),
        ("Old.run", "method", 43, 43, "run()", ""),
        ("generic", "function", 44, 46, "const generic = <T,>(value: T): value is T & { a: 1 }", ""),
    ]


OBJECTS = """\
// The file.

export const api = {
  /** Get one. */
  async get(id: string): Promise<Item> { return load({ id }) },
  list: (x) => { call({ a() {} }) }, // a comment
  // Put it.
  put: async function (a, b) {}, count: 1, inner: { no() {} },
  *all() {}, get size() { return 1 }, chosen: x ?
    first(a) : second, one: y => y + 1,
  last<T>(x: T): T { return x }
} as const;
const typed: Api = { run() {} }
const data = { type: 'object', properties: { a: { type: 'string' } }, ...rest(a) }
module.exports = { legacy(a) {}, arrow: () => 1 }
export default class {
  // Runs.
  run() {}
}
"""


def test_methods_of_objects_and_of_what_a_file_exports_are_symbols() -> None:
    """By the name of the constant or ``default``; what ``module.exports`` holds is a function of the file."""
    found = [
        (one.name, one.kind, one.line, one.signature, one.docstring) for one in read("tools/a.ts", OBJECTS).symbols
    ]
    assert found == [
        ("api.get", "method", 5, "async get(id: string): Promise<Item>", "Get one."),
        ("api.list", "method", 6, "list: (x)", ""),
        ("api.put", "method", 8, "put: async function (a, b)", "Put it."),
        ("api.all", "method", 9, "*all()", ""),
        ("api.size", "method", 9, "get size()", ""),
        ("api.one", "method", 10, "one: y", ""),
        ("api.last", "method", 11, "last<T>(x: T): T", ""),
        ("typed.run", "method", 13, "run()", ""),
        ("legacy", "function", 15, "legacy(a)", ""),
        ("arrow", "function", 15, "arrow: ()", ""),
        ("default", "class", 16, "export default class", ""),
        ("default.run", "method", 18, "run()", "Runs."),
    ]


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


DECORATED = """\
import x from 'x'

/** A service. */
@Injectable()
@Component({
  selector: 'x',
  nested: {
  }
})
export class Service {
  /** Run it. */
  @log({ level: 1 })
  async run() {}

  @Input() private name: string;
  // Listen.
  @HostListener('x') listen() {}

  state = {
  }
  bare() {}
}
/** Not of it. */
const a = 1

@Injectable()
export class Other {}
"""


def test_decorators_may_stand_between_a_comment_and_what_it_documents() -> None:
    """On one line or several; the definition begins at its own line, what documents it at the comment."""
    item = read("tools/a.ts", DECORATED)
    assert [(one.name, one.line, one.docstring) for one in item.symbols] == [
        ("Service", 10, "A service."),
        ("Service.run", 13, "Run it."),
        ("Service.listen", 17, "Listen."),
        ("Service.bare", 21, ""),
        ("Other", 27, ""),
    ]
    assert [one.line for one in item.documented] == [3, 11, 16]


def test_imports_of_javascript_are_the_files_beside_it() -> None:
    """Of statements, ``require`` and ``import()`` with a literal; none of a package, in a text or in a comment."""
    assert [(one.path, one.line) for one in read("tools/a.ts", DEFINITIONS).imports] == [
        ("./types.js", 3),
        ("../lib/util", 4),
        ("./more", 5),
        ("./old", 6),
        ("./older", 6),
        ("./later.js", 32),
    ]


def test_python_definitions_have_signature_and_documentation() -> None:
    """A signature of several lines is one; defaults, comments and docstrings stay what they are."""
    code = 'class Oven(Base):\n    """An oven."""\n\n    def bake(\n        self,\n        what: str = "):",  # this\n'
    code += '    ) -> None:\n        """\n        Bake it.\n\n        Well.\n        """\n\n\nasync def run(): ...\n'
    assert [(one.name, one.signature, one.docstring) for one in read("tools/a.py", code).symbols] == [
        ("Oven", "class Oven(Base)", "An oven."),
        ("Oven.bake", 'def bake(self, what: str = "):") -> None', "Bake it."),
        ("run", "async def run()", ""),
    ]


def test_attack_names_and_signatures_that_are_long_or_control_a_terminal() -> None:
    """A name of many characters is none, so that those of its methods cannot fill the memory; the rest is cut."""
    long = "A" * 100_000
    for suffix, text in ((".py", f"class {long}:\n    def a(self): ...\n"), (".ts", f"class {long} {{ a() {{}} }}")):
        assert read(f"tools/a{suffix}", text).symbols == ()
    one = read("tools/a.ts", f"// The file.\n\n/** \u202eDoc {long} */\nfunction f(a = '\u202e{long}') {{}}").symbols[0]
    assert len(one.signature) == len(one.docstring) == 200
    assert "\u202e" not in one.signature + one.docstring


@pytest.mark.parametrize("suffix", [".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx"])
def test_a_block_comment_at_the_top_is_read(suffix: str) -> None:
    """``@key value`` lines are metadata, the prose is the description; later comments are code."""
    item = read(
        f"tools/ops/a{suffix}",
        """\
        'use strict';
        /**
         * Resize pictures
         * in place.
         *
         * More.
         * @version 2.0.0
         * @tags a, b
         * @flag
         * author: Ada
         */
        /* @version 3 */
        """,
    )
    assert (item.description, item.version, item.tags, item.author) == (
        "Resize pictures in place.",
        "2.0.0",
        ("a", "b"),
        "Ada",
    )
    assert item.metadata["flag"] == ""


_RYEOS = """\
# ryeos-tool:
#   category: ops
#   version: 1.10
#   description: "Count the things."
#   required_caps: [count]
#   requires:
#     name: other
"""


@pytest.mark.parametrize("above", ["", "#!/usr/bin/env python3\n", "\n\n"])
@pytest.mark.parametrize("code", ["", '__version__ = "3"\nimport json\n', "def broken(:\n"])
def test_the_comment_of_ryeos_states_metadata(above: str, code: str) -> None:
    """Its YAML alone, whether the code is valid or not; the comment is no description."""
    item = read("tools/ops/a.py", above + _RYEOS + code)
    assert (item.version, item.description, item.name) == ("1.10", "Count the things.", "a")
    assert item.declared == {"category": "ops"}
    assert item.metadata["required_caps"] == ["count"]
    assert item.metadata["requires"] == {"name": "other"}
    assert read("tools/ops/a.py", "# ryeos-tool:\n#   version: 2\n").description == ""


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


def test_shell_header_and_functions() -> None:
    """Comments below the shebang, up to the first line that is none; functions in both forms."""
    item = read(
        "tools/ops/a.sh",
        """\
        #!/bin/sh
        # rye:signed:2026-02-18T00:00:00Z:aa:bb:cc
        # Clean the cache.
        # version: 1.1
        # see http://example.org: no key
        # Note: no key either

        # description: not this
        clean() {
          rm -rf x
        }
        function log_it { echo; }
        """,
    )
    assert (item.version, item.description) == (
        "1.1",
        "Clean the cache. see http://example.org: no key Note: no key either",
    )
    assert item.symbols == (
        Symbol("clean", "function", 9, 11, "clean()", "description: not this"),
        Symbol("log_it", "function", 12, 12, "function log_it"),
    )


def test_stale_marks_of_signing_are_not_part_of_a_tool() -> None:
    """A mark ``rye:unsigned`` or an older signature below the envelope is not searched."""
    item = read(
        "tools/a.py",
        "# rye:signed:2026-02-18T00:00:00Z:aa:bb:cc\n\n# # rye:signed:2025-01-01T00:00:00Z:aa:bb:cc\n"
        'x = "# rye:signed:in a string"\n',
    )
    assert (item.body, item.body_line) == ('x = "# rye:signed:in a string"', 4)
