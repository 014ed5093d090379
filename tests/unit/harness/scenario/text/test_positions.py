import pytest

from harness.errors import ScenarioError
from harness.scenario.text.positions import Document, load, override

TEXT = """\
name: demo
topics:
  - name: orders
    config: {min.insync.replicas: 2}
workload: {rate: 2000/s, acks: 1}
"""


def demo() -> Document:
    return load(TEXT, "demo.yaml")


def test_each_key_and_each_value_knows_its_place() -> None:
    document = demo()
    assert document.place(("workload", "rate")) == "demo.yaml:5:18"
    assert document.place(("workload", "rate"), of_key=True) == "demo.yaml:5:12"
    assert document.place(("topics", 0, "config", "min.insync.replicas")) == "demo.yaml:4:35"


def test_what_is_put_into_a_document_is_in_no_other_one_of_the_same_text() -> None:
    document = demo()
    override(document, ["topics.0.config.retention.ms=5", "workload.acks=all"])
    assert document.data["workload"] == {"rate": "2000/s", "acks": "all"}
    assert demo().data["topics"] == [{"name": "orders", "config": {"min.insync.replicas": 2}}]
    assert demo().data["workload"] == {"rate": "2000/s", "acks": 1}
    assert demo().place(("workload", "acks")) == "demo.yaml:5:32"


def test_what_was_never_written_is_placed_at_its_nearest_parent() -> None:
    assert demo().place(("workload", "readers")) == "demo.yaml:5:11"
    assert demo().place(("expect",)) == "demo.yaml:1:1"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "x.yaml:1:1: a scenario is a map of keys, found an empty file"),
        ("- a\n", "x.yaml:1:1: a scenario is a map of keys, found a list"),
        ("just words\n", "x.yaml:1:1: a scenario is a map of keys, found the single value 'just words'"),
        (
            "a: 1\na: 2\n",
            'x.yaml:2:1: not YAML: found duplicate key "a" with value "2" (original value: "1")',
        ),
        ("a: [1\nb: 2\n", "x.yaml:2:2: not YAML: expected ',' or ']', but got ':'"),
        ("a: *b\n", "x.yaml:1:4: the alias *b is refused; allowed: the value itself, written out"),
    ],
)
def test_what_is_not_a_map_of_keys_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(text, "x.yaml")
    assert refused.value.complaints == (complaint,)


def test_set_replaces_a_value_and_the_place_of_the_new_one_is_the_command_line() -> None:
    document = demo()
    override(document, ["workload.acks=all", "topics.0.name=payments"])
    assert document.data["workload"]["acks"] == "all"
    assert document.data["topics"][0]["name"] == "payments"
    assert document.place(("workload", "acks")) == "--set workload.acks=all"


def test_set_finds_a_key_that_has_dots_in_it_and_makes_a_new_one_in_a_map_of_kafka_settings() -> None:
    document = demo()
    override(document, ["topics.0.config.min.insync.replicas=1", "topics.0.config.flush.messages=1"])
    assert document.data["topics"][0]["config"] == {"min.insync.replicas": 1, "flush.messages": 1}


def test_set_makes_the_maps_on_the_way_to_a_new_key() -> None:
    document = demo()
    override(document, ["settle.full_isr=10s", "cluster.broker_config.log.flush.interval.ms=5"])
    assert document.data["settle"] == {"full_isr": "10s"}
    assert document.data["cluster"] == {"broker_config": {"log.flush.interval.ms": 5}}


def test_a_map_put_in_place_of_a_value_or_of_nothing_has_the_place_of_the_set() -> None:
    document = demo()
    override(document, ["workload.acks.x=5", "faults.0.for=10s"])
    assert document.place(("workload", "acks")) == "--set workload.acks.x=5"
    assert document.place(("faults",)) == "--set faults.0.for=10s"


def test_a_date_is_text() -> None:
    assert load("about: 2026-01-31", "x.yaml").data == {"about": "2026-01-31"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("? {a: b}\n: 1\n", "x.yaml:1:1: a map or list stands where a key belongs; allowed: a word"),
        ("a:\n  ? [b]\n  : 1\n", "x.yaml:2:3: a map or list stands where a key belongs; allowed: a word"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2:1: not YAML: a second document begins; allowed: one"),
    ],
)
def test_what_is_yaml_and_no_file_of_ours_is_refused_in_words(text: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(text, "x.yaml")
    assert refused.value.complaints == (complaint,)


def test_a_file_that_is_no_scenario_is_called_what_it_is() -> None:
    with pytest.raises(ScenarioError) as refused:
        load("[1]", "x.yaml", what="a suite")
    assert refused.value.complaints == ("x.yaml:1:1: a suite is a map of keys, found a list",)


def test_a_value_put_in_place_of_a_map_forgets_the_places_inside_that_map() -> None:
    document = demo()
    override(document, ["topics=[{name: a}]"])
    assert document.place(("topics", 0, "name")) == "--set topics=[{name: a}]"


@pytest.mark.parametrize(
    ("assignment", "complaint"),
    [
        ("workload.acks", "--set workload.acks: expected key=value, for example --set workload.acks=1"),
        ("=3", "--set =3: expected key=value, for example --set workload.acks=1"),
        ("topics.7.name=a", "--set topics.7.name=a: topics is a list of 1, it has no item '7'"),
        (
            "producer.ssl.key.password=[a",
            "--set producer.ssl.key.password=…: the value is not YAML: expected ',' or ']', but got "
            "'<stream end>'",
        ),
        ("topics.².name=a", "--set topics.².name=a: topics is a list of 1, it has no item '²'"),
        ("topics.٠.name=a", "--set topics.٠.name=a: topics is a list of 1, it has no item '٠'"),
        (
            "name=*",
            "--set name=*: the value is not YAML: expected alphabetic or numeric character, but found "
            "'\\x00'; a text that begins so stands in quotes",
        ),
        ("topics.first=a", "--set topics.first=a: topics is a list of 1, it has no item 'first'"),
        (
            "name=[",
            "--set name=[: the value is not YAML: expected the node content, but found '<stream end>'",
        ),
    ],
)
def test_a_set_that_names_nothing_is_refused(assignment: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        override(demo(), [assignment])
    assert refused.value.complaints == (complaint,)
