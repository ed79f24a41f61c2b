"""Records what assertions evaluate to, and filters failing ones on request."""
