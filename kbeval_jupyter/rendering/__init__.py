"""A finished result as text, as html that needs nothing, and as the bundle that a notebook keeps."""
