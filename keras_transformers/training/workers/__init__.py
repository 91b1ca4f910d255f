"""Several replicas and workers: strategies, clusters, sharded layouts."""
