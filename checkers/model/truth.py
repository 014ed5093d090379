"""What really happened in a simulated run: the fate of each record, of each replica, and of each bug."""

from dataclasses import dataclass, field

from checkers.history.rows import History, RecordId, TopicPartition
from checkers.history.tables import NONE
from checkers.model.bugs import Bug
from checkers.model.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The election after which a record was in the log no more: of the ISR, the ELR, the last known ELR, or
    unclean, as `election` says: isr, elr, last-known-elr, unclean.

    `at_ns` is when the controller committed it; `leader` had not the record.
    """

    leader: int
    leader_epoch: int
    at_ns: int
    election: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTruth:
    """The fate of one send.

    `written` are the places where a leader appended it: (offset, leader epoch, broker). `survives`: the final
    log has it. `cause` is of a lost record: the name that docs/properties.md gives to its fate. `permitted`:
    whether the configuration permits that; True of one that survives. `facts` are what cause and permission
    follow from, in words.
    """

    id: RecordId
    tp: TopicPartition
    offset: int = NONE
    survives: bool = True
    written: tuple[tuple[int, int, int], ...] = ()
    removed_by: Removal | None = None
    cause: str = ""
    permitted: bool = True
    facts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Of the whole run: `records` has every send that was reported as written; `exposed_lost` those that were
    not, or whose producer waited for no broker, but which were below a leader's high watermark, and are not
    in the final log.

    `wrong` are the names of what is wrong in the run beside lost records, each with a place: what a correct
    Kafka and a correct client never do. Empty without bugs.
    """

    records: tuple[RecordTruth, ...] = ()
    exposed_lost: tuple[RecordTruth, ...] = ()
    wrong: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[RecordTruth, ...]:
        """The acknowledged records that are not in the final log."""
        return tuple(record for record in self.records if not record.survives)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A run: what an observer wrote down, and the truth.

    `manifested`: the bugs that changed the outcome of this very run, marked where the wrong behaviour becomes
    visible in the fate of a record, of a replica or of an acknowledgement: in the metadata log at once, else
    if `truth` has something wrong, or a loss that is not permitted, in a run in which the bug has acted.
    `acted`: those that changed what a node or a client did, visibly or not.
    """

    case: Case
    history: History
    truth: Truth
    manifested: frozenset[Bug] = field(default=frozenset())
    acted: frozenset[Bug] = field(default=frozenset())
