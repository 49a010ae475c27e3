//! The names of Callboard's own attributes, and of those of the semantic conventions it uses, in one
//! place, so that a span and a metric cannot spell one differently.

pub use opentelemetry_semantic_conventions::attribute::{
    ERROR_TYPE, MESSAGING_BATCH_MESSAGE_COUNT, MESSAGING_CONSUMER_GROUP_NAME,
    MESSAGING_DESTINATION_NAME, MESSAGING_DESTINATION_PARTITION_ID, MESSAGING_DESTINATION_TEMPLATE,
    MESSAGING_MESSAGE_ID, MESSAGING_OPERATION_NAME, MESSAGING_OPERATION_TYPE, MESSAGING_SYSTEM,
};

// The GenAI conventions are those of 1.42.0, the last release of the common conventions that has
// them; the crate marks them as moved to a repository of their own, so they stand here.

/// The agent: the policy of a job.
pub const GEN_AI_AGENT_NAME: &str = "gen_ai.agent.name";
/// `invoke_agent`, `plan`, `chat` or `execute_tool`.
pub const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";
/// What belongs together; a job, for now.
pub const GEN_AI_CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// What a tool was given. Content.
pub const GEN_AI_TOOL_CALL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// A call, as the model named it.
pub const GEN_AI_TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// What a tool gave. Content.
pub const GEN_AI_TOOL_CALL_RESULT: &str = "gen_ai.tool.call.result";
/// A tool.
pub const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";
/// `function`.
pub const GEN_AI_TOOL_TYPE: &str = "gen_ai.tool.type";
/// Tokens that were read.
pub const GEN_AI_USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens that were written.
pub const GEN_AI_USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";

/// The roles of a process, comma-separated.
pub const ROLES: &str = "callboard.roles";
/// One role.
pub const ROLE: &str = "callboard.role";
/// A job's id. In spans and logs only.
pub const JOB_ID: &str = "callboard.job.id";
/// A step's id. In spans only.
pub const STEP_ID: &str = "callboard.step.id";
/// The name of a unit of work. In spans only.
pub const WORK: &str = "callboard.work";
/// Which attempt at a unit of work. In spans only.
pub const ATTEMPT: &str = "callboard.attempt";
/// Which run of the job, counted up by rolling it back. In spans only.
pub const GENERATION: &str = "callboard.generation";
/// How often a command was handed out. In spans only.
pub const DELIVERED: &str = "callboard.delivered";
/// A record's position in its log. In spans only.
pub const SEQ: &str = "callboard.seq";
/// A question's id. In spans only.
pub const ASK_ID: &str = "callboard.ask.id";
/// The state of a job in A2A's words.
pub const JOB_STATE: &str = "callboard.job.state";
/// What a job is at.
pub const JOB_STATUS: &str = "callboard.job.status";
/// `in` for facts, `do` for decisions.
pub const RECORD_FAMILY: &str = "callboard.record.family";
/// The kind of a record.
pub const RECORD_KIND: &str = "callboard.record.kind";
/// The kind of a command.
pub const COMMAND_KIND: &str = "callboard.command.kind";
/// Who may take a command.
pub const POOL: &str = "callboard.pool";
/// `pending` or `in_flight`.
pub const QUEUE_STATE: &str = "callboard.queue.state";
/// A shard's number.
pub const SHARD: &str = "callboard.shard";
/// What became of a command.
pub const OUTCOME: &str = "callboard.outcome";
/// Why something lies where nobody takes it up.
pub const DEAD_LETTER_REASON: &str = "callboard.dead_letter.reason";
/// What a job may spend and is near the end of: `steps`, `turns`, `tokens`, `money`, `time`, …
pub const BUDGET_AXIS: &str = "callboard.budget.axis";
/// The verb of a request at the front door.
pub const DOOR_VERB: &str = "callboard.door.verb";
