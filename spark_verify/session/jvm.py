"""Starts and ends the JVM of a Spark driver, without Spark's shell scripts.

The scripts start a second JVM to build the command line (0.4 s), insist on a module that small Java
runtimes lack, and leave the waiting to pyspark, which has no deadline. The command here is theirs
(org.apache.spark.launcher, Spark 4.3).
"""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compose.host.java import Java
from compose.host.shell import BEHIND_OTHERS
from spark_verify.errors import SessionFailed

LOG_NAME = "spark.log"
_START_WITHIN_S = 120.0

_OPENED = (
    *(
        f"java.base/java.{name}"
        for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")
    ),
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""JavaModuleOptions of Spark 4.3."""
_VECTOR_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """A running driver JVM. It ends when its standard input does, so it cannot outlive this process."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    folder: Path
    """Where its files and its output are."""

    def end(self, timeout_s: float = 120.0) -> None:
        """Ask it to exit, and kill it if it does not."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_jvm(
    java: Java,
    spark_home: Path,
    folder: Path,
    *,
    classpath: Sequence[str],
    memory: str,
    java_options: Sequence[str],
    settings: Mapping[str, str],
    environment: Mapping[str, str],
) -> Jvm:
    """Start a driver JVM whose output goes to `folder`/spark.log; raises SessionFailed."""
    greeting = folder / "gateway"
    command = [
        *BEHIND_OTHERS,
        str(java.executable),
        *("-cp", ":".join([*classpath, f"{spark_home / 'jars'}/*"]), f"-Xmx{memory}"),
        *module_options(java),
        *java_options,
        "org.apache.spark.deploy.SparkSubmit",
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "pyspark-shell",
    ]
    with (folder / LOG_NAME).open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=os.environ | environment | {"_PYSPARK_DRIVER_CONN_INFO_PATH": str(greeting)},
            # Ctrl-C in the terminal is the harness's to handle; Spark ends when the harness ends it.
            process_group=0,
        )
    port, secret = _await_greeting(process, greeting, folder)
    return Jvm(process=process, port=port, secret=secret, folder=folder)


def last_lines(folder: Path, count: int = 15) -> str:
    """The end of what the JVM and its workers printed."""
    try:
        lines = (folder / LOG_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return "\n".join(lines[-count:]) or "(it printed nothing)"


def module_options(java: Java) -> tuple[str, ...]:
    """What Spark needs to be allowed in the Java it runs on."""
    vector = (f"--add-modules={_VECTOR_MODULE}",) if java.has_module(_VECTOR_MODULE) else ()
    return (
        "-XX:+IgnoreUnrecognizedVMOptions",
        *vector,
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED",
    )


def _await_greeting(process: subprocess.Popen[bytes], greeting: Path, folder: Path) -> tuple[int, str]:
    """The port and the secret of the gateway: a big-endian int32, then a string behind its int32 length."""
    deadline = time.monotonic() + _START_WITHIN_S
    while not greeting.exists():
        code = process.poll()
        if code is None and time.monotonic() < deadline:
            time.sleep(0.02)
            continue
        if code is None:
            process.kill()
            process.wait()
        late = f"did not open its gateway within {_START_WITHIN_S:.0f} s"
        what = late if code is None else f"exited with {code}"
        raise SessionFailed(f"Spark's JVM {what}. Its last lines:\n{last_lines(folder)}")
    content = greeting.read_bytes()
    greeting.unlink()
    return int.from_bytes(content[:4]), content[8 : 8 + int.from_bytes(content[4:8])].decode()
