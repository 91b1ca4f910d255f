"""Metrics over real targets, and scores of whole collections."""
