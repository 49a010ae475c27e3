"""The harness that runs and measures all peers in the same way. It contains no code of any peer."""
