//! Rendering of the results of `agents test`: a line for each case, and what failed.

use proto::escape;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use simulation::cases::{Chaos, Excuse, Expectation, Finding, Report};

use crate::{
    render::line::Line,
    style::{Style, Tone},
    words::Text,
};

/// The result of one case.
#[derive(Debug, Serialize)]
pub(crate) struct Tested {
    pub(crate) case: String,
    pub(crate) passed: bool,
    /// The run without faults, or with those of the one seed that was asked for.
    pub(crate) run: Report,
    /// The runs with the faults of many seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chaos: Option<Chaos>,
    /// The events of the run, one a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) trace: Vec<String>,
}

/// Renders the cases of a file, and the sum.
pub(crate) fn tested(style: &Style, file: &str, all: &[Tested]) -> String {
    let mut out = Lines { style, out: String::new() };
    for one in all {
        one.trace.iter().for_each(|line| out.add(Tone::Dim, line));
        out.case(file, one);
    }
    let failed = all.iter().filter(|one| !one.passed).count();
    let passed = &(all.len() - failed);
    match failed {
        0 => out.add(Tone::Good, &style.say(Text::CasesPassed { passed })),
        _ => out.add(Tone::Bad, &style.say(Text::CasesFailed { passed, failed: &failed })),
    }
    out.out
}

/// Lines under the name of a case.
pub(super) struct Lines<'a> {
    pub(super) style: &'a Style,
    pub(super) out: String,
}

