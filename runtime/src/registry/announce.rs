//! The announcement of a tool: its checks, and the resolution of two announcements of one name.

use std::{cmp::Ordering, collections::BTreeMap};

use broker::{
    Broker,
    kv::{Bucket, KvError},
};
use bytes::Bytes;
use proto::{
    id::{ToolName, WorkerId},
    limits,
    tool::{SlashCommand, ToolSpec, Translation},
};
use serde::{Deserialize, Serialize};

use crate::{presence::Crew, schema::Schema};

/// Bound of a tool's description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
/// Bound of the timeout of one call, in milliseconds: a day.
pub const TIMEOUT_MS_MAX: u64 = 86_400_000;
/// Bound of the calls that one worker runs at once.
pub const CONCURRENCY_MAX: u32 = 10_000;
/// Bound of a version, in bytes.
pub const VERSION_BYTES_MAX: usize = 64;
/// Bound of the slash commands of one tool.
pub const COMMANDS_MAX: usize = 16;
/// Bound of a slash command's description, in bytes.
pub const ABOUT_BYTES_MAX: usize = 200;
/// Bound of the languages of one tool, besides that of its description.
pub const TRANSLATIONS_MAX: usize = 16;
/// Bound of the compare-and-set attempts against concurrent announcements of the same tool.
const RACES_MAX: usize = 20;

/// An announcement, as the registry stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// The definition of the tool.
    #[serde(flatten)]
    pub spec: ToolSpec,
    /// The worker that announced the tool.
    pub by: WorkerId,
}

/// The outcome of an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// The tool is now in the registry.
    Stored,
    /// The registry had the same definition already.
    Known,
    /// The registry has a newer version from a live worker, and keeps it.
    Newer {
        /// The newer version.
        version: String,
    },
}

/// The reason why a tool was not announced.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AnnounceError {
    /// A field is out of bounds.
    #[error("tool {tool}: {field} {why}")]
    Invalid {
        /// The tool.
        tool: ToolName,
        /// The name of the field.
        field: &'static str,
        /// The values that are allowed.
        why: String,
    },
    /// A live worker announced another definition under the same name and version.
    #[error(
        "tool {tool} version {version} is announced by {theirs} with another definition than {ours} has; \
         give one of them another name or a new version"
    )]
    Clash {
        /// The tool.
        tool: ToolName,
        /// The version.
        version: String,
        /// The worker that announced the tool first.
        theirs: WorkerId,
        /// The worker whose announcement was refused.
        ours: WorkerId,
    },
    /// The registry's bucket cannot be used.
    #[error(transparent)]
    Kv(#[from] KvError),
}

