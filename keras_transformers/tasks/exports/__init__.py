"""Parts of exports: files of SavedModels, weights as constants, lengths that XLA compiles."""
