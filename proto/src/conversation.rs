//! Conversations: jobs that follow each other. What a job is told of those before it is read from
//! their logs when it is submitted and stored with its submission, so that nothing else is needed
//! to replay it.

use serde::{Deserialize, Serialize};

use crate::{
    excerpt,
    id::{ConversationId, JobId},
    job::JobState,
    lang::Language,
};

messages::texts!(conversation);

/// What is carried over from job to job of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// How many of the jobs before, the newest (0 to 50).
    pub exchanges: u32,
    /// Characters kept of each end of their goals, answers and results (100 to 10,000).
    pub chars: u32,
    /// Whether the results of their steps are carried over beside the answer.
    pub results: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self { exchanges: 5, chars: 1000, results: false }
    }
}

impl Memory {
    /// Says which field is out of bounds.
    ///
    /// # Errors
    /// The field's name and what it must be.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.exchanges > 50 {
            return Err(("exchanges", "must be at most 50"));
        }
        if !(100..=10_000).contains(&self.chars) {
            return Err(("chars", "must be 100 to 10000"));
        }
        Ok(())
    }

    /// A text as it is carried over.
    #[must_use]
    pub fn cut(&self, text: &str) -> String {
        excerpt::ends(text, usize::try_from(self.chars).unwrap_or(usize::MAX))
    }
}

/// The conversation a job belongs to, and what it is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Which.
    pub id: ConversationId,
    /// Earlier jobs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// Jobs before those.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub omitted: u32,
}

/// An earlier job, as a later one is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The job.
    pub job: JobId,
    /// What it was to reach, cut.
    pub goal: String,
    /// Where it stood when the later job was submitted.
    pub state: JobState,
    /// Its answer, or the reason why it has no answer; truncated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// JSON of the results of its steps by step id, cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub results: String,
}

/// What a model is told of the earlier jobs of a conversation; empty when there are none.
#[must_use]
pub fn told(language: Language, earlier: &[Exchange]) -> String {
    if earlier.is_empty() {
        return String::new();
    }
    let (goal, answer) = (Text::Goal.text(language), Text::Answer.text(language));
    let results = Text::Results.text(language);
    let mut text = Text::Head.text(language);
    for (number, one) in earlier.iter().enumerate() {
        let Exchange { job: _, goal: said, state, response, results: found } = one;
        text.push_str(&format!(
            "\n\n[{}] {goal}: {said}\n{answer} ({state}): {response}",
            number + 1
        ));
        if !found.is_empty() {
            text.push_str(&format!("\n{results}: {found}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_what_was_asked_and_answered_in_order() {
        let one = |job: &str, goal: &str, state, response: &str| Exchange {
            job: JobId::new(job).unwrap(),
            goal: goal.into(),
            state,
            response: response.into(),
            results: String::new(),
        };
        assert_eq!(told(Language::En, &[]), "");
        let earlier = [
            one("a", "find a hotel", JobState::Completed, "The Palace"),
            one("b", "book it", JobState::Failed, "no rooms"),
        ];
        let text = told(Language::En, &earlier);
        assert!(text.contains("[1] Goal: find a hotel\nAnswer (completed): The Palace"), "{text}");
        assert!(text.contains("[2] Goal: book it\nAnswer (failed): no rooms"), "{text}");
        assert!(told(Language::Zh, &earlier).starts_with("此前的对话"));
    }

    #[test]
    fn bounds_are_named() {
        assert_eq!(Memory::default().check(), Ok(()));
        let wrong = Memory { exchanges: 51, ..Memory::default() };
        assert_eq!(wrong.check().unwrap_err().0, "exchanges");
        let wrong = Memory { chars: 9, ..Memory::default() };
        assert_eq!(wrong.check().unwrap_err().0, "chars");
    }
}
