"""Prepares a machine: Python packages, Java, Docker Engine and the images that nodes are made from."""
