//! Classification of typed lines: cancellation, slash command, or text, checked in that order. So
//! an open question never takes a command as its answer.

use proto::{lang::Language, slash};

/// A classified line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// An empty line.
    Nothing,
    /// A request to cancel the current task, in this language. `None` for the command, which is the
    /// same in every language.
    Cancel(Option<Language>),
    /// A slash command, `/name rest`.
    Command {
        /// The word after the slash.
        name: String,
        /// The text after the name.
        rest: String,
    },
    /// Any other text: the answer to an open question, or a new task.
    Words(String),
}

pub(crate) fn read(line: &str) -> Line {
    let line = line.trim();
    if line.is_empty() {
        return Line::Nothing;
    }
    if let Some(cancel) = cancels(line) {
        return cancel;
    }
    if let Some(name) = bare(line) {
        return Line::Command { name: name.to_owned(), rest: String::new() };
    }
    match slash::read(line) {
        Some((name, rest)) => Line::Command { name: name.to_owned(), rest: rest.to_owned() },
        None => Line::Words(line.to_owned()),
    }
}

/// Returns the command that a word alone means, so that nobody begins a task to leave.
fn bare(line: &str) -> Option<&'static str> {
    match line.to_lowercase().as_str() {
        "exit" | "quit" | "退出" => Some("quit"),
        "?" | "？" | "help" | "帮助" => Some("help"),
        _ => None,
    }
}

fn cancels(line: &str) -> Option<Line> {
    // The command takes no arguments, so further words are ignored.
    if line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("/cancel")) {
        return Some(Line::Cancel(None));
    }
    let bare = line.trim_end_matches(['.', '!', '。', '！']);
    match bare.to_lowercase().as_str() {
        "取消当前任务" => Some(Line::Cancel(Some(Language::Zh))),
        "cancel the current task" => Some(Line::Cancel(Some(Language::En))),
        "/cancel" | "cancel" => Some(Line::Cancel(None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &str, rest: &str) -> Line {
        Line::Command { name: name.into(), rest: rest.into() }
    }

    #[test]
    fn a_cancel_comes_before_a_command_and_a_command_before_words() {
        for (typed, line) in [
            ("", Line::Nothing),
            (" \t ", Line::Nothing),
            ("取消当前任务", Line::Cancel(Some(Language::Zh))),
            (" 取消当前任务。 ", Line::Cancel(Some(Language::Zh))),
            ("Cancel", Line::Cancel(None)),
            ("cancel the current task.", Line::Cancel(Some(Language::En))),
            ("cancel!", Line::Cancel(None)),
            ("/cancel", Line::Cancel(None)),
            ("/Cancel now, please", Line::Cancel(None)),
            ("/cancellation", command("cancellation", "")),
            ("cancel my subscription", Line::Words("cancel my subscription".into())),
            ("取消", Line::Words("取消".into())),
            ("请取消当前任务", Line::Words("请取消当前任务".into())),
            ("/todo buy milk", command("todo", "buy milk")),
            ("  /todo\tbuy  milk ", command("todo", "buy  milk")),
            ("/view", command("view", "")),
            (r#"/echo {"value": 1}"#, command("echo", r#"{"value": 1}"#)),
            ("/todo 取消当前任务", command("todo", "取消当前任务")),
            ("exit", command("quit", "")),
            (" Quit ", command("quit", "")),
            ("退出", command("quit", "")),
            ("?", command("help", "")),
            ("help", command("help", "")),
            ("quit smoking", Line::Words("quit smoking".into())),
            ("help me", Line::Words("help me".into())),
            ("/", Line::Words("/".into())),
            ("// is a comment", Line::Words("// is a comment".into())),
            ("/ 2", Line::Words("/ 2".into())),
            ("say /todo", Line::Words("say /todo".into())),
            ("先标记任务", Line::Words("先标记任务".into())),
        ] {
            assert_eq!(read(typed), line, "{typed:?}");
        }
    }
}
