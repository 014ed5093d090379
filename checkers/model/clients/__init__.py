"""Producers and readers of the simulated cluster."""
