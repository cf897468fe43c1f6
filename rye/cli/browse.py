"""Search as you type: a line to type in, the hits so far, and the item that is chosen among them.

What is shown is what other commands print, lines of harmless text with escape codes for colour; prompt_toolkit reads
keys, lays the lines out and leaves the screen as it was.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    Container,
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from rye._text import column, inline
from rye.cli.options import Place, ask
from rye.cli.programs import show_paged
from rye.cli.render.items import render_item, render_unreadable
from rye.cli.render.parts import passage, standing_label
from rye.cli.terminal import Terminal
from rye.errors import RyeError
from rye.registry.reports import LoadedItem
from rye.search.results import Replaced, SearchResponse, SearchResult
from rye.surface.text import header, passage_of, source_name

if TYPE_CHECKING:
    from rye.registry.registry import Registry

_HITS = 100
_LINES = 500
"""Lines of an item that can be scrolled through."""

_VISIBLE = 200
"""Lines of an item that are laid out at a time, more than a terminal has."""

_WIDE = 100
"""Cells from which on the item stands beside the hits and not below them."""

_STATUS = Dimension(min=1, max=3)
"""Lines about the search as a whole."""

_PAGE = 10
_ESCAPE_SECONDS = 0.05
_BLANKS = str.maketrans("\r\n", "  ")
"""Line ends become spaces: pasted text may have several lines, and the query is one."""

_KEYS = " Enter show   Esc leave   Up Down choose   PgUp PgDn scroll"
_STYLE = Style.from_dict({"cursor-line": "nounderline reverse"})


def search_as_you_type(place: Place, arguments: dict[str, Any]) -> int:
    """Let a person type a query and choose a hit, show that, and return the exit status.

    Args:
        place: Where to search.
        arguments: Of every search.
    """
    options = {name: value for name, value in arguments.items() if name not in {"prefix", "relax", "lenient"}}

    def ready(registry: Registry) -> Registry:
        registry.search("", limit=1, **options)
        registry.max_staleness = math.inf
        return registry

    registry = ask(place, ready)
    terminal = Terminal.of(sys.stdout)
    browser = Browser(registry, options, terminal)
    chosen = _Screen(browser, terminal).run()
    if chosen is None:
        return 1
    show_paged(render_item(browser.load(chosen), terminal), terminal)
    return 0


class Browser:
    """The hits and the preview that a person sees while typing a query.

    Args:
        registry: What is searched.
        options: Of every search: scope, space, filters and the like.
        terminal: What the lines are drawn for.
    """

    def __init__(self, registry: Registry, options: Mapping[str, Any], terminal: Terminal) -> None:
        self._registry = registry
        self._options = dict(options) | {"limit": _HITS}
        width = terminal.width or _WIDE
        self._terminal = terminal._replace(width=width // 2 - 1 if width >= _WIDE else width, links=False)
        self._response: SearchResponse | None = None
        self._error = ""
        self._shown: tuple[SearchResult | None, list[str]] = (None, [])
        self.text = ""
        self.place = 0

    def look(self, text: str) -> None:
        """Search for what is typed so far and show the hits; an invalid search leaves them as they are and says why."""
        self.show(text, self.search(text))

    def search(self, text: str) -> SearchResponse | RyeError:
        """Search for what is typed so far, and change nothing: other threads may call this."""
        try:
            return self._registry.search(text, prefix=True, lenient=True, **self._options)
        except RyeError as error:
            return error

    def show(self, text: str, found: SearchResponse | RyeError) -> None:
        """Take the answer to a text as the one that is shown, and select its first hit."""
        self._error = inline(found.message) if isinstance(found, RyeError) else ""
        self._response = self._response if isinstance(found, RyeError) else found
        self.text, self.place = text, 0

    @property
    def hits(self) -> tuple[SearchResult, ...]:
        """The hits of the last search."""
        return self._response.results if self._response else ()

    @property
    def chosen(self) -> SearchResult | None:
        """The hit that is marked."""
        return self.hits[self.place] if self.hits else None

    def move(self, steps: int) -> None:
        """Move the selection by ``steps`` hits, to the last or first hit at most."""
        self.place = max(0, min(self.place + steps, len(self.hits) - 1))

    def load(self, hit: SearchResult) -> LoadedItem:
        """Read and verify the item of a hit.

        Raises:
            RyeError: It is gone or cannot be read.
        """
        return self._registry.get(f"{hit.type}:{hit.id}", source_name(hit.source, hit.bundle, hit.folder))

    def status(self) -> str:
        """Return how many hits there are, or what is wrong."""
        found, style = self._response, self._terminal.style
        if self._error or found is None:
            return style(self._error, "red")
        counts = style(header(len(found.results), found.total, "results", found.stage), bold=True)
        replaced = [inline(text) for text in found.warnings if isinstance(text, Replaced)]
        if replaced:
            return "  ".join([counts, *(style(text, "magenta") for text in replaced)])
        notes = [f"did you mean: {inline(found.did_you_mean)}"] if found.did_you_mean else []
        notes += [inline(text) for text in found.warnings if text.startswith("left out of the query")]
        notes += [f"{count} {inline(state)} hidden" for state, count in found.hidden.items()]
        return "  ".join([counts, *map(self._terminal.dim, notes[:1])])

    def rows(self) -> list[str]:
        """Return a line for each hit: its verdict as a mark, its name, what distinguishes it, and its title."""
        return [self._row(hit) for hit in self.hits]

    def _row(self, hit: SearchResult) -> str:
        style = self._terminal.style
        name = style(column(f"{hit.type}:{hit.id}"), "cyan", bold=True)
        where = ""
        if hit.shadows or hit.shadowed_by:
            word, others = ("shadowed by", hit.shadowed_by) if hit.shadowed_by else ("shadows", hit.shadows)
            where = style(
                f"{source_name(hit.source, hit.bundle, hit.folder)}, {word} {inline(', '.join(others))}", "magenta"
            )
        facts = [f"{self._terminal.mark(hit.signature.verdict)} {name}", style("exact" if hit.exact else "", "green")]
        facts += [where, standing_label(hit, self._terminal), inline(hit.title or hit.description)]
        return "  ".join(filter(None, facts))

    def preview(self) -> list[str]:
        """Return the chosen item as ``rye show`` prints it, with the passage in which it matched."""
        hit = self.chosen
        if hit is None:
            return []
        if self._shown[0] is not hit:
            self._shown = hit, self._preview(hit)
        return self._shown[1]

    def _preview(self, hit: SearchResult) -> list[str]:
        terminal = self._terminal
        text, spans = passage_of(hit, "preview")
        found = passage(text, spans, light=terminal.light, width=terminal.width) if spans else []
        try:
            head, *facts, content = render_item(self.load(hit), terminal)
        except RyeError as error:
            head, *facts = render_unreadable(hit, error.message, terminal)
            return [head, *found, *facts]
        lines = content.expandtabs(4).splitlines()
        more = [terminal.dim(f"and {len(lines) - _LINES} more lines")] if len(lines) > _LINES else []
        return [head, *found, *facts, *lines[:_LINES], *more]


class _Screen:
    def __init__(self, browser: Browser, terminal: Terminal) -> None:
        self._browser = browser
        self._unicode = terminal.unicode
        self._scroll = 0
        self._busy = False
        self._line = Buffer(multiline=False, on_text_changed=self._typed)
        self._app: Application[SearchResult | None] = Application(
            layout=Layout(self._layout(), focused_element=self._line),
            key_bindings=self._keys(),
            style=_STYLE,
            color_depth=None if terminal.colour else ColorDepth.DEPTH_1_BIT,
            full_screen=True,
        )
        self._app.ttimeoutlen = _ESCAPE_SECONDS

    def run(self) -> SearchResult | None:
        self._browser.look("")
        try:
            return self._app.run()
        except BaseException:  # a signal in the first drawing, after which prompt_toolkit leaves the terminal as it is
            self._app.renderer.erase()
            raise

    # what is seen

    def _layout(self) -> Container:
        browser = self._browser
        line = Window(BufferControl(self._line, input_processors=[BeforeInput("search: ", "bold")]), height=1)
        hits = Window(
            FormattedTextControl(
                lambda: ANSI("\n".join(browser.rows())),
                get_cursor_position=lambda: Point(0, browser.place),
                show_cursor=False,
            ),
            cursorline=Condition(lambda: bool(browser.hits)),
        )
        seen = FormattedTextControl(
            lambda: ANSI("\n".join(islice(browser.preview(), self._scroll, self._scroll + _VISIBLE)))
        )
        item = Window(seen, wrap_lines=True)
        rule = Window(char="─" if self._unicode else "-", height=1, style="fg:ansibrightblack")
        upright = Window(char="│" if self._unicode else "|", width=1, style="fg:ansibrightblack")
        beside, below = VSplit([hits, upright, item]), HSplit([hits, rule, item])
        both = DynamicContainer(lambda: beside if get_app().output.get_size().columns >= _WIDE else below)
        text = FormattedTextControl(lambda: ANSI(browser.status()))
        status = Window(text, height=_STATUS, wrap_lines=True, dont_extend_height=True)
        keys = Window(FormattedTextControl(_KEYS), height=1, style="fg:ansibrightblack")
        return HSplit([line, status, both, keys])

    # what is typed

    def _typed(self, line: Buffer) -> None:
        flat = line.text.translate(_BLANKS)
        if flat != line.text:
            line.document = Document(flat, line.cursor_position)  # which comes back here
        elif not self._busy:
            self._busy = True
            self._app.create_background_task(self._search())

    async def _search(self) -> None:
        """Search until what is shown is what is typed; the screen stays awake meanwhile."""
        browser = self._browser
        try:
            while browser.text != (text := self._line.text):
                found = await asyncio.to_thread(browser.search, text)
                if browser.text != self._line.text:  # else a key has searched, and may have moved the selection since
                    browser.show(text, found)
                    self._scroll = 0
                    self._app.invalidate()
        finally:
            self._busy = False

    def _catch_up(self) -> None:
        """Search at once if what is shown is not what is typed: a key then acts on hits of the whole text."""
        if self._browser.text != self._line.text:
            self._browser.look(self._line.text)
            self._scroll = 0

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("escape", eager=True)
        @keys.add("c-d")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        @keys.add("c-c")
        def interrupt(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        @keys.add("enter")
        def choose(event: KeyPressEvent) -> None:
            self._catch_up()
            if self._browser.chosen is not None:
                event.app.exit(result=self._browser.chosen)

        def mover(steps: int) -> Callable[[KeyPressEvent], None]:
            def move(_: KeyPressEvent) -> None:
                self._catch_up()
                self._browser.move(steps)
                self._scroll = 0

            return move

        for name, steps in {"down": 1, "c-n": 1, "up": -1, "c-p": -1}.items():
            keys.add(name)(mover(steps))
        keys.add("pagedown")(lambda _: self._scrolled(_PAGE))
        keys.add("pageup")(lambda _: self._scrolled(-_PAGE))
        return keys

    def _scrolled(self, lines: int) -> None:
        self._catch_up()
        self._scroll = max(0, min(self._scroll + lines, len(self._browser.preview()) - 1))
