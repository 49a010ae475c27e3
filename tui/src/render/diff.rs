//! Rendering of the difference between two points of a job, or between a job and its fork.

use proto::{
    diff::{Changed, JobDiff, Side},
    escape,
    job::Outcome,
    revision::Change,
};

use super::{
    line::Line,
    style::{Style, Tone},
    words::Text,
};

/// Characters of a result that are displayed.
const SHOWN: usize = 200;

/// Renders the difference, one line per item.
#[must_use]
pub fn show(style: &Style, diff: &JobDiff) -> String {
    rows(style, diff).iter().map(|line| format!("{}\n", line.render(style))).collect()
}

/// Returns the difference as lines of any width, one per item.
#[must_use]
pub fn rows(style: &Style, diff: &JobDiff) -> Vec<Line> {
    let mut out = Vec::new();
    let mut line = |tone, text: String| out.push(Line::new().add(tone, text));
    line(Tone::Bad, format!("--- {}", side(style, &diff.from)));
    line(Tone::Good, format!("+++ {}", side(style, &diff.to)));
    if diff.is_nothing() {
        line(Tone::Dim, style.say(Text::DiffNothing));
    }
    if diff.from.state != diff.to.state {
        let (from, to) = (&diff.from.state, &diff.to.state);
        line(Tone::Plain, style.say(Text::DiffState { from, to }));
    }
    for step in &diff.plan {
        let label = escape::line(&step.label);
        let text = format!("{} {} {label} · {}", step.change.mark(), step.id, step.state);
        line(tone(step.change), text);
    }
    for step in &diff.steps {
        if let Some(Changed { from, to }) = &step.state {
            line(Tone::Plain, format!("{}: {from} → {to}", step.id));
        }
        if let Some(Changed { to: Some(success), .. }) = step.success {
            let step = &step.id;
            let text =
                if success { Text::DiffSuccess { step } } else { Text::DiffFailure { step } };
            line(Tone::Plain, style.say(text));
        }
        if let Some(Changed { from, to }) = &step.response {
            for (mark, tone, said) in [('-', Tone::Bad, from), ('+', Tone::Good, to)] {
                said.iter().for_each(|said| line(tone, format!("  {mark} {}", short(said))));
            }
        }
    }
    for question in &diff.questions {
        let text =
            format!("{} {}: {}", question.change.mark(), question.id, short(&question.prompt));
        line(tone(question.change), text);
    }
    for said in &diff.instructions {
        line(Tone::Good, format!("+ {}", style.say(Text::DiffTold { words: &short(said) })));
    }
    if let Some(Changed { from, to }) = &diff.outcome {
        for (mark, tone, outcome) in [('-', Tone::Bad, from), ('+', Tone::Good, to)] {
            outcome
                .iter()
                .for_each(|outcome| line(tone, format!("{mark} {}", end(style, outcome))));
        }
    }
    if let Some(Changed { from, to }) = &diff.usage {
        let text = Text::DiffTokens {
            input: &from.input_tokens,
            output: &from.output_tokens,
            later_input: &to.input_tokens,
            later_output: &to.output_tokens,
        };
        line(Tone::Plain, style.say(text));
    }
    out
}

/// Says that a job completed with this answer.
#[must_use]
pub fn completed(style: &Style, summary: &str) -> String {
    style.say(Text::LogCompleted { summary: &summary })
}

/// Says that a job failed for this reason.
#[must_use]
pub fn failed(style: &Style, reason: &str) -> String {
    style.say(Text::Failed { reason: &reason })
}

fn side(style: &Style, Side { job, seq, generation, .. }: &Side) -> String {
    match generation.0 {
        0 => style.say(Text::DiffSide { job, seq }),
        _ => style.say(Text::DiffSideAfter { job, seq, generation }),
    }
}

fn tone(change: Change) -> Tone {
    match change {
        Change::Added => Tone::Good,
        Change::Kept => Tone::Plain,
        Change::Dropped => Tone::Bad,
    }
}

fn end(style: &Style, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed { summary, .. } => completed(style, &short(summary)),
        Outcome::Failed { message, .. } => failed(style, &short(message)),
        Outcome::Canceled { reason } => {
            let reason = &short(reason.as_deref().unwrap_or_default());
            style.say(Text::DiffCanceled { reason })
        }
    }
}

fn short(text: &str) -> String {
    let line = escape::line(text).into_owned();
    match line.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}
