"""What can go wrong with a cluster or the machine below it.

ComposeError
├── TopologyError         a cluster was asked for that cannot exist
├── MachineError          the machine lacks something that set-up cannot, or may not, install
│   ├── EngineUnreachable     no Docker Engine answers
│   ├── JavaMissing           no Java that Spark can run on
│   └── ImageUnavailable      an image could be neither pulled nor built
├── CommandFailed         a command that we ran ended with an error or ran out of time
├── PortTaken             a host port that the cluster needs is in use
├── NodeNotReady          a node did not reach a condition before its deadline
├── NodeStateError        a container could not be brought into the state asked for
│   ├── Vanished              the engine does not know it: it is gone, or was never there
│   ├── Refused               the engine refuses because of the state that it is in
│   └── Unanswered            a command inside it has not ended, nor been ended, in time
├── MeshError             a proxy did not take the state that it was given
├── DiskError             a node's file system could not be made, frozen, thawed or cut off
├── ViewError             the brokers do not answer a question in time, or their state is not the awaited one
│   └── BrokerSilent          one broker gives no usable answer to a question
├── AdminRefused          Kafka refuses a change of topics, settings or features
└── CleanupError          something of a run could not be removed

Each message says what failed, where, the value seen, and the next step.
"""


class ComposeError(Exception):
    """Root of all errors of `compose`."""


class TopologyError(ComposeError):
    """A cluster was asked for that cannot exist, or could never do its work.

    If that is for one setting in the configuration of a role ("broker", "controller"), they are named.
    """

    def __init__(self, text: str, *, role: str = "", setting: str = "") -> None:
        super().__init__(text)
        self.role, self.setting = role, setting


class MachineError(ComposeError):
    """The machine lacks something; the message says what a person can do about it."""


class EngineUnreachable(MachineError):
    """No Docker Engine answers at the address in use."""


class JavaMissing(MachineError):
    """No Java that Spark can run on; the message lists the places that were searched."""


class ImageUnavailable(MachineError):
    """An image could be neither pulled nor built."""


class CommandFailed(ComposeError):
    """A command ended with an error, was not found, or ran out of time."""


class PortTaken(ComposeError):
    """A host port that the cluster needs is in use."""


class NodeNotReady(ComposeError):
    """A node did not reach a named condition before its deadline."""


class NodeStateError(ComposeError):
    """A container could not be brought into the state asked for."""


class Vanished(NodeStateError):
    """The engine does not know the thing that was named: it is gone, or was never there."""


class Refused(NodeStateError):
    """The engine refuses because of the state that the thing is in."""


class Unanswered(NodeStateError):
    """A command inside a container has not ended in time, and its time limit has not ended it either."""


class MeshError(ComposeError):
    """A proxy did not take, or did not report, the state that it was given."""


class DiskError(ComposeError):
    """A node's file system could not be made, mounted, frozen, thawed or cut off."""


class ViewError(ComposeError):
    """The brokers do not answer a question in time, or have not come to the state that was waited for."""


class BrokerSilent(ViewError):
    """One broker could not be reached, closed the connection, or gave no usable answer in time."""


class AdminRefused(ComposeError):
    """Kafka refuses a change of its topics, leaders, settings or features; the message has its reason."""


class CleanupError(ComposeError):
    """Something of a run could not be removed."""
