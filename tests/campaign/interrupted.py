"""Writing commands that are killed, or whose calls of the system fail, at any call on a file below the trial's folder.

Whatever the moment: every file is the old one or the new one; nothing is signed wrongly; ``rye`` reads all of it, and
says what became of its work; status 0 means that the work is done; and the same command, run again, ends it.
"""

from __future__ import annotations

import errno
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.campaign.trial import Done, Finding, Trial

FAULTS = (errno.EIO, errno.ENOSPC, errno.ESTALE, errno.EACCES)


@dataclass(frozen=True)
class Work:
    """A command that writes.

    Attributes:
        words: Its words.
        prepare: Changes the project before it.
        again: The status of the command when its work is done already.
    """

    words: str
    prepare: Callable[[Trial], None] = lambda _trial: None
    again: int = 0

    @property
    def about_keys(self) -> bool:
        """Whether it changes keys or trust."""
        return self.words.startswith(("keys", "trust"))


def _edit(trial: Trial) -> None:
    for name in ("demo/deploy", "ops/rollback"):
        path = trial.project / ".ai" / "tools" / f"{name}.py"
        path.write_text(path.read_text(encoding="utf-8") + "\nMORE = True\n", encoding="utf-8")


def _add(trial: Trial) -> None:
    trial.write("tools/demo/fresh.py", '"""Say something fresh."""\n')


def _skill(trial: Trial) -> None:
    folder = trial.project / ".claude" / "skills" / "travel"
    folder.mkdir(parents=True)
    text = "---\nname: travel\ndescription: How to travel.\n---\n\n# Travel\n\nPack little.\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")


WORKS = (
    Work("sign --all --yes", _edit),
    Work("sign --all --force --yes"),
    Work("sign tool:demo/* --yes", _add),
    Work("sign .claude/skills/travel", _skill),
    Work("sign list --yes", _add),
    Work("sign list --expires 30 --yes"),
    Work("keys generate third --owner cora", again=2),
    Work("trust add SECOND --yes", again=2),
    Work("trust revoke SECOND --reason lost --yes"),
    Work("import ../foreign/howto.md"),
    Work("new tool demo/another", again=2),
    Work("init --yes", _skill),
    Work("index rebuild"),
    Work("index clear"),
    Work("search deploy", _add),
)


class Undisturbed(NamedTuple):
    """A command that nothing disturbed: the states before and after it, the files then, and its calls of the system."""

    before: dict[str, str]
    after: dict[str, str]
    names: set[str]
    calls: list[str]


class Interrupted:
    """Trials of every command that writes.

    Args:
        folder: Where trials are laid.
        chance: Decides everything.
        kill: SIGKILL, instead of a call that fails.
    """

    def __init__(self, folder: Path, chance: random.Random, *, kill: bool) -> None:
        self._folder, self._chance, self._kill = folder, chance, kill
        self._layer = folder / "faults.so"
        source = Path(__file__).with_name("faults.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self._layer, source, "-ldl"], check=True)
        self._template = Trial(folder / "template").lay()
        self._known: dict[Work, Undisturbed] = {}
        self.counts: Counter[str] = Counter()

    def close(self) -> None:
        """Nothing was started."""

    def trial(self) -> None:
        """Run one command with one fault, look, and run it again."""
        work = self._chance.choice(WORKS)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            trial = self._fresh(work, Path(folder))
            files = trial.files()
            known = self._undisturbed(work)
            at = self._chance.randrange(len(known.calls)) + 1
            env, what = self._fault(at), f"call {at} ({known.calls[at - 1]}) of rye {work.words}"
            done = trial.run(*work.words.split(), env=self._layered(trial) | env)
            try:
                self._look(trial, work, done, files)
            except Finding as finding:
                message = f"{what}, {env}: {finding}"
                raise Finding(message) from finding

    def _look(self, trial: Trial, work: Work, done: Done, files: dict[str, bytes]) -> None:
        before, after, names, _ = self._undisturbed(work)
        if done.status == -9:
            self.counts["killed"] += 1
        else:
            done.explained()
            self.counts[f"status {done.status}"] += 1
        held = trial.files()
        for name, data in files.items():
            if "rye.list" not in name and held.get(name) != data and name in names:
                self._changed(name, data, held.get(name))
        state = trial.state(keys=work.about_keys)
        if done.status == 0 and state != after:
            message = f"ended with status 0, but {_differences(after, state)}: {done.out}{done.err}"
            raise Finding(message)
        halves = [name for name, value in state.items() if value not in (before.get(name), after.get(name))]
        halves += [name for name in before if name not in state and name in after]
        if halves:
            message = f"left neither the old nor the new: {[(name, state.get(name)) for name in halves]}"
            raise Finding(message)
        again = trial.run(*work.words.split()).explained()
        if again.status not in {0, work.again}:
            message = f"run again, it ends with {again.status}: {again.err}"
            raise Finding(message)
        if (ended := trial.state(keys=work.about_keys)) != after:
            message = f"run again, {_differences(after, ended)}: {again.err}"
            raise Finding(message)
        left = {name for name in trial.files() if name not in names} - set(files)
        if left:
            self.counts["left something"] += 1
            for name in left:
                place = trial.folder / name
                if b"PRIVATE KEY" in place.read_bytes() and place.stat().st_mode & 0o077:
                    message = f"left {name}, a key that others can read"
                    raise Finding(message)

    def _changed(self, name: str, old: bytes, new: bytes | None) -> None:
        """A file that the command does not write anew has changed: items are compared as what was signed."""
        edited = name.startswith(("project/.ai/tools/", "project/.ai/knowledge/"))
        if new is None or edited:
            message = f"{name} {'is gone' if new is None else 'holds something else'} ({len(old)} bytes before)"
            raise Finding(message)

    def _fresh(self, work: Work, folder: Path) -> Trial:
        trial = self._template.copy(folder / "t")
        work.prepare(trial)
        return trial

    def _undisturbed(self, work: Work) -> Undisturbed:
        """Run a command that nothing disturbs, once."""
        if work not in self._known:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                before = self._fresh(work, Path(folder)).state(keys=work.about_keys)
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                trial, log = self._fresh(work, Path(folder)), Path(folder) / "calls"
                done = trial.run(*work.words.split(), env=self._layered(trial) | {"FAULT_LOG": str(log)})
                assert done.status == 0, (work.words, done)
                calls = log.read_text(encoding="ascii").split()
                self._known[work] = Undisturbed(before, trial.state(keys=work.about_keys), set(trial.files()), calls)
        return self._known[work]

    def _layered(self, trial: Trial) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._layer), "FAULT_BELOW": f"{trial.folder}/"}

    def _fault(self, at: int) -> dict[str, str]:
        if self._kill:
            return {"FAULT_AT": str(at), "FAULT_DO": "kill"}
        do = self._chance.choice([*map(str, FAULTS), "short"])
        stays = {"FAULT_STAYS": "1"} if do == str(errno.ENOSPC) else {}
        return {"FAULT_AT": str(at), "FAULT_DO": do} | stays


def _differences(wanted: dict[str, str], found: dict[str, str]) -> str:
    names = [name for name in sorted({*wanted, *found}) if wanted.get(name) != found.get(name)]
    return "; ".join(f"{name} is {found.get(name)}, not {wanted.get(name)}" for name in names)
