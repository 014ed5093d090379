"""`highwater upgrade`: a rolling upgrade under load and faults, the way back, and where there is none."""
