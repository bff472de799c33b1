"""The worker: what runs beside the implementation and only answers requests."""
