"""Training of new models from anybody's text: plan, rounds, card."""
