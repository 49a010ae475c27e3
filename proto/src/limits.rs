//! Every bound in one place. A limit that is not here does not exist.

/// Largest submission, answer or signal body in bytes, checked before it is parsed.
pub const REQUEST_BYTES_MAX: usize = 256 * 1024;
/// Deepest nesting of JSON from outside.
pub const JSON_DEPTH_MAX: usize = 64;
/// Longest goal, in bytes.
pub const GOAL_BYTES_MAX: usize = 64 * 1024;
/// Files that may come with one job.
pub const FILES_MAX: usize = 32;
/// Longest name of a file, in bytes.
pub const FILE_NAME_BYTES_MAX: usize = 255;
/// Largest file, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// All files of one job, in bytes.
pub const FILES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Largest piece of a file, in bytes: what one request uploads. NATS takes 1 MiB unless it is told
/// otherwise.
pub const PIECE_BYTES_MAX: usize = 512 * 1024;
/// Pieces of one file.
pub const PIECES_MAX: usize = 256;
/// Longest address of a file, in bytes.
pub const FILE_URL_BYTES_MAX: usize = 8 * 1024;
/// Longest media type of a file, in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 128;
/// Steps of one plan.
pub const PLAN_STEPS_MAX: usize = 500;
/// Dependencies of one step.
pub const STEP_DEPENDENCIES_MAX: usize = 100;
/// Longest title of a plan, step or question, in bytes.
pub const TITLE_BYTES_MAX: usize = 512;
/// Longest description of a step, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 32 * 1024;
/// Tool calls of one model turn.
pub const CALLS_PER_TURN_MAX: usize = 64;
/// Agents that an agent may hand tasks to, and all that a job can reach over them.
pub const SUB_AGENTS_MAX: usize = 32;
/// Models whose prices an agent may name.
pub const MODEL_PRICES_MAX: usize = 32;
/// Levels of jobs below one that a policy may allow.
pub const DEPTH_MAX: u32 = 16;
/// Children of one job that may be alive at once.
pub const CHILDREN_ALIVE_MAX: u32 = 64;
/// Children of one job that a policy may allow in all.
pub const CHILDREN_MAX: u32 = 1_000;
/// Options of one choice.
pub const OPTIONS_MAX: usize = 200;
/// Fields of one form.
pub const FIELDS_MAX: usize = 100;
/// Longest answer text, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Payloads above this many bytes go to the object store and travel as a reference.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Model turns of one run of a step.
pub const TURNS_MAX: u32 = 100;
/// Attempts any policy may ask for.
pub const ATTEMPTS_MAX: u32 = 100;
/// Records of one job. Beyond it the job fails with `history_full`.
pub const RECORDS_MAX: u64 = 10_000;
/// Longest wait a policy or deadline may name: one year, in milliseconds.
pub const WAIT_MS_MAX: u64 = 365 * 24 * 3600 * 1000;
/// Largest ephemeral (bincode) message in bytes; a bound on hostile length prefixes too.
pub const WIRE_BYTES_MAX: usize = 256 * 1024;
/// Open questions one job may have at a time.
pub const OPEN_QUESTIONS_MAX: usize = 100;
/// Characters kept of each end of a long text shown to a model.
pub const EXCERPT_CHARS: usize = 1000;
/// Longest final response of a step, in bytes; what is longer is cut, with a note.
pub const RESPONSE_BYTES_MAX: usize = 256 * 1024;
/// Tools of which an agent may fix arguments.
pub const PRESETS_MAX: usize = 64;
/// All that it fixes, in bytes of JSON.
pub const PRESET_BYTES_MAX: usize = 16 * 1024;
/// Files and addresses that may belong to the result of a step.
pub const ATTACHMENTS_MAX: usize = 32;
/// Longest of those, in bytes.
pub const ATTACHMENT_BYTES_MAX: usize = 1024;
/// Largest reply of the front door in bytes: what is larger is shortened, with a note. NATS takes
/// 1 MiB unless it is told otherwise.
pub const REPLY_BYTES_MAX: usize = 768 * 1024;
/// Points of one job that may have a name.
pub const SNAPSHOTS_MAX: usize = 100;
/// Most bytes of another job's log that a fork takes along.
pub const FORK_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Longest reason of a signal, in bytes.
pub const REASON_BYTES_MAX: usize = 4 * 1024;
/// Longest thing a person can tell a running job at a time, in bytes.
pub const INSTRUCTION_BYTES_MAX: usize = 16 * 1024;
/// Longest name of a caller, in bytes.
pub const CALLER_BYTES_MAX: usize = 64;
/// Jobs of one list.
pub const LIST_MAX: u32 = 500;
/// Jobs that one list looks at before it gives up finding more in the wanted states.
pub const LIST_LOOKED_AT_MAX: usize = 2_000;
/// Questions of one page of the inbox.
pub const INBOX_MAX: u32 = 1_000;
/// Watches one process serves at a time.
pub const WATCHES_MAX: usize = 2_000;
/// Longest watch in seconds; the watcher then asks again from where it was.
pub const WATCH_SECONDS_MAX: u64 = 600;
/// A watch says at least this often, in seconds, that it is there.
pub const WATCH_HEARTBEAT_SECONDS: u64 = 5;
