"""SSH keys that sign: ``ssh-keygen`` signs with a file, an agent or a token; rye never reads the private key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rye._process import find_program, run_program
from rye.errors import EnvironmentFault, NotFoundError, SigningError
from rye.keyring.key_files import Key
from rye.trust.keys import SSH_NAMESPACE, PublicKey, SigningKey
from rye.trust.ssh import read_ssh_key, read_ssh_signature
from rye.trust.trust_store import read_trust_bytes

SSH_PREFIX: Final = "ssh:"
"""Prefix of an SSH key's path in the name of a key."""

SSH_KEY: Final = "~/.ssh/id_ed25519"
"""The default SSH key."""


class SshPrivateKey:
    """The private half of an SSH key.

    Args:
        path: The file of the public key; the private one lies next to it unless an agent has it.
        public: The public key.
    """

    def __init__(self, path: Path, public: PublicKey) -> None:
        self._path = path
        self._public = public

    def sign(self, data: bytes) -> bytes:
        """Return the 64 bytes of a signature in rye's namespace.

        Raises:
            EnvironmentFault: ``no-ssh``: there is no ``ssh-keygen``.
            SigningError: ``ssh-failed``: ``ssh-keygen`` does not sign.
        """
        program = find_program("ssh-keygen")
        if program is None:
            raise EnvironmentFault("no-ssh", "there is no ssh-keygen on PATH", hint="install OpenSSH")
        words = [program, "-Y", "sign", "-n", SSH_NAMESPACE, "-f", str(self._path)]
        status, output, problem = run_program(words, data)
        if status:
            text = problem.decode("utf-8", "replace").strip().splitlines()
            said = "".join(ch if ch.isprintable() else "?" for ch in text[-1]) if text else f"exit status {status}"
            hint = "unlock the key, or add it to your agent: ssh-add"
            raise SigningError("ssh-failed", f"ssh-keygen does not sign: {said}", hint=hint)
        signature = read_ssh_signature(output)
        if not self._public.verify(signature, data):
            raise SigningError("ssh-failed", "the signature of ssh-keygen does not verify", hint="check the key")
        return signature


def ssh_key(name: str) -> Key:
    """Return an SSH key that signs.

    Args:
        name: :data:`SSH_PREFIX` and the path of the private or the public key; without a path, :data:`SSH_KEY`.

    Raises:
        NotFoundError: ``no-signing-key``.
        SigningError: ``key-unreadable``.
    """
    path = Path(os.path.expanduser(name.removeprefix(SSH_PREFIX) or SSH_KEY)).absolute()
    path = path if path.suffix == ".pub" else path.with_name(f"{path.name}.pub")
    if not path.is_file():
        hint = "make one with ssh-keygen -t ed25519, or name its file"
        raise NotFoundError("no-signing-key", f"there is no SSH public key {path}", hint=hint)
    public, _ = read_ssh_key(read_trust_bytes(path).decode("utf-8", "replace"))
    return Key(public, path, SigningKey(SshPrivateKey(path, public), public))
