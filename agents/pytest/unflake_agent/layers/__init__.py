"""Records what each attempt looks like at the requested layers."""
