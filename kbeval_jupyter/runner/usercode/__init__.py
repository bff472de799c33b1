"""Running a user's code, on either side: load it, call it, seed it, redirect it, word its failures."""
