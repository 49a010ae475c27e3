//! Rendering of what jobs cost.

use jiff::Timestamp;
use proto::{
    door::{JobSpent, NameSpent, UsageReport},
    escape,
    message::Usage,
    spent::Spent,
};

use crate::{
    args::UsageBy,
    render::{
        marks,
        table::{Piece, note, plain, table},
    },
    style::Style,
    words::Text,
};

/// Renders the sums of one kind, and the sum of all jobs.
pub(crate) fn report(style: &Style, report: &UsageReport, by: UsageBy) -> String {
    let UsageReport { days, agents, models, tools, dearest, .. } = report;
    let named = |names: &[NameSpent]| -> Vec<Vec<Piece>> {
        let row = |one: &NameSpent| row(escape::line(&one.name).into_owned(), one.jobs, &one.spent);
        names.iter().map(row).collect()
    };
    let (heads, rows) = match by {
        UsageBy::Day => {
            let rows = days.iter().map(|one| row(one.day.to_string(), one.jobs, &one.spent));
            (Text::UsageDayHeads, rows.collect())
        }
        UsageBy::Agent => (Text::UsageAgentHeads, named(agents)),
        UsageBy::Model => (Text::UsageModelHeads, named(models)),
        UsageBy::Tool => (Text::UsageToolHeads, named(tools)),
        UsageBy::Job => (Text::UsageJobHeads, dearest.iter().map(job).collect()),
    };
    let mut out = table(style, heads, rows, Text::NothingSpent);
    let since = &minute(report.since);
    let (jobs, money) = (&report.jobs, &money(&report.total));
    let Usage { input_tokens: input, cached_tokens: cached, output_tokens: output, .. } =
        &report.total.usage;
    let total = Text::UsageTotal { jobs, since, input, cached, output, money };
    out.push_str(&note(style, &style.say(total)));
    let written = &report.total.usage.written_tokens;
    if *written > 0 {
        out.push_str(&note(style, &style.say(Text::UsageWritten { written })));
    }
    let unpriced = report.total.unpriced;
    if !unpriced.is_nothing() {
        let tokens = &unpriced.input_tokens.saturating_add(unpriced.output_tokens);
        out.push_str(&note(style, &style.say(Text::UsageUnpriced { tokens })));
    }
    if let Some(reached) = report.reached {
        let reached = &minute(reached);
        out.push_str(&note(style, &style.say(Text::UsageReached { reached })));
    }
    out
}

fn row(name: String, jobs: u32, spent: &Spent) -> Vec<Piece> {
    let mut row = vec![plain(name), plain(jobs.to_string())];
    row.extend(figures(spent));
    row
}

fn job(one: &JobSpent) -> Vec<Piece> {
    let (mark, tone) = marks::job(one.state);
    let mut row = vec![plain(one.job.to_string()), (tone, format!("{mark} {}", one.state))];
    row.extend(figures(&one.spent));
    row.push(plain(escape::line(&one.goal).into_owned()));
    row
}

fn figures(spent: &Spent) -> [Piece; 4] {
    let Usage { input_tokens, cached_tokens, output_tokens, .. } = spent.usage;
    let counts = [input_tokens, cached_tokens, output_tokens].map(|n| plain(n.to_string()));
    let [input, cached, output] = counts;
    [input, cached, output, plain(money(spent))]
}

/// Formats the money that was spent. A part without a known price shows as `+ ?`, and never as 0.
fn money(spent: &Spent) -> String {
    match (spent.money, spent.unpriced.is_nothing()) {
        (Some(money), true) => format!("${money:.4}"),
        (Some(money), false) => format!("${money:.4} + ?"),
        (None, true) => "$0".to_owned(),
        (None, false) => "?".to_owned(),
    }
}

fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%MZ").to_string()
}
