"""How signals travel through layers: path lengths and gradients."""
