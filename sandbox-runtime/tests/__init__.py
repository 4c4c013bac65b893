"""Tests of the harness and the mcp package, played from the host's side of a real supervisor process."""
