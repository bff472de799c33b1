"""What the magics are made of: argument line, waiting, saved problems, history, and the commands over them."""
