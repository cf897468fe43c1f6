# rye:signed:v2:2026-11-22T18:21:44Z:5b15c7048b3b589c0ae2b7894dc97f5d0bb05dd3fcaf78ba64d98514341ad100:VyZ9t3PuQkYlAF3HUrQfg_9ojEtfay0T_A0WawkurlIL7KABSvCgpZESNdYtCW5XDapRlJ29xnHT7EhvFhRfBQ:70bd5afc81b2af82f8d586196ef233db5efd24a3062467f462ff487425a2f26a
"""Write the frame of a new item, so that only its content is left to fill in.

The file is put where its type and id say: ``new_item.py knowledge ops/rollback`` writes
``.ai/knowledge/ops/rollback.md`` in the working directory. Nothing is ever overwritten.

Exit status: 0 written, 1 the file exists, 2 the arguments are wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = "Write the frame of a new directive, tool or knowledge entry below a space root."

ID = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*")

KNOWLEDGE = """\
```yaml
name: "{name}"
title: "{title}"
entry_type: guide
category: "{category}"
version: "1.0.0"
author: "{author}"
created_at: {now}
tags: []
description: "{description}"
references: []
```

# {title}

{description}
"""

DIRECTIVE = """\
# {title}

{description}

```xml
<directive name="{name}" version="1.0.0">
  <metadata>
    <description>{description}</description>
    <category>{category}</category>
    <author>{author}</author>
  </metadata>
  <inputs>
    <input name="target" type="string" required="true">What to work on.</input>
  </inputs>
  <outputs>
    <output name="result">What came of it.</output>
  </outputs>
</directive>
```

## Steps

### 1. First

Say here what to do with {{input:target}}.

## Done when

- Say here how to know that it is done.
"""

PYTHON = '''\
"""{description}"""

import argparse
import sys

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "{category}"
__author__ = "{author}"
__tool_description__ = "{description}"


def main() -> int:
    """Run the tool and return its exit status."""
    argparse.ArgumentParser(description=__tool_description__).parse_args()
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

SHELL = """\
#!/bin/sh
# name: {name}
# version: 1.0.0
# tool_type: shell
# category: {category}
# author: {author}
# description: {description}
set -eu
"""

YAML = """\
name: "{name}"
version: "1.0.0"
tool_type: http
category: "{category}"
author: "{author}"
description: "{description}"
"""

FRAMES = {
    "directive": ("directives", {"markdown": (".md", DIRECTIVE)}),
    "tool": ("tools", {"python": (".py", PYTHON), "shell": (".sh", SHELL), "yaml": (".yaml", YAML)}),
    "knowledge": ("knowledge", {"markdown": (".md", KNOWLEDGE)}),
}


def frame(item_type: str, item_id: str, kind: str, *, title: str, description: str, author: str) -> tuple[Path, str]:
    """Return the path of the new file below the space root, and its text."""
    folder, kinds = FRAMES[item_type]
    extension, template = kinds[kind]
    category, _, name = item_id.rpartition("/")
    text = template.format(
        name=name,
        title=title,
        category=category,
        description=description,
        author=author,
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return Path(folder, *item_id.split("/")[:-1], name + extension), text


def plain(text: str) -> str:
    """Return ``text`` if it can stand in every frame as it is: one line without quotes or signs of YAML and XML."""
    if not text.strip() or any(char in text for char in '"\\<>{}&') or not text.isprintable():
        message = 'must be one line without any of " \\ < > { } &'
        raise argparse.ArgumentTypeError(message)
    return text.strip()


def item_id(text: str) -> str:
    """Return ``text`` if it can be the id of an item."""
    if not ID.fullmatch(text):
        message = f"{text!r} is no id: write folders and a name with slashes between, as ops/rollback"
        raise argparse.ArgumentTypeError(message)
    return text


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("type", choices=FRAMES, help="what kind of item")
    parser.add_argument("id", type=item_id, help="path below the type's folder without extension, as ops/rollback")
    parser.add_argument("--root", type=Path, default=Path(".ai"), help="the space root (default: .ai)")
    parser.add_argument("--kind", choices=("python", "shell", "yaml"), default="python", help="of a tool")
    parser.add_argument("--title", type=plain, help="default: made from the name")
    parser.add_argument("--description", type=plain, default="Say in one sentence what this is for.")
    parser.add_argument("--author", type=plain, default="unknown")
    parser.add_argument("--dry-run", action="store_true", help="print the file instead of writing it")
    return parser


def main() -> int:
    """Run the tool and return its exit status."""
    given = arguments().parse_args()
    words = re.split(r"[-_.]+", given.id.rpartition("/")[2])
    title = given.title or " ".join(words).capitalize()
    kind = given.kind if given.type == "tool" else "markdown"
    place, text = frame(given.type, given.id, kind, title=title, description=given.description, author=given.author)
    path = given.root / place
    if given.dry_run:
        sys.stdout.write(text)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        print(f"{path} exists; nothing was written", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
