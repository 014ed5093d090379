"""What the nodes report of themselves: topics, leaders, the controller quorum, the metadata log."""
