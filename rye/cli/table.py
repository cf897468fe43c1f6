"""What each command takes, in the order of its help; an action stands behind its group."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from rye.options.model import Parameter, parameters_of
from rye.options.search import (
    LISTED,
    MAX_OFFSET,
    MAX_STALENESS,
    REPLICAS,
    SHARDS,
    SIGNED_SPACE,
    SPACES,
    TRUST_SPACE,
    VERIFIED_SPACE,
    RefsOptions,
    SearchOptions,
    SectionOptions,
    SpaceOptions,
    WhyOptions,
    space_of,
)

_Table = dict[str, Parameter]
_flag = partial(Parameter, default=False, kind="boolean")
_path = partial(Parameter, kind="path")
_folder = partial(_path, metavar="DIR")
_file = partial(_path, metavar="FILE")
_many = partial(Parameter, default=(), kind="array")
_argument = partial(Parameter, flags="argument", required=True)
_words = partial(_many, flags="argument")


def _choice(text: str, *choices: str, **more: Any) -> Parameter:
    """Return an option with these values, the first being its default; they are checked as the line is read."""
    return Parameter(text, **{"default": choices[0], "choices": choices, "form": "choice"} | more)


def _named(**parameters: Parameter) -> _Table:
    return {name: each._replace(name=name) for name, each in parameters.items()}


_PLACES = _named(
    project=_folder("The project; by default found upwards"),
    bundles=_many("Also search this bundle; repeatable", flags="--bundle", metavar="DIR", form="folder"),
    trust=_many("Trust this key file or folder; repeatable", metavar="PATH", form="path"),
    audience=Parameter(
        "Require signatures made for this audience",
        notes="of a project's items; by default `RYE_AUDIENCE`; see `rye/trust`",
        metavar="NAME",
    ),
    clients=_many(
        "Search the folders of this agent only; repeatable",
        flags="--client",
        notes="beside `.ai`, such as `claude`; `none`: `.ai` alone; by default `RYE_CLIENTS`, else all; see "
        "`rye/agent-skills`",
        metavar="NAME",
    ),
    max_staleness=MAX_STALENESS,
    index=Parameter(
        "Search this registry on a cluster instead",
        notes="`opensearch+https://HOST:9200/NAME`; `none`: the spaces; by default `RYE_INDEX`, else `index` in the "
        "user's settings; see `rye/cluster`",
        metavar="ADDRESS",
    ),
)
_FORMS = _named(
    as_json=_flag("Answer as one JSON object, errors too", notes="see `rye/results`", flags="--json"),
    form=_choice(
        "`text`, `json`, `jsonl` or `ids`",
        *("text", "json", "jsonl", "ids"),
        flags="--format",
        notes="`json` is one object, as `--json`; `jsonl` an object for each hit, one per line; `ids` `type:id`, one "
        "per line",
        metavar="FORM",
    ),
)
_TEXT_OR_JSON = _named(form=_choice("`text` or `json`", "text", "json", flags="--format", metavar="FORM"))
_PATHS = _named(paths=_flag("Also show the file and line of each item"))
_EVERY_PLACE = ("project", "bundles", "trust", "audience", "clients", "max_staleness", "index")
_SPACE = parameters_of(SpaceOptions)
_ITEM = _named(item=_argument("type:id, or an id that only one type has", completes="item"))
_NOT_OPTIONS = frozenset({"fields", "hybrid", "lenient", "level", "prefix", "proximity", "source_boosts"})
_format = partial(_choice, flags="--format")
_AUDIENCE = _PLACES["audience"]
_TARGETS = _named(target=_words("What is meant", completes="target"))
_NAME = _named(name=Parameter("The key", flags="argument", completes="key"))
_KEYS = _named(key=_words("The keys", required=True, completes="trusted"))
_OWNER = _named(
    owner=Parameter(
        "Who the trust file says it belongs to; by default `user.name` of your git settings, else your login",
        metavar="NAME",
    )
)
_LIMITS = _named(
    patterns=_many(
        "It may sign only such items: `tool:ops/*`, or all of a bundle: `bundle:NAME`; repeatable",
        flags="--for",
        metavar="PATTERN",
    ),
    not_after=Parameter("Last day, or moment, on which it counts", metavar="DATE"),
)
_OWN_TRUST = _named(
    trust=_flag(
        "Write your own trust file for it; by default for the first key alone", default=None, flags="--trust/--no-trust"
    )
)
_REPLACE = _named(force=_flag("Replace a file that is there; a key that would be lost is shown, and asked about"))
_LOSE = _named(yes=_flag("With `--force`: do not ask, the key that is there may be lost", flags="--yes -y"))


_PUBLISHED = ("project", "user", "system", "all")
_NOT_BUNDLES = "a bundle's items are its publisher's"
_YES = _named(yes=_flag("Do not ask: the fingerprint has been compared", flags="--yes -y"))
_TRUST_SPACE = _named(space=TRUST_SPACE)


def _options(takes: type) -> _Table:
    """Return the options of a search that are options of its command; all are arguments of Python and MCP."""
    return {name: each for name, each in parameters_of(takes).items() if name not in _NOT_OPTIONS}


def _of(*places: str, forms: tuple[str, ...] = ("as_json",)) -> _Table:
    """Return options of places, and of the form of the answer: ``--json`` is never without ``--format``."""
    either = _TEXT_OR_JSON if "as_json" in forms else {}
    return {name: _PLACES[name] for name in places} | either | {name: _FORMS[name] for name in forms}


def _address(when: str, port: int, variable: str) -> _Table:
    """Return where a server over HTTP listens, and for whom."""

    def text(words: str) -> str:
        return f"{when}{words}" if when else f"{words[0].upper()}{words[1:]}"

    return _named(
        host=Parameter(text("address"), "127.0.0.1", metavar="HOST"),
        port=Parameter(
            text("port, 0 to 65,535; 0 for a free one, which is printed"),
            port,
            low=0,
            high=65_535,
            kind="integer",
            form="range",
            metavar="N",
        ),
        token_file=_file(text(f"demand the token in this file; by default that in `{variable}`, if it is set")),
        allowed_hosts=_many(
            text("a further name by which callers reach the server, with or without a port; repeatable"),
            flags="--allow-host",
            metavar="NAME",
        ),
    )


COMMANDS: Mapping[str, _Table] = {
    "search": (
        _named(query=_words("The query", completes="query"))
        | _options(SearchOptions)
        | _named(
            like=Parameter(
                "Find items like this one instead of a query", notes="a type:id", metavar="ITEM", completes="item"
            )
        )
        | _PATHS
        | _of(*_EVERY_PLACE, forms=tuple(_FORMS))
    ),
    "sections": (
        _named(query=_words("The query", required=True, completes="query"))
        | _options(SectionOptions)
        | _named(snippets=_flag("Show the best passage of each section instead of all of it"))
        | _of(*_EVERY_PLACE)
    ),
    "why": _named(
        query=_argument("The query", completes="query"),
        item=Parameter("type:id, or an id that only one type has", flags="argument", completes="item"),
    )
    | _options(WhyOptions)
    | _of(*_EVERY_PLACE),
    "show": (
        _ITEM
        | _named(
            space=space_of("Where to look; `all`: the space that wins", *SPACES),
            raw=_flag("Only the content, as it stands in the file"),
        )
        | _of("project", "bundles", "trust", "audience", "clients", "index")
    ),
    "help": _named(
        topic=_words("Name of a page, such as `query-language`, or of a command", completes="topic"),
    ),
    "list": (
        _named(scope=Parameter("Types and namespaces", "*", flags="argument", words=("directive", "tool", "knowledge")))
        | _SPACE
        | _named(
            limit=LISTED,
            offset=Parameter("Items to skip", 0, low=0, high=MAX_OFFSET, kind="integer"),
            sort=_choice(
                "`id` (by space, then id), `name`, or `date` (newest first)", *("id", "name", "date"), metavar="ORDER"
            ),
            include_superseded=_flag("Also list items marked superseded, deprecated or yanked"),
        )
        | _PATHS
        | _of(*_EVERY_PLACE, forms=tuple(_FORMS))
    ),
    "refs": (_ITEM | parameters_of(RefsOptions) | _of(*_EVERY_PLACE)),
    "index": (
        _named(
            action=_argument("What to do", choices=("status", "rebuild", "vectors", "clear", "publish")),
            address=Parameter(
                "With `publish`: the registry, `opensearch+https://HOST:9200/NAME`", "", flags="argument"
            ),
            owner=Parameter(
                "With `publish`: whose items they are; by default the name of the project's folder", "", metavar="NAME"
            ),
            space=space_of("With `publish`: the space to publish: `project`, `user`, `system` or `all`", *_PUBLISHED),
            scope=Parameter(
                "With `publish`: types and namespaces, as for `rye search`", "*", flags="--scope -s", metavar="SCOPE"
            ),
            shards=SHARDS,
            replicas=REPLICAS,
            dry_run=_flag("With `publish`: list what would be added, changed and removed, and send nothing"),
            repair=_flag("With `publish`: compare each document with its item, and send what is missing or altered"),
            yes=_flag("With `publish`: also remove more than a tenth of the owner's items", flags="--yes -y"),
        )
        | _of("project", "bundles", "clients", "max_staleness")
    ),
    "init": (
        _named(
            yes=_flag("Do not ask", flags="--yes -y"),
            dry_run=_flag("List all that would be done and change nothing"),
            sign=_flag("Sign nothing and make no key", default=True, flags="--no-sign"),
            owner=_OWNER["owner"],
            ci=_many(
                "Write the job that verifies each change for `github`, `gitlab` or `pre-commit`; repeatable",
                metavar="SERVER",
                choices=("github", "gitlab", "pre-commit"),
                form="choice",
            ),
            rye=Parameter(
                "With `--ci`: where the job gets rye from, with all 40 digits of a commit",
                "",
                metavar="OWNER/REPO@COMMIT",
            ),
        )
        | _of("project")
    ),
    "new": (
        _named(
            kind=_argument("What to write", choices=("directive", "tool", "knowledge", "skill")),
            name=_argument("Its id"),
            title=Parameter("What a search shows first; by default made from NAME", "", metavar="TEXT"),
            description=Parameter("What it is for, in a sentence", "", metavar="TEXT"),
            space=space_of("`project` or `user`", *("project", "user"), hint=_NOT_BUNDLES),
            dry_run=_flag("Say what would be written and change nothing"),
        )
        | _of("project")
    ),
    "import": (
        _named(
            source=_words("Files and folders", required=True, form="path"),
            as_type=Parameter(
                "All texts become `directive` or `knowledge`; by default as their names and contents say",
                choices=("directive", "knowledge"),
                form="choice",
                flags="--as",
            ),
            namespace=Parameter("Folder of the new ids; by default the name of each folder given", metavar="NAME"),
            space=space_of("`project` or `user`", *("project", "user"), hint=_NOT_BUNDLES),
            dry_run=_flag("Say what would be copied and change nothing"),
        )
        | _of("project")
    ),
    "sign": (
        _TARGETS
        | _named(
            space=SIGNED_SPACE,
            every=_flag("Every item of the space instead of targets", flags="--all"),
            key=Parameter(
                "The key; by default `RYE_SIGNING_KEY`, else `private_key` of the user",
                metavar="NAME|FILE",
                completes="key",
            ),
            audience=_AUDIENCE._replace(help="Sign the project's items for this audience; by default `RYE_AUDIENCE`"),
            dry_run=_flag("Say what would be signed and change nothing"),
            check=_flag("Only say what this key has not validly signed; exit 1 if there is any"),
            force=_flag("Sign again what is validly signed"),
            root=_folder(
                "Sign what is not validly signed in this bundle, and write the trust file of the key", flags="--bundle"
            ),
            new_key=_flag("With `--bundle`: make a key for it, and discard the private half"),
            owner=Parameter(
                "With `--bundle`: the owner in the trust file; by default that of your key, else the folder's name",
                metavar="NAME",
            ),
            as_list=_flag("Sign the list of all files of the space, or of the `--bundle`", flags="--list"),
            add=_flag("With `--list`: add a signature to the present list"),
            expires=Parameter(
                "With `--list`: for how many days it is valid; by default 90", None, kind="integer", metavar="DAYS"
            ),
            forget=_flag("With `--list`: forget the last list that was seen here, and sign nothing"),
            yes=_flag("With `--list`: do not ask", flags="--yes -y"),
        )
        | _of("project", "trust")
    ),
    "verify": (
        _TARGETS
        | _named(
            space=VERIFIED_SPACE,
            require=_choice(
                "`trusted`: signed by a trusted key; `signed`: also by a key that is unknown or does not count. By "
                "default `trusted`, or what `--policy` says",
                *("trusted", "signed"),
                default=None,
                metavar="LEVEL",
            ),
            signers=_many(
                "Accept only this key (64 hex digits); repeatable",
                flags="--signer",
                metavar="FP",
                completes="trusted",
            ),
            policy=_file(
                "Demand what this YAML file says", notes="see `rye/ci`; `--require` and `--signer` come on top"
            ),
            accept=_flag("Write the present findings into the `--policy` FILE, as accepted ones; it is made if needed"),
            require_list=_flag("A project, user space or named bundle without a signed list is a finding"),
            form=_format("Form of the answer", *("text", "json", "jsonl", "sarif", "junit")),
            strict=_flag("A file below a space that no signature and no list covers is a finding"),
            exclude=_many(
                "Without TARGET: look for no projects in this folder below the project; repeatable",
                flags="--exclude",
                metavar="FOLDER",
            ),
            verbose=_flag("Also list the items that passed", flags="--verbose -v"),
        )
        | _of("project", "bundles", "trust", "audience", "clients", forms=())
        | _named(as_json=_FORMS["as_json"])
    ),
    "keys generate": (
        _NAME
        | _OWNER
        | _LIMITS
        | _OWN_TRUST
        | _named(
            encrypt=_flag(
                "Protect it with `RYE_KEY_PASSPHRASE`, or one you are asked for; by default when that is set",
                default=None,
                flags="--passphrase/--no-passphrase",
            )
        )
        | _REPLACE
        | _LOSE
        | _of()
    ),
    "keys list": _of(),
    "keys show": _NAME | _of(),
    "keys export": (
        _NAME
        | _named(
            form=_format(
                "Of the public half: `trust` (a trust file), `pem`, or `base64` (`ed25519:…`)",
                *("trust", "pem", "base64"),
            ),
            owner=Parameter("Who the trust file says it belongs to", metavar="NAME"),
            private=_flag("The private key instead, as its file holds it; never to a terminal"),
            output=_file("Write it there instead of to standard output", flags="--output -o"),
        )
        | _REPLACE
    ),
    "keys import": (
        _named(file=_argument("The file", kind="path", form="dash"))
        | _NAME
        | _OWNER
        | _OWN_TRUST
        | _REPLACE
        | _LOSE
        | _of()
    ),
    "keys rotate": (
        _NAME
        | _named(
            reason=Parameter("Why, in a line; every verdict on the old key repeats it", "rotated", metavar="TEXT"),
            sign=_flag("Sign again what the old key validly signed in the project and in your user space"),
            yes=_flag("Do not ask", flags="--yes -y"),
        )
        | _of()
    ),
    "trust list": _of("project", "bundles", "trust"),
    "trust add": (
        _KEYS
        | _named(owner=Parameter("Who it belongs to; by default as its file says", metavar="NAME"))
        | _LIMITS
        | _TRUST_SPACE
        | _named(force=_flag("Replace the trust file that names the key already"))
        | _YES
        | _of("project")
    ),
    "trust bundle": (
        _named(
            bundle=_argument("Its id, or its folder"),
            fingerprints=_many(
                "Trust this key (64 hex digits) without asking; repeatable", flags="--fingerprint", metavar="FP"
            ),
        )
        | _of()
    ),
    "trust remove": (
        _KEYS
        | _named(
            space=TRUST_SPACE._replace(help="`user` or `project`"),
            force=_flag("Also a trust file that revokes its key, which may then count again"),
        )
        | _of("project")
    ),
    "trust revoke": (
        _KEYS
        | _named(
            reason=Parameter("Why, in a line; every verdict repeats it", "", metavar="TEXT"),
            date=Parameter("When it became unsafe; by default today. It limits nothing", "", metavar="DATE"),
        )
        | _TRUST_SPACE
        | _of("project")
    ),
    "trust endorse": (
        _named(
            file=_words("The trust files", required=True),
            signer=Parameter(
                "Your key; by default that of `rye sign`", flags="--key -k", metavar="NAME|FILE", completes="key"
            ),
            dry_run=_flag("Say whose key it is and change nothing"),
        )
        | _YES
        | _of("project")
    ),
    "mcp": (
        _named(
            projects=_many(
                "A project that callers may name, the first being the default; repeatable. Without it, the one found "
                "upwards from the working directory, and over standard input any that the caller names",
                flags="--project",
                metavar="DIR",
                form="path",
            ),
            require=_choice(
                "`trusted`: leave out every item that is not signed by a trusted key", "trusted", default=None
            ),
            http=_flag("Listen for streamable HTTP instead of using standard input and output"),
        )
        | _address("With `--http`: ", 8642, "RYE_MCP_TOKEN")
        | _named(
            client=_choice(
                "Print what this client needs in its configuration for a server with these options, and end",
                *("claude", "cursor", "vscode", "codex"),
                default=None,
                metavar="CLIENT",
                flags="--print-config",
            ),
        )
        | _of("bundles", "trust", "audience", "clients", "index", forms=())
    ),
    "serve": (
        _address("", 8643, "RYE_SERVE_TOKEN")
        | _named(is_opened=_flag("Open the page in the browser", flags="--open"))
        | _of(*(name for name in _EVERY_PLACE if name != "max_staleness"), forms=())
    ),
    "completion": _named(shell=_argument("The shell", choices=("bash", "zsh", "fish"))),
}
"""Every command, or action of one, and its parameters."""

SECTIONS: Mapping[str, str] = dict.fromkeys(_PLACES, "Spaces, keys and the index") | dict.fromkeys(
    ["limit", "offset", "sort_by", "sort", "explain", "facets", *_PATHS, *_FORMS], "Answer"
)
"""Under which heading of the help a parameter stands that is not one of the command alone."""
