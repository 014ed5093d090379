"""What tests of campaigns have in common whose scenarios are made."""

import pytest

from harness.campaign.suites import made
from harness.scenario.model import Scenario
from harness.scenario.resolve import scenario_text


@pytest.fixture
def no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a load that there is not."""

    def text(scenario: Scenario) -> str:
        load = scenario.workload.model_copy(update={"lasts_s": 0.0, "tail_s": 0.0})
        return scenario_text(scenario.model_copy(update={"workload": load}))

    monkeypatch.setattr(made, "scenario_text", text)
