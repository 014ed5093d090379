"""What can go wrong: faults with evidence of effect and of recovery, and the schedule that runs them.

Where to find what, from the top:
    documentation   the tables of docs/faults.md
    schedule/       `run_schedule` runs a plan against a cluster and always heals; one FaultRecord a step
    plan/           reads, expands, checks, writes and draws plans: `parse_plan`, `validate_plan`, `storm`
    kinds/          one module for each kind of fault, and their registry
    targets/        roles ("leader", "followers -> leader"), events, and moments that steps wait for
    tasks           resumable tasks, which the schedule's event loop runs
    choices, durations, sizes
                    values as a scenario writes them
    clock           the clock that a schedule runs on, a virtual one in tests

A new kind of fault is a module in kinds/ with a step, a fault and a record, and one line of the registry.
"""
