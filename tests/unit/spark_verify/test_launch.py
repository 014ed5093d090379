"""What a Spark session keeps off the terminal, and what it tells executors on other machines."""

import logging
from pathlib import Path

import pytest

from compose.host.java import Java
from spark_verify.session.launch import SessionOptions, environment, is_not_py4j, settings


@pytest.mark.parametrize(
    ("module", "shown"),
    [("/lib/site-packages/py4j/java_gateway.py", []), ("/lib/site-packages/docker/api.py", ["broken"])],
)
def test_what_py4j_writes_to_the_root_logger_is_not_shown(
    module: str, shown: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    root = logging.getLogger()
    root.addFilter(is_not_py4j)
    try:
        exec(compile("import logging; logging.error('broken')", module, "exec"), {})
    finally:
        root.removeFilter(is_not_py4j)
    assert [record.message for record in caplog.records] == shown


def test_executors_of_a_cluster_are_sent_no_path_of_the_driver(monkeypatch):
    """But in settings that are the driver's own."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    options, java, folder = SessionOptions(master="spark://m:7077"), Java(home=Path("/java")), Path("/mine/x")
    named = {name for name, value in settings(options, java, folder).items() if str(folder) in value}
    assert named == {"spark.driver.extraJavaOptions", "spark.sql.warehouse.dir"}
    assert environment(options, java, Path("/spark"), folder)["PYSPARK_PYTHON"] == "python3"
    local = settings(SessionOptions(master="local[2]"), java, folder)
    assert local["spark.local.dir"] == str(folder)
