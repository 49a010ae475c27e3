//! What one line of the log holds, before it is written in one form or another: its own fields and
//! those of the spans around it, each cut to a length.

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

/// Of a longer text in a field both ends are kept, of this many characters each.
const FIELD_MAX: usize = 4 * 1024;

/// The fields of a line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line {
    /// What it says.
    pub(super) message: String,
    /// Its own fields, and before them those of the spans around it, the inner ones over the outer.
    pub(super) fields: Map<String, Value>,
}

impl Line {
    /// Takes everything out of an event and the spans around it. The ids of the trace are those of
    /// OpenTelemetry's current span where there is one, and otherwise what the spans say.
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

    /// Takes a field out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.shift_remove(name)
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    fn text(&mut self, field: &Field, text: &str) {
        let text = proto::excerpt::ends(text, FIELD_MAX);
        if field.name() == "message" {
            self.message = text;
        } else {
            // Words that the language keeps for itself are written r#type.
            self.put(field.name().trim_start_matches("r#"), text);
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
