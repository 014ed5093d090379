"""Which toxics an edge needs for all that faults do to it at once."""

from collections.abc import Mapping
from itertools import permutations

import pytest

from compose.impairments import Delayed, Impairment, Refused, Reset, Sliced, Swallowed, Throttled
from compose.mesh.toxics import Setting, setting_of


def toxics(*impairments: Impairment) -> dict[str, Mapping[str, int]]:
    """The attributes of the toxics by name, in the order of their chains."""
    setting = setting_of(impairments)
    assert setting.enabled
    return {name: toxic.attributes for name, toxic in setting.toxics.items()}


@pytest.mark.parametrize(
    ("impairment", "name", "attributes"),
    [
        (Delayed(delay_s=0.25, jitter_s=0.05), "latency_downstream", {"latency": 250, "jitter": 50}),
        (Delayed(delay_s=0.25, direction="to"), "latency_upstream", {"latency": 250, "jitter": 0}),
        (Throttled(bytes_per_s=50_000), "bandwidth_downstream", {"rate": 50}),
        (Throttled(bytes_per_s=10_000, direction="to"), "bandwidth_upstream", {"rate": 10}),
        (
            Sliced(size_bytes=100, delay_s=0.002),
            "slicer_downstream",
            {"average_size": 100, "size_variation": 0, "delay": 2000},
        ),
        (Swallowed(directions=("to",)), "timeout_upstream", {"timeout": 0}),
        (Swallowed(directions=("from",)), "timeout_downstream", {"timeout": 0}),
        (Reset(), "reset_peer_downstream", {"timeout": 0}),
        (Reset(direction="to"), "reset_peer_upstream", {"timeout": 0}),
    ],
)
def test_one_impairment_is_one_toxic(
    impairment: Impairment, name: str, attributes: Mapping[str, int]
) -> None:
    """In the units of Toxiproxy: milliseconds, kilobytes a second, microseconds between slices."""
    assert toxics(impairment) == {name: attributes}


def test_an_edge_without_impairments_is_open() -> None:
    assert setting_of([]) == Setting(enabled=True, toxics={})


def test_a_black_hole_swallows_both_directions() -> None:
    assert list(toxics(Swallowed())) == ["timeout_upstream", "timeout_downstream"]


def test_two_half_open_edges_make_a_black_hole() -> None:
    both = (Swallowed(directions=("to",)), Swallowed(directions=("from",)))
    assert toxics(*both) == toxics(Swallowed())


def test_a_refusal_outranks_everything() -> None:
    """It needs no toxic."""
    assert setting_of([Swallowed(), Refused(), Delayed(delay_s=1)]) == Setting(enabled=False)


def test_what_swallows_or_resets_stands_alone_in_its_direction() -> None:
    """Swallowing outranks a reset; the other direction keeps what it has."""
    late = Delayed(delay_s=0.1)
    assert list(toxics(late, Reset())) == ["reset_peer_downstream"]
    assert list(toxics(late, Reset(), Swallowed(directions=("from",)))) == ["timeout_downstream"]
    assert list(toxics(late, Reset(direction="to"))) == ["reset_peer_upstream", "latency_downstream"]


def test_several_of_one_kind_become_one() -> None:
    """Delays and jitters add up; the lowest rate, the smallest slice and the longest delay after it count."""
    assert toxics(
        Delayed(delay_s=0.25, jitter_s=0.05),
        Delayed(delay_s=0.5, jitter_s=0.25),
        Throttled(bytes_per_s=80_000),
        Throttled(bytes_per_s=20_000),
        Sliced(size_bytes=100, delay_s=0.002),
        Sliced(size_bytes=500, delay_s=0.005),
    ) == {
        "bandwidth_downstream": {"rate": 20},
        "slicer_downstream": {"average_size": 100, "size_variation": 0, "delay": 5000},
        "latency_downstream": {"latency": 750, "jitter": 300},
    }


def test_what_holds_bytes_back_comes_first() -> None:
    """In whatever order the faults began; a latency takes everything that is in front of it."""
    all_three = [Delayed(delay_s=0.25), Sliced(size_bytes=100, delay_s=0.01), Throttled(bytes_per_s=50_000)]
    for several in permutations(all_three):
        assert list(toxics(*several)) == ["bandwidth_downstream", "slicer_downstream", "latency_downstream"]


def test_directions_are_apart() -> None:
    """A delay of requests and one of answers are two toxics."""
    assert toxics(Delayed(delay_s=0.25), Delayed(delay_s=0.5, direction="to")) == {
        "latency_upstream": {"latency": 500, "jitter": 0},
        "latency_downstream": {"latency": 250, "jitter": 0},
    }