/// Checks every bound of a tool's definition.
///
/// # Errors
/// The first field that is out of bounds.
pub fn check(spec: &ToolSpec) -> Result<(), AnnounceError> {
    let wrong =
        |field, why: String| Err(AnnounceError::Invalid { tool: spec.name.clone(), field, why });
    if spec.description.trim().is_empty() {
        return wrong("description", "is empty; models choose tools by it".to_owned());
    }
    if spec.description.len() > DESCRIPTION_BYTES_MAX {
        return wrong("description", format!("must be at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if let Some(c) = spec.description.chars().find(|c| hidden(*c)) {
        let why = format!("has the invisible character {}", c.escape_unicode());
        return wrong("description", why);
    }
    if let Err(why) = translations(spec) {
        return wrong("translations", why);
    }
    if !(1..=TIMEOUT_MS_MAX).contains(&spec.timeout_ms) {
        return wrong("timeout_ms", format!("must be 1 to {TIMEOUT_MS_MAX}"));
    }
    if !(1..=CONCURRENCY_MAX).contains(&spec.concurrency) {
        return wrong("concurrency", format!("must be 1 to {CONCURRENCY_MAX}"));
    }
    let version = &spec.version;
    if version.is_empty()
        || version.len() > VERSION_BYTES_MAX
        || !version.bytes().all(|b| b.is_ascii_graphic())
    {
        let why = format!("must be 1 to {VERSION_BYTES_MAX} visible ASCII characters");
        return wrong("version", why);
    }
    if let Err(why) = commands(spec) {
        return wrong("commands", why);
    }
    if depth(&spec.schema) > limits::JSON_DEPTH_MAX {
        return wrong("schema", format!("is nested deeper than {} levels", limits::JSON_DEPTH_MAX));
    }
    match Schema::compile(&spec.schema) {
        Ok(_) => Ok(()),
        Err(error) => wrong("schema", error.to_string()),
    }
}

/// Returns the definition without the fields that change nothing about a call.
fn essence(spec: &ToolSpec) -> ToolSpec {
    let (commands, translations) = (Vec::new(), BTreeMap::new());
    ToolSpec { commands, translations, destructive: false, ..spec.clone() }
}

/// Checks the texts of a tool in further languages. Each language has the bound of a description.
fn translations(spec: &ToolSpec) -> Result<(), String> {
    if spec.translations.len() > TRANSLATIONS_MAX {
        return Err(format!("must be at most {TRANSLATIONS_MAX} languages"));
    }
    for (code, Translation { description, arguments }) in &spec.translations {
        if description.trim().is_empty() {
            return Err(format!("{code}: description is empty; models choose tools by it"));
        }
        let texts = || std::iter::once(description).chain(arguments.values());
        if texts().map(String::len).sum::<usize>() > DESCRIPTION_BYTES_MAX {
            return Err(format!("{code}: must be at most {DESCRIPTION_BYTES_MAX} bytes"));
        }
        if let Some(c) = texts().flat_map(|text| text.chars()).find(|c| hidden(*c)) {
            return Err(format!("{code}: has the invisible character {}", c.escape_unicode()));
        }
        let is_unknown = |name: &&String| spec.schema["properties"].get(name.as_str()).is_none();
        if let Some(name) = arguments.keys().find(is_unknown) {
            return Err(format!("{code}: {name:?} is not an argument of the tool"));
        }
    }
    Ok(())
}

/// Checks the slash commands of a tool.
fn commands(spec: &ToolSpec) -> Result<(), String> {
    if spec.commands.len() > COMMANDS_MAX {
        return Err(format!("must be at most {COMMANDS_MAX}"));
    }
    for SlashCommand { name, words, about, about_in, argument, whole, split } in &spec.commands {
        let is_line = |about: &String| {
            let bounded = !about.trim().is_empty() && about.len() <= ABOUT_BYTES_MAX;
            bounded && !about.chars().any(|c| c.is_control() || hidden(c))
        };
        if !is_line(about) || !about_in.values().all(is_line) {
            return Err(format!("/{name}: about must be a line of 1 to {ABOUT_BYTES_MAX} bytes"));
        }
        if about_in.len() > TRANSLATIONS_MAX {
            return Err(format!("/{name}: about_in must be at most {TRANSLATIONS_MAX} languages"));
        }
        let known = |argument: &String| spec.schema["properties"].get(argument).is_some();
        match argument {
            Some(argument) if !known(argument) => {
                return Err(format!("/{name}: {argument:?} is not an argument of the tool"));
            }
            None if *whole => {
                return Err(format!("/{name}: whole needs the argument that gets the line"));
            }
            Some(_) | None => {}
        }
        let is_word = |word: &String| {
            !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || hidden(c))
        };
        if words.len() > COMMANDS_MAX || !words.iter().all(is_word) {
            return Err(format!("/{name}: words must be at most {COMMANDS_MAX} words"));
        }
        let Some(split) = split else { continue };
        if *whole || argument.is_none() || !known(&split.argument) {
            return Err(format!(
                "/{name}: split parts the text of `argument`, and names another argument of the tool"
            ));
        }
        if split.after.is_empty()
            || split.after.len() > COMMANDS_MAX
            || !split.after.iter().all(is_word)
        {
            return Err(format!("/{name}: split.after must be 1 to {COMMANDS_MAX} words"));
        }
    }
    Ok(())
}

/// Returns whether a character is a control character, or turns text around or hides it. Users who
/// approve calls read the description, which must not hide anything.
fn hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn depth(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Announces a tool. A newer version replaces an older one. Any definition replaces that of a
/// worker that is no longer alive.
///
/// # Errors
/// Returns an error if a field is out of bounds, when a live worker has announced another
/// definition of that name and version, or when the bucket cannot be used.
pub async fn announce(
    broker: &Broker,
    spec: ToolSpec,
    by: &WorkerId,
    crew: &Crew,
) -> Result<Announced, AnnounceError> {
    check(&spec)?;
    let key = spec.name.to_string();
    let ours = Announcement { spec, by: by.clone() };
    let value = serde_json::to_vec(&ours).map_err(|e| AnnounceError::Invalid {
        tool: ours.spec.name.clone(),
        field: "schema",
        why: e.to_string(),
    })?;
    for _ in 0..RACES_MAX {
        let there = broker.kv.get(Bucket::Tools, &key).await?;
        if let Some(there) = &there
            && let Some(settled) = settle(&ours, &there.value, crew).await?
        {
            return Ok(settled);
        }
        let revision = there.map_or(0, |there| there.revision);
        let written = broker.kv.update(Bucket::Tools, &key, Bytes::from(value.clone()), revision);
        match written.await {
            Ok(_) => return Ok(Announced::Stored),
            // Another worker was faster: read its announcement and decide again.
            Err(KvError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(KvError::Conflict(key).into())
}

/// Compares our announcement with the stored one; `None` when ours replaces it.
async fn settle(
    ours: &Announcement,
    there: &[u8],
    crew: &Crew,
) -> Result<Option<Announced>, AnnounceError> {
    // An unreadable announcement is replaced.
    let Ok(theirs) = read(there) else { return Ok(None) };
    if theirs.spec == ours.spec {
        return Ok((theirs.by == ours.by || crew.has(&theirs.by)).then_some(Announced::Known));
    }
    if theirs.by == ours.by {
        return Ok(None);
    }
    // Slash commands, texts in further languages and the warning of destruction do not change a
    // tool. A worker without them, such as an older release, keeps the stored ones, and gives way
    // to a worker that has some.
    if essence(&theirs.spec) == essence(&ours.spec) {
        let ToolSpec { commands, translations, destructive, .. } = &ours.spec;
        let adds_nothing = commands.is_empty() && translations.is_empty() && !destructive;
        let stays = adds_nothing && crew.has(&theirs.by);
        return Ok(stays.then_some(Announced::Known));
    }
    let order = by_version(&ours.spec.version, &theirs.spec.version);
    if order == Ordering::Greater {
        return Ok(None);
    }
    crew.settled().await;
    if !crew.has(&theirs.by) {
        return Ok(None);
    }
    match order {
        Ordering::Less => Ok(Some(Announced::Newer { version: theirs.spec.version })),
        Ordering::Equal | Ordering::Greater => Err(AnnounceError::Clash {
            tool: ours.spec.name.clone(),
            version: ours.spec.version.clone(),
            theirs: theirs.by,
            ours: ours.by.clone(),
        }),
    }
}

/// Orders versions part by part: numbers numerically, anything else as text (`1.9` before `1.10`).
pub(super) fn by_version(a: &str, b: &str) -> Ordering {
    let parts = |v: &str| -> Vec<(u64, String)> {
        v.split(['.', '-', '+'])
            .map(|part| match part.trim_start_matches('v').parse() {
                Ok(number) => (number, String::new()),
                Err(_) => (0, part.to_owned()),
            })
            .collect()
    };
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// Parses and checks a stored announcement.
pub(super) fn read(value: &[u8]) -> Result<Announcement, String> {
    let announcement: Announcement = proto::strict::from_slice(value).map_err(|e| e.to_string())?;
    check(&announcement.spec).map_err(|e| e.to_string())?;
    Ok(announcement)
}

/// Removes a tool from the registry if `by` announced it.
///
/// # Errors
/// An error is returned when the bucket cannot be used.
pub async fn withdraw(broker: &Broker, tool: &ToolName, by: &WorkerId) -> Result<(), KvError> {
    match broker.kv.get(Bucket::Tools, tool.as_str()).await? {
        Some(there) if read(&there.value).is_ok_and(|a| &a.by == by) => {
            broker.kv.delete(Bucket::Tools, tool.as_str()).await
        }
        Some(_) | None => Ok(()),
    }
}
