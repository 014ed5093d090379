"""What can go wrong in a workload itself; what goes wrong in the cluster is an outcome, not an error.

WorkloadError
├── PlanRefused           a load was asked for that no client can make
├── WorkloadDied          a thread of the workload raised: the run's load was not what was asked for
├── NotWarm               producers had no acknowledgement on some partition when the time was up
├── ThreadStuck           a thread did not end when it was stopped
├── JournalUnreadable     a journal of the run directory is missing or of another kind
├── SealEnded             the process that seals a history has ended by itself
├── ReadEnded             a process that reads the final log has ended by itself
├── ClientRefused         no client can be made with the settings or the address that were given
├── TopicUnreadable       a running cluster did not say what was asked of one of its topics
└── PeerFailed            what the bench compares the load with did not end with its figures
"""


class WorkloadError(Exception):
    """Root of all errors of `workloads`."""


class PlanRefused(WorkloadError):
    """A load was asked for that no client can make; nothing has been started."""


class WorkloadDied(WorkloadError):
    """A thread of the workload raised; its exception is the cause."""


class NotWarm(WorkloadError):
    """Producers had not in time what is waited for: an acknowledgement on every partition, or so many."""


class ThreadStuck(WorkloadError):
    """A thread did not end in time; its client is blocked in a call."""


class JournalUnreadable(WorkloadError):
    """A journal is missing or foreign. A torn end is no error: it is what a crash leaves."""


class SealEnded(WorkloadError):
    """The process that seals a history has ended, and not because of the journals."""


class ReadEnded(WorkloadError):
    """A process that reads the final log has ended before it was done."""


class ClientRefused(WorkloadError):
    """The settings or the address of a client are none that it takes; nothing has been connected to."""


class TopicUnreadable(WorkloadError):
    """A running cluster did not describe a topic, or has none of that name; nothing has been started."""


class PeerFailed(WorkloadError):
    """ProducerPerformance did not end with its figures."""
