"""The steps of a run on a real cluster, in the order in which a run takes them."""
