"""The directed mesh: every connection crosses its own Toxiproxy edge, which can be cut alone."""
