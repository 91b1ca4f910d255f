"""The scripts here are run by tests in processes of their own; the search for docstring examples imports none of them."""

collect_ignore = ["replicas.py", "interrupted.py"]
