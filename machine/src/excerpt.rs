//! Excerpts of texts for display.

pub(super) use proto::excerpt::first_line as line;
