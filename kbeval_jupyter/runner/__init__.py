"""What is shipped to targets: standard library and torch only, Python 3.9 syntax. See docs/architecture.md."""
