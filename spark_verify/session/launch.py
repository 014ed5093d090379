"""How a Spark JVM is launched and ended: settings, environment, and what must not leak out of it.

Measured on 2 cores (Spark 4.3, Java 17): a session starts in 4.2 s, with a class archive (class_archive.py)
in 2.4 s. Only C1 and the serial collector, as such a JVM lives for seconds; Unix sockets to the Python
workers, as each task waited 20 ms for TCP's delayed acknowledgements.
"""

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compose.host.java import Java, find_java
from spark_verify.session import shipping
from spark_verify.session.class_archive import archive_options
from spark_verify.session.jvm import Jvm, start_jvm

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SOCKET_FOLDER_BYTES = 108 - len("/.") - 36 - len(".sock") - 1
"""Spark names a socket after a UUID."""
_SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LOGGING = Path(__file__).parent / "log4j2.properties"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """How Spark is to be started. The defaults fit one machine and a history of some 50M sends."""

    master: str = "local[*]"
    driver_memory: str = "1g"
    java: Java | None = None
    """None: the one that `find_java` finds."""
    java_options: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """More Spark settings; they win over ours."""

    @property
    def is_local(self) -> bool:
        """Whether all executors are processes of this machine that this session starts.

        Those of a cluster may be anywhere: they get no path of this machine, and their Python by its name.
        """
        return self.master.startswith("local")


def launch(options: SessionOptions, folder: Path) -> "SparkSession":
    """Start a JVM and a session whose files and output all are in `folder`. Raises what pyspark raises."""
    import pyspark
    from pyspark.sql import SparkSession

    logging.getLogger().addFilter(is_not_py4j)
    java = options.java or find_java()
    installed = spark_home = Path(pyspark.__file__).parent
    if options.master.startswith("local-cluster"):
        spark_home = _mirror(installed, folder / "spark")
    ours = settings(options, java, folder)
    jvm = start_jvm(
        java,
        installed,  # the class archive is of these jars
        folder,
        classpath=() if options.is_local else _configuration_folders(),
        memory=options.driver_memory,
        java_options=ours["spark.driver.extraJavaOptions"].split(),
        settings=ours,
        environment=environment(options, java, spark_home, folder),
    )
    try:
        context = _connect(jvm, ours, options)
        context.setLogLevel("ERROR")
        context.addPyFile(str(shipping.pack(folder)))
        session = SparkSession(context)
        # A start leaves half of the heap full of what nobody needs. Collected now, an idle session stays as
        # large as it is; else it grows until it collects, an hour later, and is 28 MiB larger from then on.
        _gateway().jvm.System.gc()
        return session
    except BaseException:
        _forget_gateway()
        jvm.end()
        raise


def is_not_py4j(record: logging.LogRecord) -> bool:
    """Whether somebody else than py4j logs: of a JVM that died it writes a traceback to the root logger, and
    so to the terminal, beside the error that it raises."""
    return "py4j" not in Path(record.pathname).parts


def stop(spark: "SparkSession") -> None:
    """End the session, its JVM and workers, and remove its temporary directory; a JVM that died is no
    error."""
    jvm: Jvm = _gateway().highwater_jvm
    with suppress(Exception):  # whatever py4j raises when the JVM is gone
        spark.stop()
    _forget_gateway()
    jvm.end()
    shutil.rmtree(jvm.folder, ignore_errors=True)


def _connect(jvm: Jvm, ours: Mapping[str, str], options: SessionOptions) -> "SparkContext":
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    address = {"PYSPARK_GATEWAY_PORT": str(jvm.port), "PYSPARK_GATEWAY_SECRET": jvm.secret}
    with _environment(address | {"PYSPARK_PYTHON": _interpreter(options)}):
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
        gateway.highwater_jvm = jvm
        conf = SparkConf(_jvm=gateway.jvm).setAll(list(ours.items()))
        return SparkContext(conf=conf, gateway=gateway)


def _short(folder: Path) -> str:
    """A folder for sockets, whose paths Linux limits to 108 bytes."""
    return str(folder) if len(os.fsencode(folder)) <= _SOCKET_FOLDER_BYTES else "/tmp"


def _mirror(spark_home: Path, mirror: Path) -> Path:
    """The same Spark under another path: the executors of a local cluster write to `work` in Spark's home."""
    mirror.mkdir()
    for entry in spark_home.iterdir():
        (mirror / entry.name).symlink_to(entry)
    return mirror


def _forget_gateway() -> None:
    """Spark would keep the JVM for the next session of this process, but its file for output is about
    to go."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = _gateway()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    if gateway:
        gateway.shutdown()


def _gateway() -> Any:  # noqa: ANN401 - untyped in pyspark, with our Jvm as one more attribute
    from pyspark import SparkContext

    return SparkContext._gateway


def _interpreter(options: SessionOptions) -> str:
    return sys.executable if options.is_local else os.environ.get("PYSPARK_PYTHON", "python3")


def _configuration_folders() -> tuple[str, ...]:
    """Where a user keeps what leads to his cluster; Spark wants it in the class path."""
    names = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
    return tuple(os.environ[name] for name in names if os.environ.get(name))


def settings(options: SessionOptions, java: Java, folder: Path) -> dict[str, str]:
    """Every Spark setting of a session."""
    java_options = (
        *_SHORT_LIVED,
        "-XX:-UsePerfData",
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        f"-Djava.io.tmpdir={folder}",
        *archive_options(java),
        *options.java_options,
    )
    ours = {
        "spark.master": options.master,
        "spark.app.name": "highwater",
        "spark.driver.memory": options.driver_memory,
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        # A driver collects its garbage each half an hour; an idle one is 28 MiB larger by it (286, then 314).
        "spark.cleaner.periodicGC.interval": "1d",
    }
    if options.is_local:
        ours |= {
            "spark.local.dir": str(folder),
            "spark.python.unix.domain.socket.dir": _short(folder),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.extraJavaOptions": " ".join((*_SHORT_LIVED, f"-Djava.io.tmpdir={folder}")),
        }
    return ours | dict(options.settings)


def environment(options: SessionOptions, java: Java, spark_home: Path, folder: Path) -> dict[str, str]:
    """What the JVM and its children must find in the environment, whatever the user has there."""
    ours = {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": _interpreter(options),
        "SPARK_CONNECT_MODE": "0",
    }
    if options.is_local:
        ours |= {
            "SPARK_CONF_DIR": str(folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_HOSTNAME": "localhost",
            "SPARK_SCALA_VERSION": "2.13",
        }
    else:  # as a setting it would be sent to the executors
        ours["SPARK_LOCAL_DIRS"] = str(folder)
    return ours


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
