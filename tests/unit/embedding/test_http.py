"""One request over HTTP has an end, whatever the server does with the bytes."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rye.embedding.http import post

SECONDS = 0.4
HEADERS = b"HTTP/1.1 200 OK\r\n"
Serve = Callable[[socket.socket], None]


@contextmanager
def listening(serve: Serve) -> Iterator[int]:
    """Let one connection be served by a function; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            with suppress(OSError), listener.accept()[0] as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                serve(client)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


def dripping(start: bytes, unit: bytes) -> Serve:
    """Return a server that reads a request, answers something, and then something small again and again."""

    def serve(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(start)
        for _ in range(200):
            client.sendall(unit)
            time.sleep(0.02)

    return serve


def reading_slowly(client: socket.socket) -> None:
    """Take a few bytes of the request at a time."""
    for _ in range(50):
        client.recv(2048)
        time.sleep(0.02)


DRIPS: dict[str, Serve] = {
    "the status": dripping(b"", b"H"),
    "a header": dripping(HEADERS + b"X: ", b"a"),
    "interim answers": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "the body": dripping(HEADERS + b"Content-Length: 1000\r\n\r\n", b" "),
    "chunks": dripping(HEADERS + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "the handshake": dripping(b"\x16\x03\x03\x40\x00", b"\x02"),
    "the request": reading_slowly,
}


@pytest.mark.parametrize("part", DRIPS)
def test_attack_a_byte_now_and_then(part: str) -> None:
    """However the answer trickles, or the request is taken, the whole is over at the deadline."""
    scheme = "https" if part == "the handshake" else "http"
    with listening(DRIPS[part]) as port:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            post(f"{scheme}://127.0.0.1:{port}/", {}, b"x" * (8 << 20), deadline=began + SECONDS, limit=1 << 20)
        assert time.monotonic() - began < SECONDS + 0.5


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return a file with a certificate of ``localhost`` and its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string("CN=localhost")
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = tmp_path / "localhost.pem"
    path.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, form, none))
    return path


@pytest.mark.parametrize("is_known", [True, False])
def test_https_asks_for_a_certificate_that_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    """The answer comes through; of a server that anybody may have set up nothing is read."""

    def serve(client: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with context.wrap_socket(client, server_side=True) as secured:
            assert secured.recv(65536).startswith(b"POST /v1 HTTP/1.1\r\nHost: localhost:")
            secured.sendall(HEADERS + b"Content-Length: 2\r\n\r\n{}")

    if is_known:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with listening(serve) as port:
        url = f"https://localhost:{port}/v1"
        if is_known:
            assert post(url, {}, b"", deadline=time.monotonic() + 5, limit=10) == (200, b"{}")
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                post(url, {}, b"", deadline=time.monotonic() + 5, limit=10)
