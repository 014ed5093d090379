"""Runs a plan of faults against a cluster: injects in time, proves, heals always, proves again.

Each step is a task of its own (`StepRunner.life`), and all tasks share the calling thread. Probes and changes
run on other threads, so that a node that does not answer, or takes long to end or to start, delays no
injection and no healing of another step.

Healing is always done: when a hold is over, when `stop` is set, and when there is an error; latest fault
first. A heal that fails is tried again, and reported.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from threading import Event

from compose.host.threads import started_pool
from compose.protocols import Cluster, View
from faults.clock import Clock
from faults.kinds.fault.node_holds import Holds
from faults.kinds.fault.step import Step
from faults.schedule.event_loop import EventLoop, Running
from faults.schedule.events import Events, LastAck, LastFencing, no_acks, no_fencings
from faults.schedule.probes import Probes
from faults.schedule.record import FaultEvent, FaultRecord, Reporter
from faults.schedule.resolve_targets import Resolver
from faults.schedule.sampler import Sampler, internal_topics
from faults.schedule.step_runner import StepRunner
from faults.schedule.step_state import StepState

RECOVERY_S = 60.0
"""Restart to full ISR took 3 to 6.4 s, once 13 s; counted from when no fault is in force any more."""

RECOVERY_AFTER_STOP_S = 10.0
"""An interrupted run ends no later than this after its last healing."""

SAMPLER_THREADS = 4
JOBS_OF_A_STEP = 3
"""A step that awaits an event is prepared meanwhile. One that goes on changing the cluster is probed
meanwhile, and the last probe may go on while it is healed."""

USUAL_JOBS = 2 * JOBS_OF_A_STEP + SAMPLER_THREADS
"""Two steps and the sampler find their threads started."""

OnEvent = Callable[[FaultEvent], None]
OnRecord = Callable[[FaultRecord], None]


def run_schedule(
    steps: Sequence[Step],
    cluster: Cluster,
    view: View,
    clock: Clock,
    *,
    stop: Event,
    on_event: OnEvent,
    on_record: OnRecord = lambda _: None,
    quick: View | None = None,
    last_ack_ns: LastAck = no_acks,
    last_fencing_ns: LastFencing = no_fencings,
    threads: Executor | None = None,
) -> tuple[FaultRecord, ...]:
    """Run validated `steps`, counting from now; returns when every fault is healed and its recovery decided.

    `quick` is a view of the same brokers that does not wait long for one that is silent: from it the roles
    are known before a step is due. `last_ack_ns` says when the load got its last acknowledgement for a
    partition, on the clock (-1: never), and `last_fencing_ns` when one of its producers was fenced; without
    them none ever comes. `on_event` is called on this thread at
    each stage of each step, and `on_record` with what is known of it by then, also when an injection begins.
    `stop`, set by another thread, ends the injections and heals. `threads` run the background jobs: by
    default as many as there can be jobs at one time, so that none waits for another. Whatever error is
    raised, here or by what is called, is raised after healing. What is no error, an interrupt, is raised at
    once: nothing is healed or waited for, since the cluster goes.
    """
    most = JOBS_OF_A_STEP * len(steps) + SAMPLER_THREADS
    with _pool(most) if threads is None else nullcontext(threads) as jobs:
        internal = internal_topics(steps)
        probes = Probes(cluster=cluster, view=view, clock=clock, quick=quick, internal=internal)
        reporter = Reporter(on_event=on_event, on_record=on_record)
        loop = EventLoop(clock, jobs)
        return Scheduler(steps, probes, loop, reporter, last_ack_ns, last_fencing_ns).run(stop)


@contextmanager
def _pool(most: int) -> Iterator[Executor]:
    """Threads for background jobs, which are waited for at the end, but not after an interrupt."""
    pool = started_pool("faults", usual=min(USUAL_JOBS, most), most=most)
    waits = False
    try:
        yield pool
        waits = True
    except Exception:
        waits = True
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=not waits)


class Scheduler:
    """One run of one plan: starts a task for each step, and heals when they have ended or cannot go on."""

    def __init__(
        self,
        steps: Sequence[Step],
        probes: Probes,
        loop: EventLoop,
        reporter: Reporter,
        last_ack_ns: LastAck = no_acks,
        last_fencing_ns: LastFencing = no_fencings,
    ) -> None:
        cluster, view, clock = probes.cluster, probes.view, probes.clock
        self._loop, self._reporter = loop, reporter
        self._states = [StepState(index=index, step=step) for index, step in enumerate(steps)]
        self._open = self._states[::-1]
        self._lives: dict[int, Running] = {}
        start_ns = clock.now_ns()
        self._sampler = Sampler(clock=clock, probes=probes, states=self._states, start_ns=start_ns)
        self._runner = StepRunner(
            clock=clock,
            states=self._states,
            resolver=Resolver(cluster=cluster, view=view, clock=clock, holds=Holds(), probes=probes),
            events=Events(
                states=self._states, probes=probes, last_ack_ns=last_ack_ns, last_fencing_ns=last_fencing_ns
            ),
            reporter=self._reporter,
            start_ns=start_ns,
            recovery_s=RECOVERY_S,
        )

    def run(self, stop: Event) -> tuple[FaultRecord, ...]:
        """Run to the end, or to `stop`; see `run_schedule`."""
        try:
            self._start()
            self._loop.run(stop, self._all_over)
        except Exception:
            self._heal_everything()
            raise
        self._heal_everything()
        if self._reporter.errors:
            raise self._reporter.errors[0]
        self._wind_up()
        return tuple(state.record() for state in self._states)

    def _start(self) -> None:
        self._loop.start(self._sampler.sample_counters())
        self._loop.start(self._sampler.sample_partitions())
        self._loop.start(self._sampler.sample_controller())
        self._loop.start(self._sampler.sample_coordinators())
        for state in self._states:
            self._lives[state.index] = self._loop.start(self._runner.life(state))

    def _all_over(self) -> bool:
        while self._open and self._open[-1].is_over:  # asked at each turn of the loop, of hundreds of steps
            self._open.pop()
        return not self._open

    def _heal_everything(self) -> None:
        """Inject nothing more, and heal what is in force, whatever is raised on the way.

        The latest first; but a fault whose injection still goes on is finished, and healed last: a node that
        is ending could not be started, and would end after it was healed.
        """
        self._loop.abandon()
        self._runner.resolver.broken_off.set()
        self._reporter.keeps_errors = True
        for state in sorted(self._states, key=lambda each: (each.is_changing, -each.inject_ns)):
            with self._keeping_errors():
                self._finish_injection(state)
            with self._keeping_errors():
                if state.in_force:
                    self._loop.run_alone(self._runner.heal_last(state))
        self._reporter.keeps_errors = False

    def _finish_injection(self, state: StepState) -> None:
        """Or healing, if one goes on in the background; nothing if what began it has raised an error."""
        if state.is_changing:
            self._loop.finish(self._lives[state.index], until=lambda: not state.is_changing)

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._reporter.errors.append(error)

    def _wind_up(self) -> None:
        """After an interruption: probe recoveries for a short while, and record what was never injected."""
        runner = replace(self._runner, recovery_s=RECOVERY_AFTER_STOP_S)
        for state in self._states:
            if state.inject_ns < 0 and not state.is_over:
                runner.drop(state, "the schedule was interrupted")
            if not state.is_over:
                self._loop.start(runner.recover(state))
        self._loop.run(Event(), self._all_over)
