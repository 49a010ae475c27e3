//! What an action on a job does, in sentences that users read before the action. Every user
//! interface says the same ones. A sentence also travels by its name and arguments, so that a client
//! can show it in the language of its user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    id::{JobId, Seq, ToolName},
    lang::Language,
    workflow::GraphChanges,
};

messages::reasons!(consequence);

/// Largest number of names that a sentence lists.
const NAMES: usize = 5;

/// An action, with the figures of what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    /// Ends a job.
    Cancel {
        /// Number of jobs below it that end, too.
        below: usize,
    },
    /// Pauses a job.
    Pause,
    /// Resumes a job.
    Resume,
    /// Ends the backoff of a job, and allows further attempts.
    Retry,
    /// Reads the log of a job that cannot be read again.
    Reread,
    /// Instructs a job.
    Steer,
    /// Reports an event to a workflow.
    Event,
    /// Changes the graph of a workflow.
    EditGraph {
        /// Changed nodes and parts.
        changes: GraphChanges,
    },
    /// Names a position of a job.
    Snapshot {
        /// Earlier record; absent for the present position.
        at: Option<Seq>,
    },
    /// Replaces a plan that waits for its confirmation.
    EditPlan {
        /// Number of the plan that is replaced, from 1.
        revision: u32,
    },
    /// Approves a call.
    Approve {
        /// Tool of the call.
        tool: ToolName,
        /// Size of its arguments.
        bytes: usize,
    },
    /// Rolls a job back to a record.
    RollBack(Undone),
    /// Rolls a job back to before a step.
    Restart {
        /// Title of the step.
        step: String,
        /// The work that the rollback undoes.
        undone: Undone,
    },
    /// Rolls a failed job back to before its failure.
    Recover(Undone),
    /// Continues as a new job.
    Fork {
        /// Last record that the fork takes along; absent for the present.
        at: Option<Seq>,
        /// The work that the fork does not take along.
        undone: Undone,
    },
}

/// The work that a rollback undoes, and the effects that stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// Number of records that no longer count.
    pub records: u64,
    /// Titles of the steps that run again.
    pub steps: Vec<String>,
    /// `true` if the planner makes the plan again.
    pub plans: bool,
    /// Tools whose effects stay.
    pub tools: Vec<ToolName>,
    /// Jobs below that end.
    pub ends: Vec<JobId>,
}

/// A sentence by its name in the language files, table `consequence`, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sentence {
    /// Name of the sentence.
    pub name: String,
    /// Arguments of the sentence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
}

impl From<Text<'_>> for Sentence {
    fn from(text: Text<'_>) -> Self {
        let (name, args) = text.parts();
        let args = args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { name: name.to_owned(), args }
    }
}

impl Sentence {
    /// Returns the sentence in a language, or `None` if this program does not know it.
    #[must_use]
    pub fn text(&self, language: Language) -> Option<String> {
        Text::of_parts(&self.name, |name| self.args.get(name).map(String::as_str), language)
    }
}

/// Returns sentences as one text, or `None` if this program does not know one of them.
#[must_use]
pub fn text_of(sentences: &[Sentence], language: Language) -> Option<String> {
    let texts: Option<Vec<String>> =
        sentences.iter().map(|sentence| sentence.text(language)).collect();
    let between = match language {
        Language::En => " ",
        Language::Zh => "",
    };
    texts.map(|texts| texts.join(between))
}

impl Consequence {
    /// Creates the consequence of a fork of which nothing but its position is known.
    #[must_use]
    pub fn fork(at: Option<Seq>) -> Self {
        Self::Fork { at, undone: Undone::default() }
    }

    /// Returns the sentences, the most important first.
    #[must_use]
    pub fn sentences(&self) -> Vec<Sentence> {
        let one = |text: Text<'_>| vec![Sentence::from(text)];
        match self {
            Self::Cancel { below: 0 } => one(Text::Cancel),
            Self::Cancel { below: 1 } => one(Text::CancelOneBelow),
            Self::Cancel { below } => one(Text::CancelBelow { n: below }),
            Self::Pause => one(Text::Pause),
            Self::Resume => one(Text::Resume),
            Self::Retry => one(Text::Retry),
            Self::Reread => one(Text::RetryUnread),
            Self::Steer => one(Text::Steer),
            Self::Event => one(Text::Event),
            Self::EditGraph { changes } => one(Text::EditGraph { changes }),
            Self::Snapshot { at: None } => one(Text::Snapshot),
            Self::Snapshot { at: Some(at) } => one(Text::SnapshotAt { at }),
            Self::EditPlan { revision } => one(Text::EditPlan { revision }),
            Self::Approve { tool, bytes } => one(Text::Approve { tool, bytes }),
            Self::RollBack(undone) => undone.after(match undone.records {
                0 => Text::RollBackNone,
                1 => Text::RollBackOne,
                _ => Text::RollBack { n: &undone.records },
            }),
            Self::Restart { step, undone } => undone.after(match undone.records {
                1 => Text::RestartOne { step },
                _ => Text::Restart { step, n: &undone.records },
            }),
            Self::Recover(undone) => undone.after(match undone.records {
                1 => Text::RecoverOne,
                _ => Text::Recover { n: &undone.records },
            }),
            Self::Fork { at: None, undone } => undone.after(Text::Fork),
            Self::Fork { at: Some(seq), undone } => undone.after(Text::ForkAt { seq }),
        }
    }

