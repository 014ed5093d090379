"""A verdict by executors that share nothing with the driver but the history's place."""

import json
from pathlib import Path

from fakes.run.driver import DEADLINE_S, drive

from spark_verify.synthetic import Shape, write_history

ON_EXECUTORS = """
import json, sys
from pathlib import Path
from spark_verify.session.session import SessionOptions, session
from spark_verify.verify import verify


def where(_):
    import os
    from checkers.history import tables
    from spark_verify.passes.partition import scan
    return [(os.getppid(), os.getcwd(), tables.__file__, scan.__file__)]


with session(SessionOptions(master="local-cluster[1,2,1024]")) as spark:
    places = spark.sparkContext.parallelize(range(8), 8).mapPartitions(where).collect()
    judgement = verify(Path(sys.argv[1]), spark)
print(json.dumps({"places": places, "sends": judgement.totals.sends, "anomalies": len(judgement.anomalies)}))
"""


def test_executors_run_the_code_that_was_shipped_to_them(tmp_path):
    """On a cluster of one executor, which works in a directory of its own; of two: `make object-store`."""
    history, folder = tmp_path / "history", tmp_path / "driver"
    write_history(history, Shape(sends=5_000))
    folder.mkdir()
    driver = drive(ON_EXECUTORS, history, folder=folder)
    output, _ = driver.communicate(timeout=DEADLINE_S)
    assert driver.returncode == 0, output
    answer = json.loads(output)
    assert (answer["sends"], answer["anomalies"]) == (5_000, 0)
    for _, directory, *modules in answer["places"]:
        assert Path(directory).is_relative_to(folder)
        for module in modules:
            archive = (Path(directory) / module).parents[2]
            assert archive.suffix == ".zip"
            assert archive.parent == Path(directory)
    assert list(folder.iterdir()) == []
