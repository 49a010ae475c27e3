//! Conversations: sequences of jobs. The exchanges that a job may read are taken from the earlier
//! jobs' logs at its submission and stored with it, so a replay needs no other log.

use serde::{Deserialize, Serialize};

use crate::{
    bounds::Text as Bound,
    excerpt,
    fence::fenced,
    id::{ConversationId, JobId},
    job::JobState,
    lang::{Language, Words},
};

messages::texts!(conversation);

/// The policy of the context that passes between the jobs of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Number of the latest earlier jobs that are included (0 to 50).
    pub exchanges: u32,
    /// Characters that each end of their goals, answers and results keeps (100 to 10,000).
    pub chars: u32,
    /// `true` if the results of their steps are included, besides the answers.
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
    /// Returns the first field that is out of bounds, and its requirement.
    pub fn check(&self) -> Result<(), (&'static str, Words)> {
        if self.exchanges > 50 {
            return Err(("exchanges", Bound::AtMost { max: &50 }.into()));
        }
        if !(100..=10_000).contains(&self.chars) {
            return Err(("chars", Bound::Between { low: &100, high: &10_000 }.into()));
        }
        Ok(())
    }

    /// Returns a text with its middle removed when it is longer than both kept ends.
    #[must_use]
    pub fn cut(&self, text: &str) -> String {
        excerpt::ends(text, usize::try_from(self.chars).unwrap_or(usize::MAX))
    }
}

/// The conversation that a job belongs to, with the earlier exchanges that the job may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Id of the conversation.
    pub id: ConversationId,
    /// Latest earlier jobs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// Number of earlier jobs that are left out.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub omitted: u32,
}

/// An earlier job of the conversation, as a later one reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Id of the earlier job.
    pub job: JobId,
    /// Goal of the earlier job, truncated.
    pub goal: String,
    /// State of the earlier job when the later one was submitted.
    pub state: JobState,
    /// Answer, or the reason why there is no answer; truncated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// JSON of the results of the steps by step id, truncated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub results: String,
}

/// Returns the text about the earlier jobs for a model; empty without earlier jobs.
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
        let (said, response, found) = (fenced(said), fenced(response), fenced(found));
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
