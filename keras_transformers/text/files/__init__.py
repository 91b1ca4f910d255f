"""Text from files: plain text, JSON lines and Parquet, of any size, in flat memory."""
