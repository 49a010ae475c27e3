//! The blocks of a document that contain commands, and the shells in which they run.

use crate::{
    markdown::{self, Block},
    session::Exchange,
    sources::Source,
};

/// The shell of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// No shell: the commands are proved elsewhere.
    Elsewhere,
    /// A new shell.
    Alone,
    /// The shell of the block before.
    On,
}

/// A block of commands.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) run: Run,
    pub(super) exchanges: Vec<Exchange>,
}

/// Returns the listings of a document, and the mistakes in their form.
pub(super) fn listings(source: &Source) -> (Vec<Listing>, Vec<String>) {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for block in markdown::parse(&source.text).blocks {
        let at = format!("{}:{}", source.path, block.line);
        let words: Vec<&str> = block.info.iter().map(String::as_str).collect();
        let (session, run) = match words.as_slice() {
            ["sh"] => (false, Run::Elsewhere),
            ["sh", "run"] => (false, Run::Alone),
            ["sh", "run", "on"] => (false, Run::On),
            ["console"] => (true, Run::Elsewhere),
            ["console", "run"] => (true, Run::Alone),
            ["console", "run", "on"] => (true, Run::On),
            ["sh" | "console", ..] => {
                let may = "only `run` or `run on` may follow";
                wrong.push(format!("{at}: {may}: {}", words.join(" ")));
                continue;
            }
            ["bash" | "shell" | "zsh" | "shell-session" | "terminal", ..] => {
                wrong.push(format!("{at}: write `sh` or `console`, not {}", words[0]));
                continue;
            }
            [] if block.text.lines().any(|line| line.starts_with("$ ")) => {
                wrong.push(format!("{at}: a block with commands is `sh` or `console`"));
                continue;
            }
            _ => continue,
        };
        let exchanges = if session { console(&block) } else { sh(&block, run) };
        if exchanges.is_empty() {
            wrong.push(format!("{at}: no command in it"));
        }
        if run == Run::On && found.iter().all(|listing: &Listing| listing.run == Run::Elsewhere) {
            wrong.push(format!("{at}: no block is run that it could continue"));
        }
        found.push(Listing { path: source.path.clone(), line: block.line, run, exchanges });
    }
    (found, wrong)
}

/// Parses a `console` block: commands with their output. A backslash continues a command in the
/// next line.
fn console(block: &Block) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut goes_on = false;
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), exchanges.last_mut()) {
            (_, Some(exchange)) if goes_on => {
                exchange.command.push('\n');
                exchange.command.push_str(line.strip_prefix("> ").unwrap_or(line));
            }
            (Some(command), _) => {
                exchanges.push(Exchange { command: command.to_owned(), shown: Vec::new() });
            }
            (None, Some(exchange)) => exchange.shown.push(line.to_owned()),
            (None, None) => {}
        }
        goes_on = line.ends_with('\\') && exchanges.last().is_some_and(|e| e.shown.is_empty());
    }
    for exchange in &mut exchanges {
        while exchange.shown.last().is_some_and(String::is_empty) {
            exchange.shown.pop();
        }
    }
    exchanges
}

/// Parses an `sh` block. A block that runs is one script; otherwise each line that is no comment is
/// a command.
fn sh(block: &Block, run: Run) -> Vec<Exchange> {
    let exchange = |command: &str| Exchange { command: command.to_owned(), shown: Vec::new() };
    if run != Run::Elsewhere {
        return vec![exchange(&block.text)];
    }
    block
        .text
        .replace("\\\n", "\\\u{0}")
        .lines()
        .map(|line| line.replace('\u{0}', "\n"))
        .map(|line| line.trim().strip_prefix("$ ").unwrap_or(line.trim()).to_owned())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| exchange(&line))
        .collect()
}

/// Returns the executed blocks, with those of one shell merged.
pub(super) fn sessions(listings: Vec<Listing>) -> Vec<Listing> {
    let mut sessions: Vec<Listing> = Vec::new();
    for listing in listings {
        match (listing.run, sessions.last_mut()) {
            (Run::On, Some(before)) => before.exchanges.extend(listing.exchanges),
            (Run::Alone | Run::On, _) => sessions.push(listing),
            (Run::Elsewhere, _) => {}
        }
    }
    sessions
}

#[test]
fn a_session_is_read_as_commands_with_what_they_print() {
    let text = "```console run\n$ one \\\n>   more\nprinted\n\n$ two\n$ three\n...\nend \\\n```\n";
    let (found, wrong) = listings(&Source::of("a.md", text));
    assert_eq!(wrong, Vec::<String>::new());
    let exchange = |command: &str, shown: &[&str]| Exchange {
        command: command.to_owned(),
        shown: shown.iter().map(|&line| line.to_owned()).collect(),
    };
    let expected = [
        exchange("one \\\n  more", &["printed"]),
        exchange("two", &[]),
        exchange("three", &["...", "end \\"]),
    ];
    assert_eq!(found[0].exchanges, expected);
    assert_eq!(found[0].run, Run::Alone);
}

#[test]
fn blocks_that_continue_share_a_shell() {
    let text = "```sh run\none\n```\n```sh\nproved\n```\n```console run on\n$ two\n```\n\
                ```sh run\nthree\n```\n";
    let (found, wrong) = listings(&Source::of("a.md", text));
    assert_eq!(wrong, Vec::<String>::new());
    let commands = |listing: Listing| -> Vec<String> {
        listing.exchanges.into_iter().map(|exchange| exchange.command.trim().to_owned()).collect()
    };
    let shells: Vec<Vec<String>> = sessions(found).into_iter().map(commands).collect();
    assert_eq!(shells, [vec!["one", "two"], vec!["three"]]);
}
