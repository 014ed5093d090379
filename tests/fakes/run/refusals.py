"""The complaints about a small scenario of four lines, by the parts that a test gives it."""

from harness.errors import ScenarioError
from harness.scenario.resolve import resolve


def complaints(
    *, cluster: str = "", topics: str = "{name: orders}", workload: str = "", rest: str = ""
) -> tuple[str, ...]:
    """What is refused: the cluster's keys begin at 2:11, the topics at 3:10, the workload's keys at 4:12."""
    text = f"name: demo\ncluster: {{{cluster}}}\ntopics: [{topics}]\nworkload: {{{workload}}}\n{rest}"
    try:
        resolve(text, "demo.yaml", seed=1)
    except ScenarioError as refusal:
        return refusal.complaints
    return ()
