//! `read_attachment`: reads the files attached to the job, by number or name.

use async_trait::async_trait;
use proto::{
    file::{Content, File},
    lang::Language,
    limits,
    tool::{Effect, ToolResult, ToolSpec},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, optional, read, required, spec};
use crate::{
    egress::{Egress, Get},
    tool::{CallContext, Tool, ToolFault},
};

/// Default number of characters per file.
const CHARS: usize = 10_000;
/// Largest number of characters per call over all files: as JSON they fit a result.
const CHARS_MAX: usize = 100_000;

/// The tool `read_attachment` with its client and limits.
#[derive(Debug, Clone)]
pub struct ReadAttachment {
    egress: Egress,
    bytes_max: usize,
    timeout_ms: u64,
}

impl ReadAttachment {
    /// Creates the tool. Files given by URL are fetched through the client, up to `bytes_max`
    /// bytes.
    #[must_use]
    pub fn new(egress: Egress, bytes_max: usize, timeout_ms: u64) -> Self {
        Self { egress, bytes_max, timeout_ms }
    }
}

/// A reference to an attached file.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Which {
    Number(usize),
    Name(String),
}

#[derive(Deserialize)]
struct Args {
    files: Vec<Which>,
    #[serde(default)]
    from: usize,
    max_chars: Option<usize>,
}

struct Read {
    bytes: Vec<u8>,
    /// `true` if the file exceeds the fetch limit.
    truncated: bool,
}

/// The requested part of each file, in characters.
#[derive(Clone, Copy)]
struct Part {
    from: usize,
    chars: usize,
}

#[async_trait]
impl Tool for ReadAttachment {
    fn spec(&self) -> ToolSpec {
        let which = json!({"type": ["integer", "string"], "minimum": 1, "minLength": 1, "maxLength": limits::FILE_NAME_BYTES_MAX});
        let files =
            json!({"type": "array", "items": which, "minItems": 1, "maxItems": limits::FILES_MAX});
        let from = json!({"type": "integer", "minimum": 0});
        let max_chars = json!({"type": "integer", "minimum": 1, "maximum": CHARS_MAX});
        let arguments = [
            required("files", About::AttachmentFiles, files),
            optional("from", About::AttachmentFrom, from),
            optional("max_chars", About::AttachmentChars, max_chars),
        ];
        // The client's own time limit gives a better error, so it expires first.
        let timeout_ms = self.timeout_ms.saturating_add(10_000);
        let spec = spec("read_attachment", About::ReadAttachment, Effect::Pure, &arguments);
        ToolSpec { timeout_ms, concurrency: 8, untrusted: true, ..spec }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { files: wanted, from, max_chars } = read(args)?;
        let each = CHARS_MAX / wanted.len().max(1);
        let part = Part { from, chars: max_chars.unwrap_or(CHARS).min(each) };
        let files = context.files.list().await?;
        let language = context.language;
        let mut found = Vec::with_capacity(wanted.len());
        for which in &wanted {
            match find(&files, which) {
                Some(place) => found.push(place),
                None => return Ok(ToolResult::failed(missing(language, which, &files))),
            }
        }
        let read = found.iter().map(|(number, file)| self.shown(&context, (*number, *file), part));
        let given = futures::future::try_join_all(read).await?;
        let errors: Vec<_> = given.iter().filter_map(|shown| shown["error"].as_str()).collect();
        if errors.len() == given.len() {
            return Ok(ToolResult::failed(errors.join("; ")));
        }
        let names: Vec<_> = found.iter().map(|(_, file)| file.name.as_str()).collect();
        let names = names.join(", ");
        let read = ToolResult::ok(json!({"files": given}));
        Ok(read.with_message(Text::AttachmentsRead { names: &names }.text(language)))
    }
}

impl ReadAttachment {
    /// Returns the requested part of one file. A file that cannot be fetched does not affect the
    /// others.
    async fn shown(
        &self,
        context: &CallContext,
        (number, file): (usize, &File),
        part: Part,
    ) -> Result<Value, ToolFault> {
        let mut shown = json!({"number": number, "name": file.name});
        let said = match self.content(context, file).await? {
            Ok(Read { bytes, truncated }) => {
                let mut said = words(context.language, &bytes, part);
                if truncated {
                    said["truncated"] = json!(true);
                }
                said
            }
            Err(why) => json!({"error": why}),
        };
        if let (Value::Object(all), Value::Object(said)) = (&mut shown, said) {
            all.extend(said);
        }
        Ok(shown)
    }

