//! The fields of one log line, before it is formatted: its own and those of the enclosing spans,
//! each shortened to a bound.

use opentelemetry::trace::TraceContextExt;
use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormattedFields, format::JsonFields},
    registry::LookupSpan,
};

/// Bound of each of the two ends that are kept of a longer field, in characters.
const FIELD_MAX: usize = 4 * 1024;

/// The message and the fields of a line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line {
    /// The message of the event.
    pub(super) message: String,
    /// The fields of the enclosing spans, inner ones over outer ones, and then those of the event.
    pub(super) fields: Map<String, Value>,
}

impl Line {
    /// Collects the fields of an event and of the enclosing spans. The ids of the trace come from
    /// OpenTelemetry's current span if there is one, and from the fields of the spans otherwise.
    pub(super) fn of<S>(context: &FmtContext<'_, S, JsonFields>, event: &Event<'_>) -> Self
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let mut line = Self::default();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<JsonFields>>();
            let text = fields.map_or("", |fields| fields.as_str());
            if let Ok(Value::Object(fields)) = serde_json::from_str(text) {
                line.fields.extend(fields);
            }
        }
        opentelemetry::Context::map_current(|current| {
            let span = current.span();
            let span = span.span_context();
            if span.is_valid() {
                line.put("trace_id", span.trace_id().to_string());
                line.put("span_id", span.span_id().to_string());
            }
        });
        event.record(&mut line);
        line
    }

    /// Removes a field and returns its value.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.shift_remove(name)
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        // Rust keywords as field names are written `r#type`.
        let name = name.trim_start_matches("r#");
        self.fields.insert(name.to_owned(), value.into());
    }

    fn text(&mut self, field: &Field, text: &str) {
        let text = proto::excerpt::ends(text, FIELD_MAX);
        if field.name() == "message" {
            self.message = text;
        } else {
            self.put(field.name(), text);
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }
}
