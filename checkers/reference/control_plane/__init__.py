"""The control plane: what the controllers decided, and whether the brokers kept to it.

All but the acks are small tables, so both implementations share these rules; the acks of `ack_contract` are
matched with its spans twice, here one by one and in spark_verify/kernels/control_plane by arrays.
"""
