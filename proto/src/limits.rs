//! The bounds of requests, records and policies that several modules or crates share.

/// Maximum body of a submission, answer or signal, in bytes. It is checked before the body is
/// parsed.
pub const REQUEST_BYTES_MAX: usize = 256 * 1024;
/// Maximum nesting of JSON from outside.
pub const JSON_DEPTH_MAX: usize = 64;
/// Maximum length of a goal, in bytes.
pub const GOAL_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of labels of one job.
pub const LABELS_MAX: usize = 16;
/// Maximum length of a label's key, and of its value, in characters.
pub const LABEL_CHARS_MAX: usize = 63;
/// Maximum length of the text that a list searches for, in characters.
pub const SEARCH_CHARS_MAX: usize = 200;
/// Maximum number of files of one job.
pub const FILES_MAX: usize = 32;
/// Maximum length of a file name, in bytes.
pub const FILE_NAME_BYTES_MAX: usize = 255;
/// Maximum size of a file, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Maximum size of all files of one job, in bytes.
pub const FILES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of a piece of a file, in bytes. One request uploads one piece; NATS accepts 1 MiB
/// by default.
pub const PIECE_BYTES_MAX: usize = 512 * 1024;
/// Maximum number of pieces of one file.
pub const PIECES_MAX: usize = 256;
/// Maximum number of artifacts of a job. The oldest are dropped beyond it.
pub const ARTIFACTS_MAX: usize = 100;
/// Maximum number of files that one call publishes. Further ones count for nothing.
pub const ARTIFACTS_OF_CALL_MAX: usize = 32;
/// Maximum length of the URL of an artifact, in bytes.
pub const ARTIFACT_URL_BYTES_MAX: usize = 2 * 1024;
/// Maximum size of all artifacts of a job, in bytes. The oldest are dropped beyond it.
pub const ARTIFACTS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Maximum length of a file's URL, in bytes.
pub const FILE_URL_BYTES_MAX: usize = 8 * 1024;
/// Maximum length of a file's media type, in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 128;
/// Maximum number of steps of one plan.
pub const PLAN_STEPS_MAX: usize = 500;
/// Maximum number of dependencies of one step.
pub const STEP_DEPENDENCIES_MAX: usize = 100;
/// Maximum length of a title of a plan, step or question, in bytes.
pub const TITLE_BYTES_MAX: usize = 512;
/// Maximum length of a step's description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 32 * 1024;
/// Maximum number of tool calls of one model turn.
pub const CALLS_PER_TURN_MAX: usize = 64;
/// Maximum number of agents that an agent may delegate to, and of all that a job can reach through
/// them.
pub const SUB_AGENTS_MAX: usize = 32;
/// Maximum number of models whose prices an agent may set.
pub const MODEL_PRICES_MAX: usize = 32;
/// Maximum of the levels of jobs that a policy may allow below one.
pub const DEPTH_MAX: u32 = 16;
/// Maximum of the concurrent children that a policy may allow.
pub const CHILDREN_ALIVE_MAX: u32 = 64;
/// Maximum of all children of one job that a policy may allow.
pub const CHILDREN_MAX: u32 = 1_000;
/// Maximum number of options of one choice.
pub const OPTIONS_MAX: usize = 200;
/// Maximum number of fields of one form.
pub const FIELDS_MAX: usize = 100;
/// Maximum length of an answer's text, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Size in bytes above which a body goes to the object store and is sent as a reference.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of model turns of one run of a step.
pub const TURNS_MAX: u32 = 100;
/// Maximum number of attempts that a policy may set.
pub const ATTEMPTS_MAX: u32 = 100;
/// Maximum number of records of one job. At the bound, the job fails with `history_full`.
pub const RECORDS_MAX: u64 = 10_000;
/// Maximum wait or deadline that a policy may set: one year, in milliseconds.
pub const WAIT_MS_MAX: u64 = 365 * 24 * 3600 * 1000;
/// Maximum size of an ephemeral (bincode) message, in bytes. It also bounds hostile length
/// prefixes.
pub const WIRE_BYTES_MAX: usize = 256 * 1024;
/// Maximum body of a request to a session, and of its result, in bytes. With the other fields it
/// fits into [`WIRE_BYTES_MAX`].
pub const SESSION_BODY_BYTES_MAX: usize = 192 * 1024;
/// Maximum number of open questions of one job.
pub const OPEN_QUESTIONS_MAX: usize = 100;
/// Characters that each end of a long text in a prompt keeps.
pub const EXCERPT_CHARS: usize = 1000;
/// Characters that each end of a model's reasoning keeps in a record.
pub const REASONING_CHARS: usize = 4000;
/// Maximum length of a step's response, in bytes. A longer one is truncated, with a note.
pub const RESPONSE_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of tools for which an agent may fix arguments.
pub const PRESETS_MAX: usize = 64;
/// Maximum size of an agent's fixed arguments, in bytes of JSON.
pub const PRESET_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of files and addresses of a step's result.
pub const ATTACHMENTS_MAX: usize = 32;
/// Maximum length of such a file name or address, in bytes.
pub const ATTACHMENT_BYTES_MAX: usize = 1024;
/// Maximum size of a reply of the front door, in bytes. A larger reply is truncated, with a note;
/// NATS accepts 1 MiB by default.
pub const REPLY_BYTES_MAX: usize = 768 * 1024;
/// Maximum number of snapshots of one job.
pub const SNAPSHOTS_MAX: usize = 100;
/// Maximum size of the log that a fork copies, in bytes.
pub const FORK_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum length of a signal's reason, in bytes.
pub const REASON_BYTES_MAX: usize = 4 * 1024;
/// Maximum length of an instruction to a running job, in bytes.
pub const INSTRUCTION_BYTES_MAX: usize = 16 * 1024;
/// Maximum length of a caller's name, in bytes.
pub const CALLER_BYTES_MAX: usize = 64;
/// Maximum number of jobs of one page of a list.
pub const LIST_MAX: u32 = 500;
/// Maximum number of jobs whose logs one request examines in search of the requested ones.
pub const LIST_LOOKED_AT_MAX: usize = 2_000;
/// Number of days that the verb `usage` is about if the request does not say since when.
pub const USAGE_DAYS: i64 = 30;
/// Maximum number of agents, of models and of tools in one report of the verb `usage`.
pub const USAGE_NAMES_MAX: usize = 100;
/// Maximum number of jobs that one report of the verb `usage` names.
pub const USAGE_JOBS_MAX: usize = 20;
/// Maximum number of jobs to which one request sends a signal.
pub const BATCH_MAX: usize = 500;
/// Maximum number of questions of one page of the inbox.
pub const INBOX_MAX: u32 = 1_000;
/// Maximum number of revisions that are kept of an agent.
pub const AGENT_REVISIONS_MAX: usize = 64;

