"""The register of models: what a file of the zoo says of its model, and what the recipes in these files share."""
