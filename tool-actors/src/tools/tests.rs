//! What the built-in tools answer, in both languages, and what a repeat does.
