"""What passes between judge and worker: frames of JSON, sealed memory, trees of headers. No pickle."""
