"""One call while a thread works on it: progress, cancellation, and questions to the client's user."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import anyio
import anyio.from_thread
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from rye.errors import CancelledError

_PACE = 0.05
"""Least seconds between two reports of progress."""


class ReportProgress(Protocol):
    """Reports progress to the client of a call; may be called from any thread."""

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Report that ``done`` of ``total`` is done."""


Confirm = Callable[[str, str], bool]
"""Asks the user of the client a question and waits; the second argument is what the answer is bound to."""


class Asked(Exception):
    """The client must ask its user, and call again with the answer.

    Attributes:
        question: What to ask.
        binding: What the answer will be about, to be handed back with it.
    """

    def __init__(self, question: str, binding: str) -> None:
        super().__init__(question)
        self.question = question
        self.binding = binding


class Call:
    """A call that a thread works on.

    Args:
        report: Where progress goes; None where nobody asked for it.
        confirm: How the user is asked; None where the client cannot.
        clock: Returns seconds, by which progress is not reported too often.
    """

    def __init__(
        self,
        report: ReportProgress | None = None,
        confirm: Confirm | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gone = threading.Event()
        self._report = report
        self._clock = clock
        self.confirm = confirm
        self._before = 0.0
        self._last: tuple[str, float] = ("", 0.0)
        self._reported, self._next = -1.0, 0.0

    @property
    def is_wanted(self) -> bool:
        """Whether the client still waits."""
        return not self._gone.is_set()

    def abandon(self) -> None:
        """Record that nobody waits for the answer any more."""
        self._gone.set()

    def check(self) -> None:
        """Stop here if nobody waits.

        Raises:
            CancelledError: ``cancelled``: nobody does.
        """
        if self._gone.is_set():
            raise CancelledError("cancelled", "the call was cancelled", hint="steps that had not started were not done")

    def report_files(self, done: int, total: int, source: str) -> None:
        """Report that ``done`` of ``total`` files of a source are read; the reported number only grows."""
        if self._report is None or self._gone.is_set():
            return
        last_source, last = self._last
        if source != last_source:
            self._before += last
        self._last = (source, float(done))
        now, reached = self._clock(), self._before + done
        if reached <= self._reported or now < self._next:
            return
        self._reported, self._next = reached, now + _PACE
        whole = f"{done} of {total} files" if total else f"{done} files"
        self._report(reached, self._before + total if total else None, f"{source}: {whole}".lstrip(": "))


_CONFIRM = "confirm"
_WAITING = 16
_NO_FORM = {"type": "object", "properties": {}}


class Conversation:
    """The client's side of one call.

    Args:
        ctx: Of the request.
        params: Of a call of a tool, which may bring what the user answered; None for other requests.
    """

    def __init__(self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams | None = None) -> None:
        self._ctx = ctx
        self._params = params

    @asynccontextmanager
    async def progress(self) -> AsyncIterator[ReportProgress | None]:
        """Give the function that reports progress; None where the client did not ask for progress."""
        if (self._ctx.meta or {}).get("progress_token") is None:
            yield None
            return
        loop = asyncio.get_running_loop()
        send, receive = anyio.create_memory_object_stream[tuple[float, float | None, str]](_WAITING)

        def offer(*step: Any) -> None:
            with suppress(anyio.WouldBlock, anyio.ClosedResourceError):  # a client that reads slowly misses steps
                send.send_nowait(step)

        def report(done: float, total: float | None, message: str) -> None:
            with suppress(RuntimeError):  # the server is ending
                loop.call_soon_threadsafe(offer, done, total, message)

        async def pump() -> None:
            async with receive:
                async for step in receive:
                    await self._ctx.session.report_progress(*step)

        pumping = asyncio.create_task(pump())
        try:
            yield report
            send.close()
            await pumping
        finally:
            send.close()
            pumping.cancel()

    @property
    def confirm(self) -> Confirm | None:
        """The function by which a thread asks the user; None where the client cannot show a question."""
        capabilities = self._ctx.session.client_capabilities
        asked = capabilities.elicitation if capabilities else None
        if self._params is None or asked is None or (asked.form is None and asked.url is not None):
            return None
        if self._ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._answered
        return self._elicited if self._ctx.session.can_send_request else None

    def _elicited(self, question: str, _binding: str) -> bool:
        async def ask() -> bool:
            found = await self._ctx.session.elicit_form(question, _NO_FORM, self._ctx.request_id)
            return found.action == "accept"

        return anyio.from_thread.run(ask)

    def _answered(self, question: str, binding: str) -> bool:
        """Return what the user has answered; in this form of the protocol the client calls again with it.

        Raises:
            Asked: The user has not been asked yet, or about something else.
        """
        assert self._params is not None
        found = (self._params.input_responses or {}).get(_CONFIRM)
        if not isinstance(found, types.ElicitResult):
            raise Asked(question, binding)
        if found.action == "accept" and self._params.request_state != binding:
            raise Asked(question, binding)
        return found.action == "accept"

    def question(self, asked: Asked) -> types.InputRequiredResult:
        """Return what makes the client ask its user and call again."""
        form = types.ElicitRequestFormParams(message=asked.question, requested_schema=_NO_FORM)
        requests: types.InputRequests = {_CONFIRM: types.ElicitRequest(params=form)}
        return types.InputRequiredResult(input_requests=requests, request_state=asked.binding)
