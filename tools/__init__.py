"""Scripts around the package: set-up and generated pages."""
