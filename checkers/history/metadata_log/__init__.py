"""The KRaft metadata log, replayed: what the controllers decided about partitions, brokers and settings."""
