"""What blocks may have in the place of self-attention: recurrence and convolution."""
