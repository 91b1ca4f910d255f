"""Outputs as TensorFlow ops: post-processors, windows, offsets, decoders."""
