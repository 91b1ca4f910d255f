"""A corpus as files of token ids: made once from text of any size, read by memory map, used again by later runs."""
