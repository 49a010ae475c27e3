//! Excerpts of texts for display.

/// Returns the first line of a text, cut to `max` characters.
pub(super) fn line(text: &str, max: usize) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    if first.chars().count() <= max {
        return first.to_owned();
    }
    first.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(line("一二三四五\nx", 3), "一二…");
    }
}
