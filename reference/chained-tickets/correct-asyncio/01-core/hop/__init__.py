"""Short links over HTTP."""
