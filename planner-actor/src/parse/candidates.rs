//! Where in a reply JSON may stand.

/// How many places in a reply are tried: scanning is linear per place, so this bounds the work.
pub(super) const PLACES_MAX: usize = 32;

/// The reply without a block of thoughts before it, as some models leave it in their text.
pub(super) fn without_thoughts(reply: &str) -> &str {
    let text = reply.trim_start_matches('\u{feff}').trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(open) {
            return rest.split_once(close).map_or("", |(_, after)| after);
        }
    }
    text
}

/// What stands in code fences and begins like JSON. A fence begins and ends at the start of a line,
/// so that a fence inside a JSON text is none.
pub(super) fn fenced(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            match open.take() {
                None => open = Some(opening_end(line, at, next)),
                Some(from) => found.push(text.get(from..at).unwrap_or_default().trim()),
            }
        } else if trimmed.ends_with("```")
            && let Some(from) = open.take()
        {
            // The fence is closed on the last line of the JSON.
            let to = text.get(..next).and_then(|t| t.rfind("```")).unwrap_or(at);
            found.push(text.get(from..to).unwrap_or_default().trim());
        }
        at = next;
    }
    if let Some(from) = open {
        found.push(text.get(from..).unwrap_or_default().trim());
    }
    found.retain(|block| block.starts_with(['{', '[']));
    found
}

/// Where the content of a fence begins: on the next line, or on this one after the language.
fn opening_end(line: &str, at: usize, next: usize) -> usize {
    line.find(['{', '[']).map_or(next, |n| at + n)
}

/// Spans of brackets that close, outside one another, with texts in double quotes skipped.
pub(super) fn balanced(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..PLACES_MAX {
        let Some(start) = text.get(from..).and_then(|t| t.find(['{', '['])).map(|n| n + from)
        else {
            break;
        };
        match end_of(text.get(start..).unwrap_or_default()) {
            Some(len) => {
                let bracket = text.get(start..=start).unwrap_or_default();
                if !is_member(text.get(..start).unwrap_or_default(), bracket) {
                    found.push(text.get(start..start + len).unwrap_or_default());
                }
                from = start + len;
            }
            // What was begun and never closed is left to the repair, whole: a plan inside it may
            // not be all that was said.
            None if may_be_json(text.get(start + 1..).unwrap_or_default()) => break,
            None => from = start + 1,
        }
    }
    found
}

fn end_of(text: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for (n, b) in text.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(n + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The first place at or after `from` where malformed JSON may begin.
pub(super) fn start(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.match_indices(['{', '[']).map(|(at, bracket)| (from + at, bracket)).find_map(
        |(at, bracket)| {
            let after = text.get(at + bracket.len()..).unwrap_or_default();
            let before = text.get(..at).unwrap_or_default();
            (may_be_json(after) && !is_member(before, bracket)).then_some(at)
        },
    )
}

/// Whether JSON may go on so after an opening bracket: with a name, a text or another bracket. In
/// prose it is anything.
fn may_be_json(after: &str) -> bool {
    after.trim_start().starts_with(|c: char| {
        matches!(c, '"' | '\'' | '“' | '”' | '{' | '[' | ']' | '}' | '/') || c.is_ascii_alphabetic()
    })
}

/// Whether a bracket is part of something before it that was broken, and not all that was said: it
/// is the value of a name, or a list with anything like JSON before it.
fn is_member(before: &str, bracket: &str) -> bool {
    let name = before.trim_end().strip_suffix([':', '：']).map(str::trim_end);
    let has_name = name.is_some_and(|name| name.ends_with(['"', '\'', '”']));
    has_name || (bracket == "[" && before.contains(['{', '}', '"']))
}
