//! The JSON form of a log line, for programs. The documentation names the fields that every line
//! has, so their names are fixed.

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext,
        format::{FormatEvent, JsonFields, Writer},
    },
    registry::LookupSpan,
};

use super::line::Line;
use crate::telemetry::Identity;

/// Fields that come first, in this order, in lines that have them.
const FIRST: [&str; 4] = ["trace_id", "span_id", "job", "seq"];
/// Names that have one meaning in every line. A field of such a name becomes `event.<name>`.
const TAKEN: [&str; 6] = ["timestamp", "level", "target", "message", "worker", "version"];

/// A formatter of JSON lines.
#[derive(Debug, Default)]
pub(super) struct Json {
    process: Vec<(&'static str, String)>,
}

impl Json {
    /// Creates a formatter whose lines all name the process.
    pub(super) fn of(process: Option<&Identity>) -> Self {
        let process = process.map_or_else(Vec::new, |process| {
            vec![("worker", process.worker.to_string()), ("version", process.version.clone())]
        });
        Self { process }
    }

    fn object(
        &self,
        at: Timestamp,
        level: &str,
        target: &str,
        mut line: Line,
    ) -> Map<String, Value> {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("timestamp", format!("{at:.6}").into());
        put("level", level.into());
        put("target", target.into());
        put("message", std::mem::take(&mut line.message).into());
        for (name, value) in &self.process {
            put(name, value.as_str().into());
        }
        for name in FIRST {
            if let Some(value) = line.take(name) {
                put(name, value);
            }
        }
        for (name, value) in line.fields {
            let name = if TAKEN.contains(&&*name) { format!("event.{name}") } else { name };
            object.insert(name, value);
        }
        object
    }
}

impl<S> FormatEvent<S, JsonFields> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let (meta, line) = (event.metadata(), Line::of(context, event));
        let level = meta.level().as_str();
        let object = self.object(Timestamp::now(), level, meta.target(), line);
        writeln!(writer, "{}", Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_every_line_has_cannot_be_written_over() {
        let json = Json { process: vec![("worker", "w-1".into()), ("version", "1.2.3".into())] };
        let fields = json!({"b": 1, "seq": 7, "version": "9", "job": "j", "level": "loud"});
        let Value::Object(fields) = fields else { unreachable!() };
        let line = Line { message: "said".into(), fields };
        let object = json.object(Timestamp::UNIX_EPOCH, "INFO", "callboard_runtime", line);
        assert_eq!(
            Value::Object(object).to_string(),
            r#"{"timestamp":"1970-01-01T00:00:00.000000Z","level":"INFO","target":"callboard_runtime","message":"said","worker":"w-1","version":"1.2.3","job":"j","seq":7,"b":1,"event.version":"9","event.level":"loud"}"#
        );
    }
}
