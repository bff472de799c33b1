"""Is an implementation written in the language that was named? Read from its syntax tree and its C++ tokens, never run."""
