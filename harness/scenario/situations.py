"""The situations that the shipped scenarios are about, by number, and where a scenario is a milder form.

The textbook form is what the replication protocol, a KIP or a report of an incident describes. A run has
about a minute and a half, and what it shows must be certain: where the two do not go together, `milder` says
what is left out and why.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Milder:
    """How a scenario differs from the textbook form of its situation."""

    textbook: str
    shipped: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One situation, `number` as in 5b: its variants have letters. `scenarios` are names of the library."""

    number: str
    what: str
    scenarios: tuple[str, ...]
    milder: tuple[Milder, ...] = ()


SITUATIONS: tuple[Situation, ...] = (
    Situation(
        number="0",
        what="nothing fails",
        scenarios=("baseline",),
        milder=(
            Milder(
                textbook="every configuration, 60 s, no wait of a second",
                shipped="one configuration, 10 s, no wait of more than 5 s",
                why="a busy machine makes clients wait for a second; other configurations are one `--set` "
                "away",
            ),
        ),
    ),
    Situation(
        number="1",
        what="acks=0, and the leader dies",
        scenarios=("acks0-leader-kill",),
        milder=(
            Milder(
                textbook="a kill under load",
                shipped="the leader stands still for 2 s before the kill",
                why="under a plain kill some runs lose nothing, and a control must lose in every run",
            ),
        ),
    ),
    Situation(
        number="2",
        what="acks=1, and the leader dies before its followers have fetched",
        scenarios=("acks1-leader-kill", "acks-all-leader-kill"),
    ),
    Situation(
        number="3",
        what="acks=1, and leaders move as planned: election, reassignment, restart",
        scenarios=(
            "acks1-planned-move",
            "acks1-planned-move-behind",
            "acks-all-planned-move-behind",
            "acks1-reassignment",
            "acks1-rolling-restart",
        ),
        milder=(
            Milder(
                textbook="a planned move loses something (KAFKA-20554)",
                shipped="three scenarios take a run with a loss and one without; `acks1-planned-move-behind` "
                "slows the followers, and must lose",
                why="with quick followers the loss is a few records or none, by chance",
            ),
        ),
    ),
    Situation(
        number="4",
        what="the leader is bounced again and again, cleanly and not",
        scenarios=("leader-bounce",),
        milder=(
            Milder(
                textbook="a killed leader stays down until it is seen to be fenced",
                shipped="it stays down for 6 s; that each was fenced is required evidence",
                why="a fault holds for a time; the session is 4 s, and a run in which it did not end is "
                "UNKNOWN",
            ),
        ),
    ),
    Situation(
        number="5a",
        what="the last replica in sync loses its disk; unclean elections allowed",
        scenarios=("last-leader-disk-loss-unclean",),
        milder=(
            Milder(
                textbook="the leader is alone for 30 s",
                shipped="for some seconds, in which it must commit records",
                why="the length decides how much is lost, not whether",
            ),
        ),
    ),
    Situation(
        number="5b",
        what="the same, without unclean elections and with min.insync.replicas=1",
        scenarios=("last-leader-disk-loss",),
        milder=(
            Milder(
                textbook="the disk is replaced",
                shipped="the disk is emptied, and keeps its directory id",
                why="for a new directory id the controllers do not elect the broker (KIP-858), see the "
                "findings",
            ),
        ),
    ),
    Situation(
        number="5c",
        what="the same with min.insync.replicas=2, with eligible leader replicas and without",
        scenarios=("last-leader-disk-loss-elr", "last-leader-disk-loss-elr-off"),
        milder=(
            Milder(
                textbook="the disk is replaced",
                shipped="the disk is emptied, and keeps its directory id",
                why="as in 5b",
            ),
        ),
    ),
    Situation(
        number="6a",
        what="the last replica in sync loses power; no eligible leader replicas",
        scenarios=("last-replica-standing-elr-off",),
    ),
    Situation(
        number="6b",
        what="the same with eligible leader replicas, and one unclean shutdown more",
        scenarios=("last-replica-standing-elr-on", "last-known-elr"),
    ),
    Situation(
        number="7",
        what="a leader that serves no fetch, or whose disk hangs (KIP-501)",
        scenarios=(
            "slow-leader-offline",
            "slow-leader-elr",
            "slow-leader-unclean",
            "stalled-leader-disk",
            "stuttering-follower-disk",
        ),
        milder=(
            Milder(
                textbook="the disk of the leader stalls, its healthy followers fall out of the ISR, it "
                "dies, and the "
                "partition is offline for a minute",
                shipped="`slow-leader-…` cut its followers off, and hold for 14 s; `stalled-leader-disk` "
                "stalls the "
                "disk, without a fall of the ISR",
                why="a disk that is stalled takes no writes and still answers reads from the page cache, "
                "see the "
                "findings; and a process that waits for such a disk cannot be killed",
            ),
        ),
    ),
    Situation(
        number="8",
        what="two leaders die one after the other (KIP-101, KIP-279)",
        scenarios=("back-to-back-leader-kills", "back-to-back-leader-kills-min-isr-1"),
        milder=(
            Milder(
                textbook="two elections within 5 s, ten times",
                shipped="within 6 s, once a run",
                why="the session is 4 s, and a kill takes up to 1 s; `highwater suite` repeats it with "
                "other seeds",
            ),
        ),
    ),
    Situation(
        number="9a",
        what="a zombie leader that its followers and the controllers have lost, acks=1",
        scenarios=("zombie-leader-acks1",),
        milder=(
            Milder(
                textbook="for 60 s",
                shipped="for 12 s",
                why="the length decides how much is lost, not whether",
            ),
        ),
    ),
    Situation(
        number="9b",
        what="the same with acks=all",
        scenarios=("zombie-leader-acks-all",),
        milder=(
            Milder(
                textbook="for 60 s, with the delivery time-out of a client",
                shipped="for 12 s, with one of 3 s",
                why="what it got must time out before a successor can acknowledge it",
            ),
        ),
    ),
    Situation(
        number="9c",
        what="a leader that has lost the controllers alone",
        scenarios=("isolated-from-controllers-acks1", "isolated-from-controllers-acks-all"),
    ),
    Situation(
        number="10",
        what="brokers are restarted in turn",
        scenarios=("rolling-restart", "rolling-restart-impatient", "rolling-kill"),
    ),
    Situation(
        number="11",
        what="nodes get another release in turn, and the way back",
        scenarios=("rolling-upgrade", "rolling-downgrade"),
        milder=(
            Milder(
                textbook="an upgrade, and the way back on the same cluster",
                shipped="each from a new cluster; the way back begins with the newer release and the levels "
                "of the older one",
                why="both in one are a run of three minutes; `highwater upgrade` goes both ways",
            ),
        ),
    ),
    Situation(
        number="12a",
        what="all brokers lose power",
        scenarios=("power-failure-all",),
        milder=(
            Milder(
                textbook="idempotent producers with five requests in flight",
                shipped="one request in flight, in 5a, 5b, 6a, 6b, 12b and 24 too",
                why="a broker that has lost its log has forgotten its producers, and what is sent again then "
                "is no test of their order",
            ),
            Milder(
                textbook="within one second",
                shipped="when all stand still, which takes about two seconds",
                why="the engine pauses one container after the other; nobody acknowledges once two stand",
            ),
        ),
    ),
    Situation(
        number="12b",
        what="the same, with each record flushed before it is acknowledged",
        scenarios=("power-failure-all-flushed",),
    ),
    Situation(number="12c", what="one broker loses power", scenarios=("power-failure-one",)),
    Situation(number="12d", what="all brokers are killed", scenarios=("kill-all-brokers",)),
    Situation(
        number="13",
        what="clocks are wrong",
        scenarios=(
            "clock-ahead",
            "clock-behind",
            "clock-beyond-retention",
            "controller-clock-ahead",
            "controllers-clocks-ahead",
        ),
    ),
    Situation(number="14a", what="the disk of one broker is full", scenarios=("disk-full",)),
    Situation(number="14b", what="the disks of all brokers are full", scenarios=("disk-full-all",)),
    Situation(
        number="14c", what="one of several log directories fails (KIP-858)", scenarios=("log-dir-failure",)
    ),
    Situation(
        number="15a",
        what="the controllers lose their majority",
        scenarios=("quorum-loss",),
    ),
    Situation(number="15b", what="and a follower dies", scenarios=("quorum-loss-follower-kill",)),
    Situation(number="15c", what="and a leader dies", scenarios=("quorum-loss-leader-kill",)),
    Situation(
        number="16",
        what="a majority of the brokers freezes and thaws",
        scenarios=("majority-freeze",),
        milder=(
            Milder(
                textbook="45 s frozen and 20 s not, five times",
                shipped="12 s, until all is in sync again, three times",
                why="12 s are longer than the session and the lag limit; five times 45 s are a run of six "
                "minutes",
            ),
        ),
    ),
    Situation(
        number="17",
        what="fewer in sync than min.insync.replicas",
        scenarios=("isr-below-min",),
        milder=(
            Milder(
                textbook="idempotent producers",
                shipped="producers without idempotence and retries, in 5c and 23 too",
                why="the refusal is the evidence: a client that retries shows it to nobody",
            ),
        ),
    ),
    Situation(
        number="18",
        what="a link that fails in one direction",
        scenarios=("one-way-follower-fetch",),
        milder=(
            Milder(
                textbook="counters of bytes by direction in the evidence",
                shipped="in the evidence of the two faults, and not in `require`",
                why="each is proven by direction: a request that arrives or not, an answer that comes back "
                "or not",
            ),
        ),
    ),
    Situation(
        number="19",
        what="transactions while their coordinator fails, and two producers of one id",
        scenarios=(
            "coordinator-kill",
            "coordinator-kill-tv1",
            "coordinator-isolated",
            "coordinator-isolated-tv1",
            "zombie-producer-fenced",
            "zombie-producer-fenced-tv1",
        ),
        milder=(
            Milder(
                textbook="transaction.version 1 and 2",
                shipped="both, with a client that is served as an older one by both",
                why="librdkafka does not know version 2: what it protects a client from is not shown",
            ),
        ),
    ),
    Situation(
        number="20",
        what="replicas are moved while their leader stands still",
        scenarios=("reassign-without-leader",),
    ),
    Situation(
        number="21",
        what="clients lose a leader, which then dies",
        scenarios=("client-cut-leader-kill",),
    ),
    Situation(
        number="22",
        what="an unclean election among slow followers",
        scenarios=("unclean-election-slow-followers", "unclean-election"),
    ),
    Situation(
        number="23", what="min.insync.replicas of all replicas", scenarios=("min-isr-equals-replicas",)
    ),
    Situation(
        number="24",
        what="two replicas",
        scenarios=("two-replicas-min-isr-2", "two-replicas-min-isr-1"),
    ),
    Situation(number="25", what="an ISR that flaps", scenarios=("isr-thrashing",)),
)
WITHOUT_NUMBER: tuple[str, ...] = (
    *("elr-switched-off", "min-isr-lowered", "min-isr-lowered-without-leader"),
    *("starved-leader", "storm"),
)
"""Settings that change what other situations lead to, a broker short of processors, and a search for what
nobody has thought of."""
