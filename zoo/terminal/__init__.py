"""Console, environment and options, which all verbs of the command line share."""
