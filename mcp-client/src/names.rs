//! The names of a server's tools in Callboard: `<server>__<tool>`.

use std::collections::BTreeMap;

use proto::{
    digest,
    id::{ID_MAX, ToolName},
};

use crate::settings::ServerName;

/// Hex digits of a digest at the end of a name that was cut, or that several tools would have.
const DIGEST_DIGITS: usize = 6;

/// Returns the beginning of the names of a server's tools.
pub(crate) fn prefix(server: &ServerName) -> String {
    format!("{server}__")
}

/// Returns the names of a server's tools, in their order. Characters that names do not have become
/// `_`. A name that is too long, or that several tools would have, ends with digits of the digest of
/// the server's name for the tool.
pub(crate) fn of_tools<'a>(
    server: &ServerName,
    tools: impl IntoIterator<Item = &'a str>,
) -> Vec<Option<ToolName>> {
    let plain = |tool: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let tool: String = tool.chars().map(|c| if fits(c) { c } else { '_' }).collect();
        format!("{}{tool}", prefix(server))
    };
    let tools: Vec<&str> = tools.into_iter().collect();
    let mut count = BTreeMap::<String, u32>::new();
    for tool in &tools {
        *count.entry(plain(tool)).or_default() += 1;
    }
    let named = tools.into_iter().map(|tool| {
        let name = plain(tool);
        let is_shared = count.get(&name).is_some_and(|count| *count > 1);
        if name.len() <= ID_MAX && !is_shared {
            return ToolName::new(name).ok();
        }
        let digest = digest::of_bytes(tool.as_bytes());
        let kept = name.len().min(ID_MAX - DIGEST_DIGITS - 1);
        let (kept, end) = (name.get(..kept)?, digest.get(..DIGEST_DIGITS)?);
        ToolName::new(format!("{kept}_{end}")).ok()
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str]) -> Vec<String> {
        let server = "files".parse().unwrap();
        let named = of_tools(&server, tools.iter().copied());
        named.into_iter().map(|name| name.unwrap().to_string()).collect()
    }

    #[test]
    fn a_name_begins_with_the_server_and_has_only_its_own_characters() {
        assert_eq!(
            names(&["read_file", "fs/read", "讀"]),
            ["files__read_file", "files__fs_read", "files___"]
        );
    }

    #[test]
    fn names_that_collide_or_are_too_long_end_with_a_digest() {
        let long = "x".repeat(100);
        let found = names(&["a.b", "a/b", &long]);
        assert!(found.iter().all(|name| name.len() <= ID_MAX), "{found:?}");
        assert!(found[0].starts_with("files__a_b_") && found[1].starts_with("files__a_b_"));
        assert_ne!(found[0], found[1]);
        assert!(found[2].len() == ID_MAX);
        // The order of a list changes no name.
        let turned = names(&["a/b", &long, "a.b"]);
        assert_eq!([&turned[2], &turned[0], &turned[1]], [&found[0], &found[1], &found[2]]);
    }
}
