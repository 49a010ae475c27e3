//! Cuts long texts to their two ends, for prompts and screens.

/// The text, or its first and last `each` characters with a mark between them.
pub(super) fn ends(text: &str, each: usize) -> String {
    let count = text.chars().count();
    if count <= each.saturating_mul(2) {
        return text.to_owned();
    }
    let head: String = text.chars().take(each).collect();
    let tail: String = text.chars().skip(count - each).collect();
    format!("{head}\n… [{} characters left out] …\n{tail}", count - 2 * each)
}

/// The first line of a text, cut to some characters.
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
    fn both_ends_of_a_long_text_are_kept_whole_characters_only() {
        assert_eq!(ends("短文", 1), "短文");
        assert_eq!(ends("一二三四五", 2), "一二\n… [1 characters left out] …\n四五");
        assert_eq!(line("一二三四五\nx", 3), "一二…");
    }
}
