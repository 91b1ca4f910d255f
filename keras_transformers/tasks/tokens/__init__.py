"""Token classification: label schemes, targets, entities and their scores."""
