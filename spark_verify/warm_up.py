"""Makes a session that has just started as quick as one that has judged a run already.

The first verdict of a session costs some 2 s more than later ones: Python workers are started and import
their modules, compiled kernels are loaded, and the JVM interprets what it will have compiled later. So a
session judges a small history of no importance while the cluster is still needed for other things.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from spark_verify.session.session import warm
from spark_verify.synthetic import Shape, write_history
from spark_verify.verify import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = Shape(sends=4_000)


def warm_up(spark: "SparkSession") -> None:
    """Start the workers, and judge a small history; from any thread, when the end of the run is near.

    Spark ends workers that were idle for a minute. Raises what a verification raises.
    """
    warm(spark)
    with tempfile.TemporaryDirectory(prefix="highwater-warm-up-") as folder:
        history = Path(folder) / "history"
        write_history(history, SMALL)
        verify(history, spark)
