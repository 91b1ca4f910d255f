"""Training: losses, metrics, optimizers, resumable and distributed runs, adapters."""
