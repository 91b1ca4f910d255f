"""The scripts here run in processes of their own: the search for docstring examples must not import them."""

collect_ignore = ["replicas.py", "interrupted.py"]
