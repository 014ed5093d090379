"""What the nodes say of themselves: topics, leaders, the controller quorum, the metadata log."""
