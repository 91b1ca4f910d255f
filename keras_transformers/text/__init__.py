"""Text to ids and back; no model knowledge."""
