"""What DumpLogSegments prints, and which files it is given."""

from compose.kafka.metadata_dump import _extent, _wanted, parse

OUTPUT = """\
Dumping /metadata/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 0 count: 1 producerId: -1 isControl: true position: 0
| offset: 0 CreateTime: 1795264187400 keySize: 4 valueSize: 57 sequence: -1 headerKeys: [] LeaderChange: \
{"version":1,"leaderId":103,"voters":[{"voterId":101}]}
baseOffset: 24 lastOffset: 25 count: 2 producerId: -1 isControl: false position: 90
| offset: 24 CreateTime: 1795264188713 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: \
{"type":"TOPIC_RECORD","version":0,"data":{"name":"orders","topicId":"bzxG"}}
| offset: 25 CreateTime: 1795264188713 keySize: -1 valueSize: 4 sequence: -1 headerKeys: [] payload: \
{"type":"NO_OP_RECORD","version":0,"data":{}}
Found 17 invalid bytes at the end of 00000000000000000000.log
"""


def test_records() -> None:
    """Data records and changes of the leader come out in order; batches and a torn tail do not."""
    assert list(parse(OUTPUT)) == [
        {
            "offset": 0,
            "timestamp_ms": 1795264187400,
            "type": "LEADER_CHANGE",
            "data": {"version": 1, "leaderId": 103, "voters": [{"voterId": 101}]},
        },
        {
            "offset": 24,
            "timestamp_ms": 1795264188713,
            "type": "TOPIC_RECORD",
            "data": {"name": "orders", "topicId": "bzxG"},
        },
        {"offset": 25, "timestamp_ms": 1795264188713, "type": "NO_OP_RECORD", "data": {}},
    ]


def test_a_control_record_of_an_older_tool_says_nothing() -> None:
    """Before 4.2 it prints that there is one, and not which leader it names."""
    _, change, _ = OUTPUT.partition("LeaderChange: ")
    older = OUTPUT.replace(change + OUTPUT.split(change)[1].split("\n")[0], "controlType: LEADER_CHANGE(2)")
    assert "controlType" in older
    assert [record["offset"] for record in parse(older)] == [24, 25]


def test_snapshot() -> None:
    """Offsets within a snapshot are not offsets of the log."""
    snapshot = OUTPUT.replace("00000000000000000000.log", "00000000000000000025-0000000001.checkpoint")
    assert [record["offset"] for record in parse(snapshot + OUTPUT)] == [-1, -1, 0, 24, 25]


def test_extent() -> None:
    """A log reaches further by its last segment's first offset, then by that segment's size."""
    short = {"00000000000000000000.log": 900, "quorum-state": 160}
    longer = {"00000000000000000000.log": 901}
    longest = {"00000000000000000000.log": 10, "00000000000000000100.log": 1}
    assert sorted([longest, short, longer], key=_extent) == [short, longer, longest]


def test_files() -> None:
    """A log from its beginning needs no snapshot; a shortened one the last that it continues."""
    files = {
        "00000000000000000000.log": 1,
        "00000000000000000100.log": 1,
        "00000000000000000000.index": 1,
        "00000000000000000080-0000000001.checkpoint": 1,
        "00000000000000000100-0000000001.checkpoint": 1,
        "00000000000000000150-0000000002.checkpoint": 1,
    }
    logs = ["00000000000000000000.log", "00000000000000000100.log"]
    assert _wanted(files) == logs
    del files[logs[0]]
    assert _wanted(files) == ["00000000000000000100-0000000001.checkpoint", logs[1]]
