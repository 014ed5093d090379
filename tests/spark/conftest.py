"""One Spark session for all tests of this folder: it takes seconds to start."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_verify.session.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on the cores of this machine."""
    with session() as started:
        yield started
