"""Servers that are asked for as long as there is time: their memory and open files level off, and no answer is late."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import quote

from tests.campaign.trial import TOOL, Finding, Trial

ASKED = 300
"""Requests of a trial."""

WARM = 3
"""Trials after which a server holds what it keeps."""

GROWTH = 24 << 20
"""Bytes of resident memory that a server may gain after that."""

WORDS = ("deploy", "all about invoice", "bakcup", '"how to"', "type:tool s*", "greeting OR rollback", "a AND (", "日本")


class Soaked:
    """Trials of one server that stays up; each changes a file and asks many questions.

    Args:
        folder: Where the project is laid.
        chance: Decides what is asked.
        web: ``rye serve``, instead of ``rye mcp``.
    """

    def __init__(self, folder: Path, chance: random.Random, *, web: bool) -> None:
        self._chance, self._web = chance, web
        self._trial = Trial(folder / "template").lay()
        self._log = (folder / "log").open("w+", encoding="utf-8")
        command = [sys.executable, "-m", "rye", *(("serve", "--port", "0") if web else ("mcp",))]
        env = self._trial.environment() | {"PYTHONUNBUFFERED": "1"}
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log}
        self._server = subprocess.Popen(command, cwd=self._trial.project, env=env, text=True, **streams)
        self._number = self._port = 0
        self._sizes: list[tuple[int, int]] = []
        self.counts: Counter[str] = Counter()
        if web:
            self._port = self._listening()
        else:
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            self._call("initialize", about)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def trial(self) -> None:
        """Change a file, ask many questions, and weigh the server."""
        self._trial.write("tools/demo/fresh.py", TOOL.format(word=f"number {self._number}"))
        took = []
        for _ in range(ASKED):
            began = time.perf_counter()
            self._ask()
            took.append((time.perf_counter() - began) * 1e3)
        self.counts["requests"] += ASKED
        late = quantiles(took, n=100)
        self.counts["ms, greatest p99"] = max(self.counts["ms, greatest p99"], round(late[98]))
        self._sizes.append(self._weigh())
        memory, files = self._sizes[-1]
        self.counts["MB resident"], self.counts["open files"] = memory >> 20, files
        if len(self._sizes) > WARM:
            warm, few = self._sizes[WARM - 1]
            if memory > warm + GROWTH or files > few + 4:
                message = f"{memory >> 20} MB and {files} open files, {warm >> 20} MB and {few} when warm"
                raise Finding(message)
        self._log.flush()
        if "Traceback" in (said := Path(self._log.name).read_text(encoding="utf-8", errors="replace")):
            raise Finding(said[-2000:])

    def _weigh(self) -> tuple[int, int]:
        folder = Path("/proc", str(self._server.pid))
        pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), len(list((folder / "fd").iterdir()))

    def _ask(self) -> None:
        words = self._chance.choice(WORDS)
        if self._web:
            self._get(
                self._chance.choice((f"/?q={quote(words)}", "/overview", "/trust", f"/search.json?q={quote(words)}"))
            )
            return
        tool, given = self._chance.choice(
            (("rye_search", {"query": words}), ("rye_load", {"item": "demo/deploy"}), ("rye_search", {"query": 7}))
        )
        self._call("tools/call", {"name": tool, "arguments": given})

    def _get(self, address: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", address)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
        if response.status >= 500:
            message = f"{address} gives {response.status}"
            raise Finding(message)

    def _listening(self) -> int:
        for _ in range(600):
            self._log.flush()
            if found := re.search(r"serves http://\S+?:(\d+)/", Path(self._log.name).read_text(encoding="utf-8")):
                return int(found[1])
            time.sleep(0.05)
        message = "rye serve does not start"
        raise Finding(message)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()

    def _call(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdout
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": given})
        for line in self._server.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        message = f"rye mcp ended with {self._server.wait()}"
        raise Finding(message)

    def close(self) -> None:
        """End the server."""
        self._server.kill()
        self._server.wait()
        self._log.close()
