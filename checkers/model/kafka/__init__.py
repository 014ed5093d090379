"""The cluster: virtual time, network, controller, brokers, replicas and their logs."""
