//! The check that comments and documents use the field's words. It is a minimum, not the goal.

use crate::sources::{self, Source};

/// Words and phrases to avoid, with their replacements.
const DIALECT: &[(&str, &str)] = &[
    ("anew", "again, or the verb: replanned, restarted, resumed"),
    ("whoever", "a noun: the caller, the user, the worker, a reader"),
    ("nobody who", "a noun and a negated verb"),
    ("that is none", "the name of the defect: unknown, invalid"),
    ("is none", "is not one, does not exist, is missing"),
    ("stands still", "waits for an operator, is paused, is a dead letter"),
    ("stand still", "wait, are paused"),
    ("comes to", "the outcome, the total, happens"),
    ("put in short", "summarised"),
    ("done without", "is optional"),
    ("of which there", "a clause of its own"),
];

/// Returns the entries of [`DIALECT`] in a text. Only whole words count.
fn dialect(text: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let text = text.to_lowercase();
    DIALECT.iter().filter(move |(word, _)| {
        text.match_indices(word).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            let is_in_a_word = |c: char| c.is_alphanumeric() || c == '_';
            !before.is_some_and(is_in_a_word) && !after.is_some_and(is_in_a_word)
        })
    })
}

/// Returns a line of a document without inline code, which may quote the program.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Returns the comments of a Rust source, with the numbers of their lines.
fn comments(source: &Source) -> Vec<(usize, String)> {
    let numbered = source.text.lines().enumerate();
    let comments = numbered.filter(|(_, line)| line.trim_start().starts_with("//"));
    comments.map(|(n, line)| (n + 1, line.to_owned())).collect()
}

/// Returns the prose of a document, with the numbers of its lines.
fn prose(source: &Source) -> Vec<(usize, String)> {
    let (mut is_code, mut prose) = (false, Vec::new());
    for (n, line) in source.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.push((n + 1, without_code(line)));
        }
    }
    prose
}

fn wrong(sources: &[Source], lines: fn(&Source) -> Vec<(usize, String)>) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources {
        for (number, line) in lines(source) {
            for (word, better) in dialect(&line) {
                wrong.push(format!("{}:{number}: `{word}`: {better}", source.path));
            }
        }
    }
    wrong
}

#[test]
fn comments_use_the_words_of_the_field() {
    assert_eq!(wrong(&sources::ending_with(".rs"), comments), Vec::<String>::new());
    let bad = Source::of("a.rs", "let anew = 1;\n// Whoever asks.\n/// Put in\n");
    assert_eq!(wrong(&[bad], comments).len(), 1);
}

#[test]
fn documents_use_the_words_of_the_field() {
    let mut documents = sources::ending_with(".md");
    // Prompts are for models, and part of recorded runs.
    documents.retain(|document| !document.path.contains("/prompts/"));
    assert_eq!(wrong(&documents, prose), Vec::<String>::new());
    let bad = Source::of("a.md", "It comes to `anew`.\n```\nwhoever\n```\nwelcomes to it\n");
    assert_eq!(wrong(&[bad], prose), ["a.md:1: `comes to`: the outcome, the total, happens"]);
}
