"""Run the tests that need a cluster on three OpenSearch nodes of this machine: ``python -m tests.real_cluster``.

The server is put together from Maven Central, once, in a folder beside the temporary files. That takes ``mvn`` and
Java 17 to 23. The nodes listen on 127.0.0.1 alone, take 512 MB of heap each, and are stopped at the end. Where
``RYE_TEST_CLUSTER`` names a cluster that may be written to, as ``127.0.0.1:9200``, that one is taken instead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

VERSION = "2.19.4"
HOME = Path(tempfile.gettempdir()) / f"rye-opensearch-{VERSION}"
NODES = (1, 2, 3)
HTTP, TRANSPORT = 19_240, 19_340
"""The ports of node n are n above these."""

WAIT = 90
"""Seconds until all nodes are there."""

TESTS = [f"tests/weekly/test_cluster_{name}.py" for name in ("equality", "publish")]

_SERVER = [
    f"org.opensearch:opensearch:{VERSION}",
    "org.opensearch:opensearch-plugin-classloader:2.19.1",
    "org.apache.logging.log4j:log4j-core:2.21.0",
    *(
        f"org.opensearch.plugin:{name}:{VERSION}"
        for name in ("transport-netty4-client", "lang-painless", "analysis-common", "reindex-client")
    ),
]
_LOADER = ['java.lang.RuntimePermission "getClassLoader"']
_MODULES = {
    "transport-netty4": (
        "org.opensearch.transport.Netty4Plugin",
        ["transport-netty4-client-*", "netty-*"],
        [
            'java.io.FilePermission "/proc/sys/net/core/somaxconn", "read"',
            'java.net.SocketPermission "*", "accept,connect"',
            'java.lang.RuntimePermission "*", "setContextClassLoader"',
            'java.util.PropertyPermission "sun.nio.ch.bugLevel", "write"',
            *_LOADER,
        ],
    ),
    "lang-painless": (
        "org.opensearch.painless.PainlessPlugin",
        ["lang-painless-*", "opensearch-scripting-painless-spi-*", "antlr4-*", "asm-*"],
        ['java.lang.RuntimePermission "createClassLoader"', *_LOADER],
    ),
    "analysis-common": ("org.opensearch.analysis.common.CommonAnalysisPlugin", ["analysis-common-*"], []),
    "reindex": (
        "org.opensearch.index.reindex.ReindexPlugin",
        ["reindex-client-*", "opensearch-rest-client-*", "opensearch-ssl-config-*", "http*", "commons-*"],
        ['java.net.SocketPermission "*", "connect"', 'java.net.NetPermission "getProxySelector"'],
    ),
}
"""Of each module its class, its files, and what it may do: the files on Maven Central say neither."""

_JAVA = [
    "-Xms512m",
    "-Xmx512m",
    "-XX:+UseG1GC",
    "-Djava.security.manager=allow",
    "-Dlog4j2.disable.jmx=true",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.allocator.numDirectArenas=0",
    "-Dopensearch.distribution.type=tar",
    "-Dopensearch.bundled_jdk=false",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
]


def lay_out(home: Path) -> None:
    """Fetch the server and put its files where it looks for them."""
    rows = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
            *one.split(":")
        )
        for one in _SERVER
    )
    pom = "<project><modelVersion>4.0.0</modelVersion><groupId>r</groupId><artifactId>r</artifactId>"
    lib = home / "lib"
    lib.mkdir(parents=True)
    for name in ("bin", "plugins", "extensions"):
        (home / name).mkdir()
    (home / "pom.xml").write_text(f"{pom}<version>1</version><dependencies>{rows}</dependencies></project>")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run(["mvn", "-B", "-q", "-f", home / "pom.xml", goal, f"-DoutputDirectory={lib}"], check=True)
    for name, (kind, files, grants) in _MODULES.items():
        folder = home / "modules" / name
        folder.mkdir(parents=True)
        for pattern in files:
            for file in lib.glob(pattern):
                file.rename(folder / file.name)
        lines = {"name": name, "description": name, "version": VERSION, "opensearch.version": VERSION}
        lines |= {"java.version": "11", "classname": kind, "custom.foldername": "", "has.native.controller": "false"}
        lines["extended.plugins"] = "lang-painless" if name == "analysis-common" else ""
        descriptor = "".join(f"{key}={value}\n" for key, value in lines.items())
        (folder / "plugin-descriptor.properties").write_text(descriptor)
        allowed = "".join(f"  permission {grant};\n" for grant in grants)
        (folder / "plugin-security.policy").write_text(f"grant {{\n{allowed}}};\n")


def start(home: Path, folder: Path, number: int) -> subprocess.Popen[bytes]:
    """Start one node, with its data in a folder."""
    for name in ("config", "data", "logs", "tmp"):
        (folder / name).mkdir(parents=True)
    settings = {
        "cluster.name": "rye-tests",
        "node.name": f"n{number}",
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        "network.host": "127.0.0.1",
        "http.port": HTTP + number,
        "transport.port": TRANSPORT + number,
        "discovery.seed_hosts": [f"127.0.0.1:{TRANSPORT + one}" for one in NODES],
        "cluster.initial_cluster_manager_nodes": [f"n{one}" for one in NODES],
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "indices.query.bool.max_clause_count": 16_384,
    }
    (folder / "config" / "opensearch.yml").write_text(json.dumps(settings))  # JSON is YAML
    (folder / "config" / "log4j2.properties").write_text("rootLogger.level = off\n")
    places = {"opensearch.path.home": home, "opensearch.path.conf": folder / "config", "java.io.tmpdir": folder / "tmp"}
    options = [f"-D{key}={value}" for key, value in places.items()]
    command = ["java", *_JAVA, *options, "-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch", "-q"]
    if os.geteuid() == 0:  # it refuses to run as root
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, "nobody")
        command = ["setpriv", "--reuid=nobody", "--clear-groups", *command]
    said = (folder.parent / f"n{number}.txt").open("wb")
    environment = {**os.environ, "OPENSEARCH_TMPDIR": str(folder / "tmp")}
    with said:
        return subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, env=environment)


@contextmanager
def running(home: Path) -> Iterator[str]:
    """Run three nodes; yield host and port of the first."""
    if not home.exists():
        making = home.with_suffix(".new")
        shutil.rmtree(making, ignore_errors=True)
        lay_out(making)
        making.rename(home)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rye-nodes-")))
        folder.chmod(0o755)
        processes = list[subprocess.Popen[bytes]]()
        stack.callback(stop, processes)
        processes += (start(home, folder / f"n{number}", number) for number in NODES)
        wait_for(f"http://127.0.0.1:{HTTP + 1}/_cluster/health?wait_for_nodes=3&wait_for_status=green", folder)
        yield f"127.0.0.1:{HTTP + 1}"


def stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Stop the nodes."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(WAIT)
        except subprocess.TimeoutExpired:
            process.kill()


def wait_for(address: str, folder: Path) -> None:
    """Wait until the nodes have found each other."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        try:
            with urlopen(address, timeout=WAIT) as answer:  # noqa: S310 - it is this machine
                if not json.load(answer)["timed_out"]:
                    return
        except (URLError, OSError):
            time.sleep(0.5)
    said = "\n".join(file.read_text(errors="replace")[:4_000] for file in sorted(folder.glob("*.txt")))
    sys.exit(f"the nodes did not start within {WAIT} seconds\n{said}")


def main(arguments: Sequence[str]) -> int:
    """Run the tests with further options of pytest, and return its exit code."""
    given = os.environ.get("RYE_TEST_CLUSTER")
    with nullcontext(given) if given else running(HOME) as address:
        command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *TESTS, *arguments]
        return subprocess.run(command, env={**os.environ, "RYE_TEST_CLUSTER": address}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
