"""What layers take and return: checks of inputs, masks as Keras users give them, options, optional outputs."""
