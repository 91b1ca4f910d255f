"""What attention heads do: recorded, drawn, rolled out, switched off."""
