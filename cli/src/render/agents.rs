//! Rendering of agents: a list, a single agent, and mistakes in files.

use agents::source::Mistake;
use proto::{
    door::{AgentEntry, AgentList},
    escape,
};

use crate::{
    render::table::{Piece, plain, table},
    style::{Style, Tone},
    words::Text,
};

/// Renders the list, by name.
pub(crate) fn list(style: &Style, agents: &AgentList) -> String {
    let rows = agents.agents.iter().map(|agent| row(style, agent)).collect();
    table(style, Text::AgentsHeads, rows, Text::NoAgents)
}

fn row(style: &Style, agent: &AgentEntry) -> Vec<Piece> {
    let extends = agent.extends.as_ref().map_or("–".to_owned(), ToString::to_string);
    let about = match (agent.mistakes.as_slice(), agent.ignored.as_slice()) {
        ([why, ..], _) => (Tone::Bad, style.say(Text::AgentUnusable { why: &escape::line(why) })),
        ([], [why, ..]) => (Tone::Bad, style.say(Text::BucketIgnored { why: &escape::line(why) })),
        ([], []) => plain(escape::line(&agent.about)),
    };
    vec![plain(agent.name.as_str()), plain(agent.layer.as_str()), plain(extends), about]
}

/// Renders an agent: its text, which is a valid agent file, and its effective values as comments.
pub(crate) fn show(style: &Style, agent: &AgentEntry) -> String {
    let mut out = match &agent.text {
        Some(text) => {
            let text = escape::text(text.trim_end());
            format!("# {}\n{text}\n", escape::line(&agent.place))
        }
        None => format!("{}\n", style.say(Text::NoFile { name: &escape::line(&agent.place) })),
    };
    for mistake in &agent.mistakes {
        out.push_str(&format!("{}\n", style.say(Text::Wrong { why: &escape::line(mistake) })));
    }
    for why in &agent.ignored {
        let why = style.say(Text::IgnoredValue { why: &escape::line(why) });
        out.push_str(&format!("{why}\n"));
    }
    if let Some(policies) = &agent.policies {
        let json = serde_json::to_string_pretty(policies).unwrap_or_default();
        out.push_str(&format!("\n{}\n", style.say(Text::Effective)));
        for line in json.lines() {
            out.push_str(&format!("#   {}\n", escape::line(line)));
        }
    }
    out
}

/// Renders the result of checking one file.
pub(crate) fn checked(style: &Style, place: &str, mistakes: &[Mistake]) -> String {
    if mistakes.is_empty() {
        return format!("{} {}\n", style.paint(Tone::Good, "✓"), escape::line(place));
    }
    let lines = mistakes.iter().map(|mistake| {
        let mistake = mistake.text(style.language);
        format!("{} {}\n", style.paint(Tone::Bad, "✗"), escape::line(&mistake))
    });
    lines.collect()
}