    /// Returns the sentences in a language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        text_of(&self.sentences(), language).unwrap_or_default()
    }
}

impl Undone {
    /// Returns the sentences that follow the first one.
    fn after(&self, first: Text<'_>) -> Vec<Sentence> {
        let mut all = vec![Sentence::from(first)];
        if self.plans {
            all.push(Text::PlansAgain.into());
        }
        if !self.steps.is_empty() {
            all.push(Text::Again { steps: &listed(&self.steps) }.into());
        }
        match self.ends.as_slice() {
            [] => {}
            [job] => all.push(Text::EndsOne { job }.into()),
            jobs => all.push(Text::Ends { n: &jobs.len() }.into()),
        }
        if !self.tools.is_empty() {
            let tools: Vec<String> = self.tools.iter().map(ToString::to_string).collect();
            all.push(Text::Outside { tools: &listed(&tools) }.into());
        }
        all
    }
}

/// Lists names, of which the first ones stand for all.
fn listed(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} +{more}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(records: u64, steps: &[&str], tools: &[&str]) -> Undone {
        Undone {
            records,
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
            tools: tools.iter().map(|tool| ToolName::new(*tool).unwrap()).collect(),
            ..Undone::default()
        }
    }

    #[test]
    fn a_rollback_names_what_runs_again_and_what_stays_done() {
        let of = |undone: Undone| Consequence::RollBack(undone).text(Language::En);
        assert_eq!(
            of(undone(7, &["Write", "Send"], &["mail"])),
            "7 records no longer count. These steps run again: Write, Send. What mail did outside \
             stays done."
        );
        assert_eq!(of(undone(1, &[], &[])), "1 record no longer counts.");
        assert!(of(undone(0, &[], &[])).starts_with("Every record still counts"));
        let many = undone(9, &["a", "b", "c", "d", "e", "f", "g"], &[]);
        assert!(of(many).ends_with("run again: a, b, c, d, e +2."));
        let planned = Undone { plans: true, ..undone(3, &[], &[]) };
        assert_eq!(of(planned), "3 records no longer count. The planner makes the plan again.");
    }

    #[test]
    fn the_jobs_below_are_counted() {
        let cancel = |below| Consequence::Cancel { below }.text(Language::En);
        assert!(cancel(0).starts_with("Ends the job. "));
        assert!(cancel(1).starts_with("Ends the job and the job below it."));
        assert!(cancel(3).starts_with("Ends the job and 3 jobs below it."));
        let job = |id| JobId::new(id).unwrap();
        let ends = |ends| Consequence::RollBack(Undone { ends, ..undone(2, &[], &[]) });
        assert!(ends(vec![job("a")]).text(Language::En).ends_with("The job a below it ends."));
        let two = ends(vec![job("a"), job("b")]);
        assert!(two.text(Language::En).ends_with("2 jobs below it end."));
    }

    #[test]
    fn each_action_has_sentences_that_travel_and_come_out_the_same_in_every_language() {
        let tool = ToolName::new("pay").unwrap();
        let step = "Write".to_owned();
        for consequence in [
            Consequence::Cancel { below: 2 },
            Consequence::Pause,
            Consequence::Resume,
            Consequence::Retry,
            Consequence::Reread,
            Consequence::Steer,
            Consequence::Event,
            Consequence::EditGraph {
                changes: GraphChanges { whole: true, ..GraphChanges::default() },
            },
            Consequence::Snapshot { at: None },
            Consequence::Snapshot { at: Some(Seq(5)) },
            Consequence::EditPlan { revision: 2 },
            Consequence::Approve { tool, bytes: 17 },
            Consequence::RollBack(undone(7, &["Write"], &["mail"])),
            Consequence::Restart { step, undone: undone(1, &["Write"], &[]) },
            Consequence::Recover(undone(2, &["Write"], &[])),
            Consequence::fork(Some(Seq(5))),
            Consequence::fork(None),
        ] {
            let json = serde_json::to_string(&consequence.sentences()).unwrap();
            let received: Vec<Sentence> = serde_json::from_str(&json).unwrap();
            for language in Language::ALL {
                let text = consequence.text(*language);
                assert!(!text.is_empty());
                assert_eq!(text_of(&received, *language), Some(text));
            }
        }
        let unknown = Sentence { name: "of_another_release".to_owned(), args: BTreeMap::new() };
        assert_eq!(text_of(&[unknown], Language::En), None);
    }
}