/// Maximum number of versions of a stored workflow that are kept. The lowest versions are dropped beyond
/// it, never the one in force.
pub const WORKFLOW_VERSIONS_MAX: usize = 64;
/// Maximum number of jobs that one pulse names.
pub const PULSE_JOBS_MAX: usize = 500;
/// Maximum number of concurrent watches of one process.
pub const WATCHES_MAX: usize = 2_000;
/// Maximum duration of a watch, in seconds. The watcher then asks again from its position.
pub const WATCH_SECONDS_MAX: u64 = 600;
/// Interval of a watch's heartbeats, in seconds.
pub const WATCH_HEARTBEAT_SECONDS: u64 = 5;
/// Maximum number of rules for calls of one agent.
pub const RULES_MAX: usize = 64;
/// Maximum size of the argument schema of a rule for calls, in bytes of JSON.
pub const RULE_ARGS_BYTES_MAX: usize = 8 * 1024;
/// Maximum length of the reason of a rule for calls, in bytes.
pub const RULE_WHY_BYTES_MAX: usize = 512;
/// Maximum number of tools that a policy for content from outside leaves alone.
pub const EXCEPT_MAX: usize = 256;
/// Maximum number of jobs above whose rules a job has: the largest depth of a family.
pub const INHERITED_MAX: usize = 64;
