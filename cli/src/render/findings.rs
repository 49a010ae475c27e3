//! Findings of `callboard doctor`, with advice.

use proto::{
    escape,
    lang::{Language, Words},
};
use serde::{Serialize, Serializer};

use crate::{
    failure::CliError,
    style::{Style, Tone},
    text,
};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Grade {
    /// No problem.
    Ok,
    /// The check could not run because an earlier one failed.
    Skipped,
    /// A risk or an unusual setting; work is possible.
    Warning,
    /// A problem that prevents work.
    Bad,
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// Stable identifier of the check.
    pub(crate) check: &'static str,
    pub(crate) grade: Grade,
    #[serde(serialize_with = "english")]
    pub(crate) found: Words,
    /// Advice about the next step.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "english_if_any")]
    pub(crate) advice: Option<Words>,
}

/// Programs read English in every locale.
fn english<S: Serializer>(words: &Words, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(words.text(Language::En))
}

fn english_if_any<S: Serializer>(words: &Option<Words>, serializer: S) -> Result<S::Ok, S::Error> {
    words.as_ref().map(|words| words.text(Language::En)).serialize(serializer)
}

impl Finding {
    /// A problem that a command reports as its error.
    pub(crate) fn error(check: &'static str, error: &CliError) -> Self {
        let hint = error.hint.clone().unwrap_or_else(|| "".into());
        Self::bad(check, error.message.clone(), hint)
    }

    fn new(check: &'static str, grade: Grade, found: impl Into<Words>) -> Self {
        Self { check, grade, found: found.into(), advice: None }
    }

    /// A check without problem.
    pub(crate) fn ok(check: &'static str, found: impl Into<Words>) -> Self {
        Self::new(check, Grade::Ok, found)
    }

    /// A check that could not run.
    pub(crate) fn skipped(check: &'static str, why: impl Into<Words>) -> Self {
        Self::new(check, Grade::Skipped, why)
    }

    /// A check with a warning.
    pub(crate) fn warning(
        check: &'static str,
        found: impl Into<Words>,
        advice: impl Into<Words>,
    ) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(check, Grade::Warning, found) }
    }

    /// A check with a problem.
    pub(crate) fn bad(
        check: &'static str,
        found: impl Into<Words>,
        advice: impl Into<Words>,
    ) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(check, Grade::Bad, found) }
    }
}

/// Renders the findings, in the order of the checks.
pub(crate) fn list(style: &Style, findings: &[Finding]) -> String {
    let widest = findings.iter().map(|f| f.check.len()).max().unwrap_or(0);
    let narrow = style.width.is_some_and(|width| width < 60);
    let lead = if narrow { 2 } else { widest + 4 };
    let mut out = String::new();
    for finding in findings {
        let (mark, tone) = match finding.grade {
            Grade::Ok => ("✓", Tone::Good),
            Grade::Skipped => ("–", Tone::Dim),
            Grade::Warning => ("!", Tone::Wait),
            Grade::Bad => ("✗", Tone::Bad),
        };
        let head = format!("{mark} {:widest$}", finding.check);
        let found =
            text::indent(&escape::text(finding.found.text(style.language)), lead, style.columns());
        out.push_str(&style.paint(tone, head.trim_end()));
        if narrow {
            out.push('\n');
            out.push_str(&found);
        } else {
            out.push_str(&" ".repeat(lead - text::width(head.trim_end())));
            out.push_str(found.trim_start());
        }
        if let Some(advice) = &finding.advice {
            let advice = format!("→ {}", escape::text(advice.text(style.language)));
            for line in text::indent(&advice, lead, style.columns()).lines() {
                out.push_str(&format!("{}\n", style.paint(tone, line)));
            }
        }
    }
    out
}
