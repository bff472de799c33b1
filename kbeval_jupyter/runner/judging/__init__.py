"""What the judge does with a problem: run the reference, ask the workers, compare, explain."""
