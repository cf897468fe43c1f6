"""The terminal of search as you type: keys in, a :class:`rye.cli.browse.Browser` out; the screen is left as it was."""

from __future__ import annotations

import asyncio
import math
import sys
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
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

from rye.cli.browse import Browser, Line
from rye.cli.options import Place, ask
from rye.cli.render.items import render_item
from rye.cli.terminal import Terminal, show

if TYPE_CHECKING:
    from rye.registry import Registry, SearchResult

_WIDE = 100
"""Cells from which on the item stands beside the hits and not below them."""

_STATUS = Dimension(min=1, max=3)
"""Lines of what is said of the search as a whole."""

_PAGE = 10
_ESCAPE_SECONDS = 0.05
_BLANKS = str.maketrans("\r\n", "  ")
"""What ends a line is a blank in the only one there is: pasted text may have several."""

_KEYS = " Enter show   Esc leave   Up Down choose   PgUp PgDn scroll"
_STYLE = Style.from_dict(
    {
        "name": "ansicyan bold",
        "match": "ansiyellow bold",
        "exact": "ansigreen",
        "error": "ansired",
        "note": "ansimagenta",
        "dim": "ansibrightblack",
    }
)
_PLAIN = Style.from_dict(dict.fromkeys(("name", "match"), "bold"))


def search_as_you_type(place: Place, arguments: dict[str, Any]) -> int:
    """Let a person type a query and choose a hit, show that, and return the exit status.

    Args:
        place: Where to search.
        arguments: Of every search.
    """
    options = {name: value for name, value in arguments.items() if name not in {"relax", "lenient"}}

    def ready(registry: Registry) -> Registry:
        registry.search("", limit=1, **options)
        registry.max_staleness = math.inf
        return registry

    registry = ask(place, ready)
    terminal = Terminal.of(sys.stdout)
    browser = Browser(registry, options, unicode=terminal.unicode)
    chosen = _Screen(browser, colour=terminal.colour).run()
    if chosen is None:
        return 1
    show(render_item(browser.load(chosen), terminal))
    return 0


class _Screen:
    def __init__(self, browser: Browser, *, colour: bool) -> None:
        self._browser = browser
        self._scroll = 0
        self._busy = False
        self._line = Buffer(multiline=False, on_text_changed=self._typed)
        self._app: Application[SearchResult | None] = Application(
            layout=Layout(self._layout(), focused_element=self._line),
            key_bindings=self._keys(),
            style=_STYLE if colour else _PLAIN,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
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
        line = Window(BufferControl(self._line, input_processors=[BeforeInput("search: ", "bold")]), height=1)
        hits = Window(
            FormattedTextControl(
                lambda: _joined(self._browser.rows()),
                get_cursor_position=lambda: Point(0, self._browser.place),
                show_cursor=False,
            )
        )
        item = Window(FormattedTextControl(lambda: _joined(self._browser.preview()[self._scroll :])), wrap_lines=True)
        rule = Window(char="─" if self._browser.unicode else "-", height=1, style="class:dim")
        beside = VSplit([hits, Window(char="│" if self._browser.unicode else "|", width=1, style="class:dim"), item])
        below = HSplit([hits, rule, item])
        both = DynamicContainer(lambda: beside if get_app().output.get_size().columns >= _WIDE else below)
        text = FormattedTextControl(lambda: list(self._browser.status()))
        status = Window(text, height=_STATUS, wrap_lines=True, dont_extend_height=True)
        keys = Window(FormattedTextControl(_KEYS), height=1, style="class:dim")
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
        try:
            while self._browser.text != (text := self._line.text):
                await asyncio.to_thread(self._browser.look, text)
                self._scroll = 0
                self._app.invalidate()
        finally:
            self._busy = False

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
            if self._browser.text != self._line.text:
                self._browser.look(self._line.text)
            if self._browser.chosen is not None:
                event.app.exit(result=self._browser.chosen)

        for steps, names in {1: ("down", "c-n"), -1: ("up", "c-p")}.items():
            for name in names:
                keys.add(name)(self._mover(steps))
        keys.add("pagedown")(lambda _: self._scrolled(_PAGE))
        keys.add("pageup")(lambda _: self._scrolled(-_PAGE))
        return keys

    def _mover(self, steps: int) -> Any:
        def move(_: KeyPressEvent) -> None:
            self._browser.move(steps)
            self._scroll = 0

        return move

    def _scrolled(self, lines: int) -> None:
        self._scroll = max(0, min(self._scroll + lines, len(self._browser.preview()) - 1))


def _joined(lines: list[Line]) -> StyleAndTextTuples:
    found: StyleAndTextTuples = []
    for at, line in enumerate(lines):
        found += [("", "\n")] if at else []
        found += line
    return found
