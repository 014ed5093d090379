"""What an observer of the simulated cluster writes down: faults, samples, the final read, the disks."""
