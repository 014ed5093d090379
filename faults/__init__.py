"""What can go wrong: faults with evidence of effect and of recovery, and the schedule that runs them.

Where to find what:
    parse, schedule     steps of a scenario as plain data, and the words that a person writes for them
    validate            what a plan must satisfy before anything starts
    generate            a storm: a plan drawn from a seed
    targets, edges      roles ("leader", "followers -> leader"), resolved at the moment of injection
    fault               what every fault offers: partition, pause, kill, stop, disk_stall, power_loss
    scheduler           runs a plan against a cluster and always heals; one FaultRecord a step
"""
