"""From ids to rows, offsets and text as TensorFlow ops: post-processors, windows, decoders."""
