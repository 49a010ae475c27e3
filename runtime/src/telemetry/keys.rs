//! The names of attributes, Callboard's own and those of the semantic conventions. They are in one
//! place so that a span and a metric cannot spell a name differently.

pub use opentelemetry_semantic_conventions::attribute::{
    ERROR_TYPE, MESSAGING_BATCH_MESSAGE_COUNT, MESSAGING_CONSUMER_GROUP_NAME,
    MESSAGING_DESTINATION_NAME, MESSAGING_DESTINATION_PARTITION_ID, MESSAGING_DESTINATION_TEMPLATE,
    MESSAGING_MESSAGE_ID, MESSAGING_OPERATION_NAME, MESSAGING_OPERATION_TYPE, MESSAGING_SYSTEM,
};

// The GenAI conventions are those of 1.42.0, the last release of the common conventions that has
// them. The crate marks them as moved to another repository, so they are repeated here.

/// The agent of a job.
pub const GEN_AI_AGENT_NAME: &str = "gen_ai.agent.name";
/// `invoke_agent`, `plan`, `chat` or `execute_tool`.
pub const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";
/// The conversation of a model call. For now, the job's id.
pub const GEN_AI_CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The arguments of a tool call. Content.
pub const GEN_AI_TOOL_CALL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// The model's id of a tool call.
pub const GEN_AI_TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// The result of a tool call. Content.
pub const GEN_AI_TOOL_CALL_RESULT: &str = "gen_ai.tool.call.result";
/// The name of a tool.
pub const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";
/// The type of a tool; always `function`.
pub const GEN_AI_TOOL_TYPE: &str = "gen_ai.tool.type";
/// The number of input tokens.
pub const GEN_AI_USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// The number of output tokens.
pub const GEN_AI_USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";

/// The roles of a process, separated by commas.
pub const ROLES: &str = "callboard.roles";
/// One role.
pub const ROLE: &str = "callboard.role";
/// A job's id. In spans and logs only.
pub const JOB_ID: &str = "callboard.job.id";
/// A step's id. In spans only.
pub const STEP_ID: &str = "callboard.step.id";
/// The name of a unit of work. In spans only.
pub const WORK: &str = "callboard.work";
/// The number of an attempt at a unit of work. In spans only.
pub const ATTEMPT: &str = "callboard.attempt";
/// The number of the job's generation, which a rollback increments. In spans only.
pub const GENERATION: &str = "callboard.generation";
/// The number of deliveries of a command. In spans only.
pub const DELIVERED: &str = "callboard.delivered";
/// A record's position in its log. In spans only.
pub const SEQ: &str = "callboard.seq";
/// A question's id. In spans only.
pub const ASK_ID: &str = "callboard.ask.id";
/// The state of a job, in the terms of A2A.
pub const JOB_STATE: &str = "callboard.job.state";
/// The status of a job, finer than its state.
pub const JOB_STATUS: &str = "callboard.job.status";
/// `in` for facts, `do` for decisions.
pub const RECORD_FAMILY: &str = "callboard.record.family";
/// The kind of a record.
pub const RECORD_KIND: &str = "callboard.record.kind";
/// The kind of a command.
pub const COMMAND_KIND: &str = "callboard.command.kind";
/// The pool of a command.
pub const POOL: &str = "callboard.pool";
/// `pending` or `in_flight`.
pub const QUEUE_STATE: &str = "callboard.queue.state";
/// A shard's number.
pub const SHARD: &str = "callboard.shard";
/// The outcome of a command.
pub const OUTCOME: &str = "callboard.outcome";
/// The reason of a dead letter.
pub const DEAD_LETTER_REASON: &str = "callboard.dead_letter.reason";
/// The limit of a budget that a job approaches: `steps`, `turns`, `tokens`, `money`, `time`, …
pub const BUDGET_AXIS: &str = "callboard.budget.axis";
/// The kind of a guard's notice.
pub const NOTICE_KIND: &str = "callboard.notice.kind";
/// The name of a workflow, or `other`.
pub const WORKFLOW: &str = "callboard.workflow";
/// The id of a node of a workflow, or `other`.
pub const WORKFLOW_NODE: &str = "callboard.workflow.node";
/// The state in which a step or a visit ended.
pub const STEP_STATE: &str = "callboard.step.state";
/// The verb of a request at the front door.
pub const DOOR_VERB: &str = "callboard.door.verb";
