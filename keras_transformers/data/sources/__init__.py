"""Sources of rows: lists, streams and tables of texts, packed rows."""
