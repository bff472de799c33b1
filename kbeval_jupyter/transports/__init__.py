"""How bytes and processes reach a host that exists."""
