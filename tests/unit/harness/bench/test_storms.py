"""Which verdicts a storm may have."""

from typing import Any

import pytest

from checkers.contract.clauses import CLIENT, IN_SYNC_WITHOUT
from harness.bench.storms import is_as_it_has_to_be


def verdict(kind: str, permitted: int, *violations: str, total: int | None = None) -> dict[str, Any]:
    findings = [{"label": "violation", "clause": clause} for clause in violations]
    findings += [{"label": "permitted", "clause": "min.isr"}] * bool(permitted)
    return {
        "verdict": kind,
        "properties": {"acked-loss": {"permitted": permitted}},
        "findings": findings,
        "findings_total": len(findings) if total is None else total,
        "reasons": [{"sentence": f"acked-loss is violated once: {each}"} for each in violations],
    }


@pytest.mark.parametrize(
    ("given", "limit", "wanted"),
    [
        (verdict("PASS", 0), "within-promise", True),
        (verdict("PASS", 7), "within-promise", False),
        (verdict("UNKNOWN", 0), "within-promise", False),
        (verdict("FAIL", 0, CLIENT), "within-promise", False),
        (verdict("PASS", 7), "beyond-promise", True),
        (verdict("PASS", 0), "beyond-promise", False),
        (verdict("UNKNOWN", 7), "beyond-promise", False),
        (verdict("FAIL", 7, CLIENT), "beyond-promise", True),
        (verdict("FAIL", 0, CLIENT), "beyond-promise", False),
        (verdict("FAIL", 7, CLIENT, IN_SYNC_WITHOUT), "beyond-promise", False),
        (verdict("FAIL", 7, CLIENT, total=9), "beyond-promise", False),
        (verdict("FAIL", 7) | {"reasons": [{"sentence": "unavailable.max 9 s"}]}, "beyond-promise", False),
    ],
)
def test_beyond_the_promise_only_the_client_may_have_failed(
    given: dict[str, Any], limit: str, wanted: bool
) -> None:
    assert is_as_it_has_to_be(given, limit) is wanted