impl Lines<'_> {
    pub(super) fn add(&mut self, tone: Tone, text: &str) {
        let line = Line::new().add(tone, escape::line(text).into_owned());
        self.out.push_str(&format!("{}\n", line.render(self.style)));
    }

    fn case(&mut self, file: &str, one: &Tested) {
        self.run(&one.case, one.passed, &one.run);
        if let Some(chaos) = &one.chaos {
            self.chaos(file, one, chaos);
        }
    }

    /// Adds a run with its findings.
    pub(super) fn run(&mut self, case: &str, passed: bool, run: &Report) {
        let (mark, tone) = if passed { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        let end = &run.end;
        let state = end.state.map_or("–", |state| state.as_str());
        let (turns, tokens) = (&end.turns, &end.tokens);
        let figures = self.style.say(Text::CaseFigures { state: &state, turns, tokens });
        let line = Line::new()
            .add(tone, mark)
            .add(Tone::Plain, format!(" {}  ", escape::line(case)))
            .add(Tone::Dim, figures);
        self.out.push_str(&format!("{}\n", line.render(self.style)));
        self.report(run);
    }

    fn chaos(&mut self, file: &str, one: &Tested, chaos: &Chaos) {
        let Chaos { seeds, excused, failures, failed, .. } = chaos;
        let tone = if *failures == 0 { Tone::Dim } else { Tone::Bad };
        let text = self.style.say(Text::ChaosSum { seeds, failures, excused });
        self.add(tone, &format!("  {text}"));
        for report in failed {
            let seed = &report.seed.unwrap_or_default();
            self.add(Tone::Bad, &format!("  {}", self.style.say(Text::ChaosSeed { seed })));
            self.report(report);
            let command = format!(
                "callboard agents test {file} --case {:?} --chaos-seed {seed} --trace",
                one.case
            );
            self.add(Tone::Dim, &format!("    → {command}"));
        }
    }

    fn report(&mut self, report: &Report) {
        for finding in &report.findings {
            self.finding(finding);
        }
        for what in &report.broken {
            self.add(Tone::Bad, &format!("    {}", self.style.say(Text::PromiseBroken { what })));
        }
        if let Some(excuse) = report.excuse {
            let text = self.style.say(match excuse {
                Excuse::Unknown => Text::ExcusedUnknown,
                Excuse::Attempts => Text::ExcusedAttempts,
                Excuse::Endless => Text::ExcusedEndless,
            });
            self.add(Tone::Dim, &format!("    {text}"));
        }
    }

    fn finding(&mut self, finding: &Finding) {
        let Finding { expectation, about, expected, found } = finding;
        let title = self.style.say(title(*expectation));
        let title = if about.is_empty() { title } else { format!("{title} ({about})") };
        if expected.is_empty() {
            self.add(Tone::Bad, &format!("    {title}:"));
            found.lines().for_each(|line| self.add(Tone::Plain, &format!("      {line}")));
            return;
        }
        let is_compared = match expectation {
            Expectation::Path | Expectation::Steps | Expectation::Visits | Expectation::Output => {
                true
            }
            Expectation::Result => matches!(about.as_str(), "text" | "json"),
            Expectation::Submission
            | Expectation::Script
            | Expectation::Results
            | Expectation::Answers
            | Expectation::State
            | Expectation::Calls
            | Expectation::NotCalled
            | Expectation::Effects
            | Expectation::Questions
            | Expectation::Turns
            | Expectation::Tokens
            | Expectation::Cost => false,
        };
        let has_lines = expected.contains('\n') || found.contains('\n');
        if has_lines && !is_compared {
            let text = self.style.say(Text::ExpectedLines { expected });
            self.add(Tone::Bad, &format!("    {title}: {text}"));
            found.lines().for_each(|line| self.add(Tone::Plain, &format!("      {line}")));
            return;
        }
        if has_lines {
            self.add(Tone::Bad, &format!("    {title}: {}", self.style.say(Text::DiffHead)));
            self.diff(expected, found);
            return;
        }
        let nothing = || self.style.say(Text::NothingFound);
        let found = if found.is_empty() { nothing() } else { found.clone() };
        let text = self.style.say(Text::ExpectedFound { expected, found: &found });
        self.add(Tone::Bad, &format!("    {title}: {text}"));
    }

    fn diff(&mut self, expected: &str, found: &str) {
        for change in TextDiff::from_lines(expected, found).iter_all_changes() {
            let tone = match change.tag() {
                ChangeTag::Delete => Tone::Bad,
                ChangeTag::Insert => Tone::Good,
                ChangeTag::Equal => Tone::Plain,
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            self.add(tone, &format!("      {}{text}", change.tag()));
        }
    }
}

fn title(expectation: Expectation) -> Text<'static> {
    match expectation {
        Expectation::Submission => Text::ExpectSubmission,
        Expectation::Script => Text::ExpectScript,
        Expectation::Results => Text::ExpectResults,
        Expectation::Answers => Text::ExpectAnswers,
        Expectation::State => Text::ExpectState,
        Expectation::Result => Text::ExpectResult,
        Expectation::Steps => Text::ExpectSteps,
        Expectation::Path => Text::ExpectPath,
        Expectation::Visits => Text::ExpectVisits,
        Expectation::Output => Text::ExpectOutput,
        Expectation::Calls => Text::ExpectCalls,
        Expectation::NotCalled => Text::ExpectNotCalled,
        Expectation::Effects => Text::ExpectEffects,
        Expectation::Questions => Text::ExpectQuestions,
        Expectation::Turns => Text::ExpectTurns,
        Expectation::Tokens => Text::ExpectTokens,
        Expectation::Cost => Text::ExpectCost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(expectation: Expectation, about: &str, expected: &str, found: &str) -> Finding {
        let text = str::to_owned;
        let (about, expected, found) = (text(about), text(expected), text(found));
        Finding { expectation, about, expected, found }
    }

    fn report(seed: Option<u64>, findings: Vec<Finding>) -> Report {
        let (broken, excuse, end) = (Vec::new(), None, simulation::cases::End::default());
        Report { seed, findings, broken, excuse, end }
    }

    #[test]
    fn what_failed_is_shown_with_the_expected_the_found_and_the_command_that_repeats_it() {
        let path = finding(Expectation::Path, "exactly", "plan\ncall a", "plan\ncall b");
        let twice = finding(Expectation::Effects, "pay", "1", "2");
        let silent = finding(Expectation::Script, "", "", "\u{1b}[31mwhat now?");
        let chaos = Chaos {
            seeds: 10,
            excused: 2,
            failures: 1,
            failed: vec![Report {
                broken: vec!["job-1: does not come to rest".to_owned()],
                ..report(Some(4), vec![twice])
            }],
            ..Chaos::default()
        };
        let one = Tested {
            case: "it pays".to_owned(),
            passed: false,
            run: report(None, vec![path, silent]),
            chaos: Some(chaos),
            trace: Vec::new(),
        };
        let expected = r#"✗ it pays  –, turns: 0, tokens: 0
    path (exactly): expected (-), found (+)
       plan
      -call a
      +call b
    the script has no reply; the last message was:
      \u{1b}[31mwhat now?
  chaos: 10 seeds, 1 failed, 2 excused
  seed 4:
    effects (pay): expected 1, found 2
    Callboard broke a promise, which is a defect of Callboard: job-1: does not come to rest
    → callboard agents test t.yaml --case "it pays" --chaos-seed 4 --trace
1 failed, 0 passed
"#;
        assert_eq!(tested(&Style::plain(None), "t.yaml", &[one]), expected);
    }
}
