"""What runs the peers and measures all of them in one way. No peer's own code is here."""
