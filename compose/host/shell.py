"""The one module that runs commands on the machine.

A command is a list of words, never a shell line. It has a deadline, and it cannot wait for input.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from compose.errors import CommandFailed
from compose.host.progress import OnLine

TAIL_LINES = 15
HEARTBEAT_S = 15
BEHIND_OTHERS = ("nice", "-n", "10")
"""Before a command that works beside a cluster and must not take its processors, or those of the load and the
final read. Where the engine puts all containers below one control group, they weigh together as much as one
process of the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A command that ended: its exit code, and both outputs as text."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether the command ended with exit code 0."""
        return self.code == 0


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    check: bool = True,
) -> Completed:
    """Run `argv` to its end. `env` is added to the environment.

    Raises CommandFailed if it is not found or runs out of time, and, with `check`, if it ends with an error.
    """
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=os.environ | (env or {}),
            cwd=cwd,
            check=False,
        )
    except OSError as error:
        raise CommandFailed(f"{argv[0]}: could not be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{' '.join(argv)}: not finished after {timeout_s:g} s") from error
    completed = Completed(argv=tuple(argv), code=done.returncode, stdout=done.stdout, stderr=done.stderr)
    if check and not completed.ok:
        raise CommandFailed(failure(completed))
    return completed


class Running:
    """A command that goes on beside this program, in a session of its own: Ctrl-C is not for it.

    It gets nothing on its stdin, which ends with this program, however that ends.
    """

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        """Start it. `env` is added to the environment. Raises CommandFailed if it cannot be."""
        self._argv = tuple(argv)
        self._process = _begun(argv, env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        # Held here, as `communicate` would close it at once.
        self._stdin, self._process.stdin = self._process.stdin, None

    def wait(self) -> Completed:
        """Wait until it has ended."""
        stdout, stderr = self._process.communicate()
        assert self._stdin is not None
        self._stdin.close()
        return Completed(argv=self._argv, code=self._process.returncode, stdout=stdout, stderr=stderr)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


class Answering:
    """A command that answers each line with one line, in a session of its own: Ctrl-C is not for it.

    Its stdin ends with this program.
    """

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        """Start it. `env` is added to the environment. Raises CommandFailed if it cannot be."""
        self._argv = tuple(argv)
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by `kill`
        try:
            self._process = _begun(argv, env, stdin=subprocess.PIPE, stderr=self._errors)
        except CommandFailed:
            self._errors.close()
            raise

    def ask(self, line: str) -> None:
        """Send a line; that it has ended shows when it should answer."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def has_answered(self, *, within_s: float) -> bool:
        """Whether there is a line, or it has ended, in so many seconds at most. At most one is asked for."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], within_s)[0])

    def answer(self) -> str:
        """Wait for its next line. CommandFailed if it has ended instead."""
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return line
        code = self._process.wait()
        self._errors.seek(0)
        errors = self._errors.read()
        raise CommandFailed(failure(Completed(argv=self._argv, code=code, stdout="", stderr=errors)))

    def kill(self) -> None:
        """End it at once; a second call does nothing."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):
                pipe.close()


def _begun(
    argv: Sequence[str], env: Mapping[str, str] | None, *, stdin: int, stderr: int | IO[str]
) -> "subprocess.Popen[str]":
    """A process that goes on, in a session of its own; its stdout is a pipe."""
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            start_new_session=True,
            env=os.environ | (env or {}),
        )
    except OSError as error:
        raise CommandFailed(f"{argv[0]}: could not be run: {error.strerror}") from error


def own_modules() -> Mapping[str, str]:
    """For the environment of a program of this interpreter: it finds the modules that this one finds."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def failure(done: Completed) -> str:
    """Which command failed, how, and its last lines."""
    lines = (done.stdout + done.stderr).strip().splitlines()[-TAIL_LINES:]
    shown = "\n".join(f"    {line}" for line in lines) or "    (no output)"
    return f"{' '.join(done.argv)}: exit code {done.code}\n{shown}"


def run_logged(
    argv: Sequence[str],
    *,
    timeout_s: float,
    on_line: OnLine,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a long command to its end, report its last line every HEARTBEAT_S, and return its whole output.

    The output goes to a file, not a pipe: a daemon that a package starts may keep it open and not hold us up.
    Raises CommandFailed.
    """
    with tempfile.NamedTemporaryFile(prefix="highwater-", suffix=".log") as log:
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | (env or {}),
                cwd=cwd,
            )
        except OSError as error:
            raise CommandFailed(f"{argv[0]}: could not be run: {error.strerror}") from error
        path = Path(log.name)
        try:
            code = _wait(process, timeout_s, path, on_line)
        except BaseException:
            # Its children too: an interrupted debootstrap would go on in its chroot.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        output = path.read_text(errors="replace")
    done = Completed(argv=tuple(argv), code=code, stdout=output, stderr="")
    if not done.ok:
        raise CommandFailed(failure(done))
    return output


def _wait(process: subprocess.Popen[bytes], timeout_s: float, log: Path, on_line: OnLine) -> int:
    begin_s = time.monotonic()
    while True:
        try:
            return process.wait(timeout=HEARTBEAT_S)
        except subprocess.TimeoutExpired:
            waited_s = time.monotonic() - begin_s
            lines = log.read_text(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            if waited_s > timeout_s:
                raise CommandFailed(
                    f"{process.args!r}: not finished after {timeout_s:g} s; last line: {last}"
                ) from None
            on_line(f"  {waited_s:.0f} s" + (f": {last[:90]}" if last else ""))


def spawn_detached(argv: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None) -> int:
    """Start `argv` in a session of its own with its output in `log`, and return its process id.

    It holds none of our files open, so a pipe that reads our output ends when we do.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            close_fds=True,
            cwd="/",
            env=os.environ | (env or {}),
        )
    return process.pid
