"""Texts and labels as users have them, made sources of rows."""
