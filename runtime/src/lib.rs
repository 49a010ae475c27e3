//! Placeholder while the skeleton builds.
