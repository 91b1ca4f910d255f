"""Texts and labels as given by users, and sources of rows made from them."""
