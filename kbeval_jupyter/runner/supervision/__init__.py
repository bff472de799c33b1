"""The processes around an evaluation: link, warm server, supervisor, nursery; events, output, deadlines, the end."""
