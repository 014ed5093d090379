"""Which value a topic's setting had at an offset of the metadata log."""

from fakes.history.control_plane import setting

from checkers.history.metadata_log.settings import Settings

KEY = "min.insync.replicas"


def value(*rows, at=50):
    """min.insync.replicas of orders after offset `at`."""
    return Settings(rows).min_isr("orders", at)


def reported(text):
    return setting(KEY, text, kind="reported")


def cluster(text, offset=-1, *, removed=False):
    return setting(KEY, text, offset, kind="cluster", name="", removed=removed)


def test_the_topic_outranks_the_cluster_and_the_cluster_the_report():
    """As in Kafka: topic, default of all brokers, server.properties."""
    assert value(reported("1")) == 1
    assert value(reported("1"), cluster("2")) == 2
    assert value(reported("1"), cluster("2"), setting(KEY, "3")) == 3


def test_a_later_record_counts_from_its_offset_on():
    """Not before."""
    rows = (setting(KEY, "1"), setting(KEY, "2", 40))
    assert [value(*rows, at=at) for at in (39, 40, 41)] == [1, 2, 2]


def test_what_was_reported_is_stale_when_a_setting_is_removed():
    """The report was of the setting that is gone; what counts now is in no log."""
    gone = setting(KEY, "", 40, removed=True)
    assert value(reported("2"), setting(KEY, "2"), gone) is None
    assert value(reported("2"), setting(KEY, "2"), gone, cluster("3")) == 3
    assert value(reported("2"), cluster("2"), cluster("", 40, removed=True)) is None


def test_a_setting_of_one_broker_depends_on_who_leads():
    """It is not known, unless the topic has its own."""
    of_broker = setting(KEY, "1", kind="broker", name="1")
    assert value(reported("2"), of_broker) is None
    assert value(reported("2"), of_broker, setting(KEY, "2")) == 2


def test_other_topics_and_settings_do_not_count():
    """Without any row of its own, nothing is known."""
    assert value(setting(KEY, "2", name="audit"), setting("flush.messages", "1")) is None
