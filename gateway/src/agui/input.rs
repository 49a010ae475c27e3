//! The input of an AG-UI run. Pure.
//!
//! Fields that Callboard has no use for (`tools`, `context`, `forwardedProps`) are not read: the
//! agent file names the tools of a job, and the conversation has its history.

use proto::{
    door::{AgentChoice, Submit},
    id::{AgentName, ConversationId},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Namespace of the conversations of threads whose id is no id here.
const THREADS: Uuid = Uuid::from_u128(0x9d3b_6f1c_52a4_4e0e_8f57_6c1d_2b90_7ae3);

/// A request to run an agent, or to go on after an interrupt.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunAgentInput {
    pub(super) thread_id: String,
    pub(super) run_id: String,
    #[serde(default)]
    state: Value,
    #[serde(default)]
    messages: Vec<ThreadMessage>,
    #[serde(default)]
    pub(super) resume: Vec<ResumeEntry>,
}

/// An answer to an interrupt.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResumeEntry {
    pub(super) interrupt_id: String,
    pub(super) status: ResumeStatus,
    #[serde(default)]
    pub(super) payload: Value,
}

/// The user's decision about an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResumeStatus {
    /// The user answered.
    Resolved,
    /// The user declined.
    Cancelled,
}

/// A message of the thread. Only the last one of the user matters.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct ThreadMessage {
    #[serde(default)]
    id: Option<String>,
    role: String,
    #[serde(default)]
    content: Value,
}

/// The last message of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) text: String,
}

/// The reason for which a thread has no goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoGoal {
    /// The user said nothing.
    NoText,
    /// The message has a part that is no text.
    OtherPart,
}

impl RunAgentInput {
    /// Returns the members of the client's state, which the run's snapshots keep.
    pub(super) fn state(&self) -> Map<String, Value> {
        self.state.as_object().cloned().unwrap_or_default()
    }

    /// Returns the conversation of the thread.
    pub(super) fn conversation(&self) -> ConversationId {
        ConversationId::new(self.thread_id.clone()).unwrap_or_else(|_| {
            let id = Uuid::new_v5(&THREADS, self.thread_id.as_bytes()).simple().to_string();
            ConversationId::new(id).expect("32 hex digits are an id")
        })
    }

    /// Returns the last message of the user.
    pub(super) fn message(&self) -> Result<Message, NoGoal> {
        let last = self.messages.iter().rev().find(|message| message.role == "user");
        let last = last.ok_or(NoGoal::NoText)?;
        let text = text(&last.content)?;
        if text.trim().is_empty() {
            return Err(NoGoal::NoText);
        }
        Ok(Message { id: last.id.clone(), text })
    }

    /// Returns the submission of the last message of the user, without an id.
    pub(super) fn submit(&self, agent: AgentName) -> Result<Submit, NoGoal> {
        let goal = self.message()?.text;
        let (agent, conversation) = (Some(AgentChoice::Named(agent)), Some(self.conversation()));
        Ok(Submit { agent, conversation, ..Submit::goal(goal) })
    }
}

/// Returns the text of a message: a string, or parts that are all texts.
fn text(content: &Value) -> Result<String, NoGoal> {
    if let Value::Array(parts) = content {
        let texts: Option<Vec<&str>> =
            parts.iter().map(|part| part.get("text")?.as_str()).collect();
        return Ok(texts.ok_or(NoGoal::OtherPart)?.join("\n"));
    }
    content.as_str().map(str::to_owned).ok_or(NoGoal::NoText)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn input(messages: &Value) -> RunAgentInput {
        let input = json!({"threadId": "t1", "runId": "r1", "messages": messages, "tools": []});
        serde_json::from_value(input).unwrap()
    }

    #[rstest]
    #[case::the_last_of_the_user(json!([{"role": "user", "content": "old"}, {"role": "assistant", "content": "done"}, {"role": "user", "content": "new"}]), Ok("new"))]
    #[case::parts(json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]), Ok("a\nb"))]
    #[case::an_image(json!([{"role": "user", "content": [{"type": "image", "source": {}}]}]), Err(NoGoal::OtherPart))]
    #[case::only_the_agent(json!([{"role": "assistant", "content": "done"}]), Err(NoGoal::NoText))]
    #[case::blank(json!([{"role": "user", "content": " "}]), Err(NoGoal::NoText))]
    #[case::nothing(json!([]), Err(NoGoal::NoText))]
    fn the_goal_is_the_last_message_of_the_user(
        #[case] messages: Value,
        #[case] goal: Result<&str, NoGoal>,
    ) {
        let submitted = input(&messages).submit(AgentName::new("default").unwrap());
        assert_eq!(submitted.map(|submit| submit.goal), goal.map(str::to_owned));
    }

    #[test]
    fn every_thread_has_one_conversation() {
        let of = |thread: &str| {
            let input = json!({"threadId": thread, "runId": "r1"});
            serde_json::from_value::<RunAgentInput>(input).unwrap().conversation()
        };
        assert_eq!(of("thread-1").as_str(), "thread-1");
        assert_eq!(of("a thread / 1"), of("a thread / 1"));
        assert_ne!(of("a thread / 1"), of("a thread / 2"));
    }
}
