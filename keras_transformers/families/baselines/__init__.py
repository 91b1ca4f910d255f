"""Families of baselines to compare Transformers with."""
