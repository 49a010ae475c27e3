//! Rendering of the difference between two points of a job, or between a job and its fork.

use proto::{
    diff::{Changed, JobDiff, Side},
    escape,
    job::Outcome,
    revision::Change,
};

use crate::{
    render::line::Line,
    style::{Style, Tone},
};

/// Characters of a result that are displayed.
const SHOWN: usize = 200;

/// Renders the difference, one line per item.
pub(crate) fn show(style: &Style, diff: &JobDiff) -> String {
    let mut out = String::new();
    let mut line = |tone, text: String| {
        out.push_str(&format!("{}\n", Line::new().add(tone, text).render(style)));
    };
    line(Tone::Bad, format!("--- {}", side(&diff.from)));
    line(Tone::Good, format!("+++ {}", side(&diff.to)));
    if diff.is_nothing() {
        line(Tone::Dim, "nothing differs".to_owned());
    }
    if diff.from.state != diff.to.state {
        line(Tone::Plain, format!("state: {} → {}", diff.from.state, diff.to.state));
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
            let word = if success { "with success" } else { "without success" };
            line(Tone::Plain, format!("{}: completed {word}", step.id));
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
        line(Tone::Good, format!("+ told: {}", short(said)));
    }
    if let Some(Changed { from, to }) = &diff.outcome {
        for (mark, tone, outcome) in [('-', Tone::Bad, from), ('+', Tone::Good, to)] {
            outcome.iter().for_each(|outcome| line(tone, format!("{mark} {}", end(outcome))));
        }
    }
    if let Some(Changed { from, to }) = &diff.usage {
        let text = format!(
            "tokens: {} in, {} out → {} in, {} out",
            from.input_tokens, from.output_tokens, to.input_tokens, to.output_tokens
        );
        line(Tone::Plain, text);
    }
    out
}

fn side(side: &Side) -> String {
    let generation = match side.generation.0 {
        0 => String::new(),
        n => format!(", generation {n}"),
    };
    format!("{} at record {}{generation}", side.job, side.seq)
}

fn tone(change: Change) -> Tone {
    match change {
        Change::Added => Tone::Good,
        Change::Kept => Tone::Plain,
        Change::Dropped => Tone::Bad,
    }
}

fn end(outcome: &Outcome) -> String {
    let (word, said) = match outcome {
        Outcome::Completed { summary, .. } => ("completed", summary.as_str()),
        Outcome::Failed { message, .. } => ("failed", message.as_str()),
        Outcome::Canceled { reason } => ("canceled", reason.as_deref().unwrap_or_default()),
    };
    format!("{word}: {}", short(said))
}

fn short(text: &str) -> String {
    let line = escape::line(text).into_owned();
    match line.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}
