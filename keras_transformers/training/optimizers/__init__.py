"""AdamW, learning-rate schedules and loss scaling."""
