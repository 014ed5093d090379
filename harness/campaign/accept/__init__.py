"""`highwater accept`: what a configuration promises, the traps it falls into, and the proof on a real
cluster.
"""
