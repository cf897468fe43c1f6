"""What the log of a server over HTTP says of clients that leave."""

from __future__ import annotations

import logging
import sys

import anyio
import pytest

from rye.mcp.http import _shorten_disconnect


@pytest.mark.parametrize(("fault", "reported"), [(anyio.ClosedResourceError(), False), (ValueError("odd"), True)])
@pytest.mark.parametrize("answered", [False, True])
def test_a_client_that_leaves_is_no_fault(fault: Exception, *, reported: bool, answered: bool) -> None:
    """It is logged in one line, also where the library then fails to answer it; any other fault keeps its traceback."""
    try:
        try:
            raise fault  # noqa: TRY301 - to be handled, as in the library
        except Exception:
            if answered:
                raise RuntimeError("the response is completed")  # noqa: B904 - as the library does
            raise
    except Exception:  # noqa: BLE001 - whichever it is
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    assert _shorten_disconnect(record)
    assert (record.exc_info is not None) == reported
