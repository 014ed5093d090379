"""`highwater doctor` and `highwater clean`: what the compose room knows of this machine, in plain lines."""

import json
from dataclasses import asdict

from compose.cleanup import cleanup
from compose.setup.doctor import Check, examine
from harness.errors import HighwaterError

EXIT_ERROR = 4


def tell_doctor(*, as_json: bool) -> int:
    """Print every check; 4 if something is missing."""
    checks = examine()
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            print(_line(check))
    return 0 if all(check.ok for check in checks) else EXIT_ERROR


def _line(check: Check) -> str:
    line = f"{'ok     ' if check.ok else 'MISSING'}  {check.name}: {check.seen}"
    return line if check.ok else f"{line}\n         why: {check.why}\n         next step: {check.next_step}"


def tell_clean(*, everything: bool) -> int:
    """Remove what dead runs left (or all runs), and print each thing; 4 if something would not go."""
    report = cleanup.clean_all() if everything else cleanup.clean_dead()
    for line in report.lines():
        print(line)
    if report.did_nothing():
        print("nothing to remove")
    if report.failed:
        raise HighwaterError(f"{len(report.failed)} things could not be removed; try again")
    return 0
