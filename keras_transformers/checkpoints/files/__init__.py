"""Files of tensors and folders: safetensors, HDF5, pickles, YAML; written atomically."""
