"""Losses over real targets, on any number of replicas."""
