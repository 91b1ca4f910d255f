"""What models cost: operations and parameters, counted from the traced graph."""
