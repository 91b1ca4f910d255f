"""A page to look into a model: what it reads, attends to and answers, as one HTML file."""
