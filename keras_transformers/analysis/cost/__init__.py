"""The cost of models: operations and parameters, counted from the traced graph."""
