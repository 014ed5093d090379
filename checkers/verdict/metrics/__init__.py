"""What a run shows in one number each: the metrics that a scenario accepts, or requires as evidence."""
