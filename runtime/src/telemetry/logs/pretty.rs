//! The terminal form of a log line: the time of day, the level, the crate, the message and the
//! fields. Control characters are escaped first.

use jiff::Zoned;
use proto::escape;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext,
        format::{FormatEvent, JsonFields, Writer},
    },
    registry::LookupSpan,
};

use super::line::Line;

const RESET: &str = "\u{1b}[0m";
const DIM: &str = "\u{1b}[2m";
/// Width of the column with the crate's name.
const PART: usize = 14;
/// Fields for programs. A person finds a trace by its job.
const HIDDEN: [&str; 2] = ["trace_id", "span_id"];

/// A formatter of lines for a terminal.
#[derive(Debug)]
pub(super) struct Pretty;

impl<S> FormatEvent<S, JsonFields> for Pretty
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
        let time = Zoned::now().strftime("%H:%M:%S%.3f").to_string();
        let ansi = writer.has_ansi_escapes();
        writer.write_str(&written(&time, *meta.level(), meta.target(), &line, ansi))
    }
}

fn written(time: &str, level: Level, target: &str, line: &Line, ansi: bool) -> String {
    let paint = |style: &str, text: &str| {
        if ansi { format!("{style}{text}{RESET}") } else { text.to_owned() }
    };
    let part = target.split("::").next().unwrap_or_default();
    let part = part.strip_prefix("callboard_").unwrap_or(part);
    let mut out = format!(
        "{} {} {} {}",
        paint(DIM, time),
        paint(style(level), &format!("{:>5}", level.as_str())),
        paint(DIM, &format!("{part:<PART$}")),
        escape::line(&line.message),
    );
    for (name, value) in line.fields.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str())) {
        let value = match value.as_str() {
            Some(text) => escape::line(text).into_owned(),
            None => value.to_string(),
        };
        out.push_str(&format!(" {}{value}", paint(DIM, &format!("{name}="))));
    }
    out.push('\n');
    out
}

fn style(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\u{1b}[31m",
        Level::WARN => "\u{1b}[33m",
        Level::INFO => "\u{1b}[32m",
        Level::DEBUG => "\u{1b}[34m",
        Level::TRACE => "\u{1b}[35m",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    fn line(message: &str, fields: Value) -> Line {
        let fields: Map<_, _> = serde_json::from_value(fields).unwrap();
        Line { message: message.to_owned(), fields }
    }

    #[test]
    fn columns_are_aligned_and_ids_for_programs_are_left_out() {
        let said = line("a job is parked", json!({"job": "j1", "trace_id": "ab", "panics": 3}));
        let lines = [
            written("12:00:00.001", Level::INFO, "callboard_supervisor::actors", &said, false),
            written("12:00:00.002", Level::ERROR, "async_nats", &line("x", json!({})), false),
        ];
        assert_eq!(
            lines.concat(),
            "12:00:00.001  INFO supervisor     a job is parked job=j1 panics=3\n\
             12:00:00.002 ERROR async_nats     x\n"
        );
    }

    #[test]
    fn what_is_said_cannot_move_the_cursor() {
        let said = line("a\u{1b}[2Jb\nc", json!({"error": "\u{202e}x\ry"}));
        let shown = written("t", Level::WARN, "x", &said, false);
        assert!(!shown.trim_end().contains(['\u{1b}', '\u{202e}', '\r', '\n']), "{shown:?}");
        assert!(written("t", Level::WARN, "x", &said, true).contains("\u{1b}[33m WARN"));
    }
}
