"""What a Spark session keeps off the terminal."""

import logging

import pytest

from spark_verify.session.launch import is_not_py4j


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
