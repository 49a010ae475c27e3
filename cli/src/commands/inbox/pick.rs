//! `inbox pick`: a list of the open questions to pick one from, and its answer.

use std::fmt;

use client::Client;
use inquire::{InquireError, Select, ui::RenderConfig};
use proto::{door::InboxEntry, escape};
use tui::render::text;

use super::{converse, listed, page};
use crate::{
    args::InboxListArgs,
    exit::Exit,
    failure::{CliError, Outcome},
    output::{self, Output},
    render::question,
    style::Style,
    words::Text,
};

/// Lines of the list that are visible at once.
const LINES: usize = 12;

/// Columns that the list draws before a row, plus one that a terminal may need for its cursor.
const MARGIN: usize = 3;

/// A question as a line of the list.
struct Row {
    line: String,
    /// The text that the filter searches, in lower case.
    searched: String,
    entry: InboxEntry,
}

impl Row {
    fn new(style: &Style, entry: InboxEntry) -> Self {
        let asked = &entry.question;
        let (goal, prompt) = (escape::line(&entry.goal), escape::line(&asked.prompt));
        let who = format!("{} {}", question::whose(&entry), asked.id);
        let (time, kind) = (style.time(entry.asked), asked.kind.name());
        let line = format!("{time}  {kind}  {goal} · {prompt}  {who}");
        let line = text::fit(&line, style.columns().saturating_sub(MARGIN));
        let searched = format!("{goal} {prompt} {kind} {who}").to_lowercase();
        Self { line, searched, entry }
    }

    /// `true` if the row has every word.
    fn has(&self, words: &str) -> bool {
        words.to_lowercase().split_whitespace().all(|word| self.searched.contains(word))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.line)
    }
}

/// Lets the user pick one open question and answer it.
///
/// # Errors
/// Without a terminal, and like an answer.
pub(super) async fn one(client: &Client, output: Output, args: &InboxListArgs) -> Outcome {
    if !output::is_interactive() || !output::is_drawable() {
        return Err(CliError::usage(Text::PickNeedsTerminal).hint("callboard inbox ls"));
    }
    let page = page(client, args).await?;
    let style = output.style();
    if page.questions.is_empty() {
        return listed(output, &page);
    }
    let mut keys = style.say(Text::PickKeys);
    if page.more {
        keys = format!("{keys} · {}", style.say(Text::MoreQuestions));
    }
    let rows = page.questions.into_iter().map(|entry| Row::new(&style, entry)).collect();
    // The list reads the terminal and would block the connection.
    let picked = tokio::task::spawn_blocking(move || pick(&style, &keys, rows)).await;
    match picked.map_err(|failed| CliError::io("terminal", &failed.into()))? {
        Ok(Some(entry)) => converse(client, output, &entry, None).await,
        Ok(None) => Ok(Exit::Success),
        Err(InquireError::OperationInterrupted) => Ok(Exit::Interrupted),
        Err(InquireError::IO(error)) => Err(CliError::io("terminal", &error)),
        Err(other) => Err(CliError::io("terminal", &std::io::Error::other(other))),
    }
}

fn pick(style: &Style, keys: &str, rows: Vec<Row>) -> Result<Option<InboxEntry>, InquireError> {
    let prompt = style.say(Text::PickQuestion);
    let colors = if style.color { RenderConfig::default_colored() } else { RenderConfig::empty() };
    let picked = Select::new(&prompt, rows)
        .with_help_message(keys)
        .with_page_size(LINES)
        .with_render_config(colors)
        .with_scorer(&|words, row: &Row, _line, place| row.has(words).then(|| earlier(place)))
        .with_formatter(&|picked| {
            format!("{} {}", picked.value.entry.job, picked.value.entry.question.id)
        })
        .prompt_skippable()?;
    Ok(picked.map(|row| row.entry))
}

/// Returns the score of a place in the list: the higher, the earlier.
fn earlier(place: usize) -> i64 {
    i64::try_from(place).map_or(i64::MIN, |place| -place)
}