    /// Reads a file's bytes, or returns the reason why not in words that a model can act upon.
    async fn content(
        &self,
        context: &CallContext,
        file: &File,
    ) -> Result<Result<Read, String>, ToolFault> {
        let url = match &file.content {
            Content::Pieces(pieces) => {
                let bytes = context.files.read(pieces).await?;
                return Ok(Ok(Read { bytes, truncated: false }));
            }
            Content::Url(url) => url.clone(),
        };
        let headers = self.egress.tracing(context.trace);
        let (max_bytes, hosts) = (self.bytes_max, context.hosts.clone());
        match self.egress.get(Get { url, headers, max_bytes, hosts }).await {
            Ok(fetched) if (200..300).contains(&fetched.status) => {
                Ok(Ok(Read { bytes: fetched.body, truncated: fetched.truncated }))
            }
            Ok(fetched) => Ok(Err(Text::Status { status: &fetched.status }.text(context.language))),
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

fn find<'a>(files: &'a [File], which: &Which) -> Option<(usize, &'a File)> {
    let at = match which {
        Which::Number(number) => number.checked_sub(1)?,
        Which::Name(name) => files.iter().position(|file| file.name.as_str() == name)?,
    };
    Some((at + 1, files.get(at)?))
}

/// Extracts the requested part of a text, and the position after it.
fn words(language: Language, bytes: &[u8], part: Part) -> Value {
    let size = bytes.len();
    // A fetch limit may cut the last character, which proves nothing; a zero byte marks a binary
    // file.
    if bytes.contains(&0) {
        let why = Text::NotATextFile.text(language);
        return json!({"bytes": size, "error": why});
    }
    let whole = String::from_utf8_lossy(bytes);
    let mut rest = whole.chars().skip(part.from);
    let text: String = rest.by_ref().take(part.chars).collect();
    let next = rest.next().map(|_| part.from + part.chars);
    json!({"bytes": size, "text": text, "next": next})
}

fn missing(language: Language, which: &Which, files: &[File]) -> String {
    let which = match which {
        Which::Number(number) => number.to_string(),
        Which::Name(name) => format!("{name:?}"),
    };
    let told: Vec<_> = files.iter().map(File::told).collect();
    let there = proto::file::told(language, &told);
    if there.is_empty() {
        return Text::NoAttachments.text(language);
    }
    Text::NoSuchAttachment { which: &which, there: &there }.text(language)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proto::file::FileName;
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use super::*;
    use crate::{egress::SystemLookup, settings::Http, tools::tests::context};

    #[tokio::test]
    async fn an_address_says_that_it_has_more_than_may_be_fetched_or_why_it_cannot_be() {
        let server = MockServer::start().await;
        let long = ResponseTemplate::new(200).set_body_raw("123456789", "text/plain");
        Mock::given(path("/long")).respond_with(long).mount(&server).await;
        let config = Http { allow_private: true, ..Http::default() };
        let egress = Egress::new(config, Arc::new(SystemLookup)).unwrap();
        let context = context("key", Language::En);
        for (at, bytes_max, from, expected) in [
            ("long", 100, 6, json!({"bytes": 9, "text": "789", "next": null})),
            ("long", 100, 0, json!({"bytes": 9, "text": "1234", "next": 4})),
            ("long", 4, 2, json!({"bytes": 4, "text": "34", "next": null, "truncated": true})),
            ("none", 100, 0, json!({"error": "the server answered with status 404"})),
        ] {
            let tool = ReadAttachment::new(egress.clone(), bytes_max, 1000);
            let file = File {
                name: FileName::new("f").unwrap(),
                media_type: None,
                content: Content::Url(format!("{}/{at}", server.uri())),
            };
            let shown = tool.shown(&context, (1, &file), Part { from, chars: 4 }).await.unwrap();
            let mut whole = json!({"number": 1, "name": "f"});
            whole.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
            assert_eq!(shown, whole, "{at} of {bytes_max} bytes");
        }
    }
}
