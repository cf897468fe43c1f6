"""The site: which page answers which address, as HTML or as JSON, and the pages of errors."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rye._text import block, verbatim_json
from rye.errors import ArgumentError, EnvironmentFault, ItemError, NotFoundError, QueryError, RyeError, UnavailableError
from rye.surface.hits import view_of
from rye.surface.text import (
    installed_version,
    lifecycle_label,
    plural,
    size,
    source_name,
)
from rye.web import item_page, overview_page, search_page
from rye.web.address import ROOT, Maker, Visit, changed, hit_address, item_address
from rye.web.gate import hardened
from rye.web.markup import marked

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.surface.listener import Asgi

_HERE = Path(__file__).parent
_LOG = logging.getLogger(__name__)
_STATIC = {"rye.css": "text/css", "rye.js": "text/javascript", "rye.svg": "image/svg+xml"}
_INTERNAL = "a fault of rye; its log on standard error says more"
_FOREVER = "public, max-age=31536000, immutable"
_STATUS: Mapping[type[RyeError], int] = {
    QueryError: 400,
    ArgumentError: 400,
    NotFoundError: 404,
    ItemError: 422,
    UnavailableError: 503,
    EnvironmentFault: 503,
}


PAGES: Mapping[str, tuple[str, Maker]] = {
    "search": ("", search_page.make),
    "why": ("", search_page.make_why),
    "item": ("/{kind}/{item_id:path}", item_page.make),
    "diff": ("/{kind}/{item_id:path}", item_page.make_diff),
    "overview": ("", overview_page.make),
    "trust": ("", overview_page.make_trust),
}
"""Name of each page to the rest of its path, and to the function that makes it."""


NAVIGATION = (("overview", "Overview"), ("trust", "Trust"))
"""Pages in the navigation, and the texts of their links."""


class Site:
    """The pages of a registry.

    Args:
        use: Yields the registry of a page until the page is made.
    """

    def __init__(self, use: Callable[[], AbstractContextManager[Registry]]) -> None:
        self._use = use
        self._templates = _environment()

    def application(self) -> Asgi:
        """Return the application that answers with these pages."""
        routes = [Route("/", self._endpoint(search_page.make, as_json=False))]
        for name, (path, make) in PAGES.items():
            routes.append(Route(f"/{name}{path}", self._endpoint(make, as_json=False)))
            routes.append(Route(f"/{name}.json{path}", self._endpoint(make, as_json=True)))
        routes += [Route("/static/{name}", _static), Route("/robots.txt", _robots)]
        starlette = Starlette(routes=routes, exception_handlers={HTTPException: self._no_page})
        return hardened(starlette)

    def _endpoint(self, make: Maker, *, as_json: bool) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                with self._use() as registry:
                    page = make(Visit(registry, request.path_params, request.query_params.multi_items(), as_json))
                if as_json:
                    data = page.report.to_dict()
                    tagged = _json({name: value for name, value in data.items() if name != "took_ms"})
                    return _with_tag(request, _json(data), "application/json", page.status, tagged=tagged)
                return self._html(request, page.template, {**page.facts, "report": page.report}, page.status)
            except RyeError as error:
                return self._failed(request, error, as_json=as_json)
            except Exception as error:  # noqa: BLE001 - what went wrong stands in the log alone
                _LOG.error("the page %s failed", request.url.path, exc_info=error)
                fault = RyeError("internal", f"unexpected {type(error).__name__}", hint=_INTERNAL)
                return self._failed(request, fault, as_json=as_json)

        return answer

    def _html(self, request: Request, template: str, facts: Mapping[str, Any], status: int = 200) -> Response:
        text = self._templates.get_template(template).render(
            facts, path=request.url.path, pairs=request.query_params.multi_items()
        )
        return _with_tag(request, text.encode("utf-8", "replace"), "text/html; charset=utf-8", status)

    def _failed(self, request: Request, error: RyeError, *, as_json: bool) -> Response:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
        if as_json:
            return Response(_json({"error": error.to_dict()}), status, media_type="application/json")
        return self._html(request, "error.html", {"error": error, "status": status}, status)

    def _no_page(self, request: Request, error: Exception) -> Response:
        """Return the error page for an unknown address or a method that is not allowed."""
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            message, hint = "pages can only be read: GET or HEAD", "change items and trust with the rye command"
        else:
            message, hint = f"there is no page {request.url.path}", "search for it above, or start from the first page"
        fault = RyeError("no-page", message, hint=hint)
        answer = self._html(request, "error.html", {"error": fault, "status": error.status_code}, error.status_code)
        answer.headers.update(error.headers or {})
        return answer


def _with_tag(request: Request, body: bytes, media_type: str, status: int, *, tagged: bytes | None = None) -> Response:
    """Return an answer with an entity tag, made of ``tagged`` if given."""
    tag = f'W/"{hashlib.sha256(body if tagged is None else tagged).hexdigest()[:20]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if status == 200 and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, media_type)


def _json(data: dict[str, Any]) -> bytes:
    return verbatim_json(json.dumps(data, ensure_ascii=False, default=str)).encode("utf-8", "replace")


@cache
def _file(name: str) -> tuple[bytes, str]:
    """Return a static file and its digest."""
    data = (_HERE / "static" / name).read_bytes()
    return data, hashlib.sha256(data).hexdigest()[:12]


def static_address(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    return f"{ROOT.get()}/static/{name}?{_file(name)[1]}"


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    data, digest = _file(name)
    is_named = request.url.query == digest
    headers = {"cache-control": _FOREVER if is_named else "no-cache", "etag": f'"{digest}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=_STATIC[name])


def _robots(_request: Request) -> Response:
    return Response("User-agent: *\nDisallow: /\n", media_type="text/plain")


def _safe(value: Any) -> Any:
    """Return a value for a template with every control and invisible character escaped."""
    return block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _sentence(text: str, end: str = ".") -> str:
    """Return a message as a sentence with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!", "…")) else end)


def _environment() -> Environment:
    loader = FileSystemLoader(_HERE / "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "address_of": item_address,
        "address_of_hit": hit_address,
        "by_ref": lambda items: {item.ref: item for item in items},
        "changed": changed,
        "commands": overview_page.commands_of,
        "lifecycle_label": lifecycle_label,
        "marked": marked,
        "nav": [(name, label) for name, label in NAVIGATION if name in PAGES],
        "plural": plural,
        "root": ROOT.get,
        "sentence": _sentence,
        "size": size,
        "source_name": source_name,
        "static": static_address,
        "view_of": lambda hit: view_of(hit.to_dict()),
        "version": installed_version(),
    }
    environment.globals["parts"] = environment.get_template("parts.html").module
    return environment
