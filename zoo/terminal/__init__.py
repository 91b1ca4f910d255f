"""What all verbs of the command line share: the console, the environment, the options."""
