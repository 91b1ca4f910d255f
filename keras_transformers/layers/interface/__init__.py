"""The interface of layers: checks of inputs, masks in the forms of Keras users, options, optional outputs."""
