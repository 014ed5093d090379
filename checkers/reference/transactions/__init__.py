"""Transactions: what is committed is visible as a whole, what is not is not, and nothing hangs.

What each partition shows of a transaction is collected twice, here row by row and in spark_verify/kernels by
arrays. Both implementations share what follows from that, as a transaction has parts in several partitions.
"""
