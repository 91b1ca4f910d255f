"""The parts of a task: what each task's file fills in, and `Task` puts together."""
