//! The telemetry of model calls: the span, the metrics, and the absence of content.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures::StreamExt;
use model::{
    Delta, ErrorKind, Model, ModelRequest, Observed, Params, ProviderKind, RetryConfig, Watching,
    complete,
};
use opentelemetry::{
    Context, Value, global,
    trace::{
        FutureExt, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
        TraceState,
    },
};
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData},
    },
    trace::{InMemorySpanExporter, SdkTracerProvider, SpanData},
};

use agents::price::ByModel;
use proto::budget::Price;

use crate::support::{ask, local};

const SCRIPT: &str = r#"
rules:
  - name: the weather
    when: { last: 'Paris' }
    reply: { text: "I look.", calls: [ { tool: get_weather, args: { place: "sk-weatherweatherweather" } } ] }
  - name: busy
    when: { last: 'busy' }
    fault: { status: 503 }
  - name: slow
    when: { last: 'slow' }
    reply: { text: "one two three", stream: { chunk: 4, delay_ms: 60000 } }
  - name: else
    when: {}
    reply: { text: "yes" }
"#;

struct Seen {
    spans: InMemorySpanExporter,
    tracers: SdkTracerProvider,
    metrics: InMemoryMetricExporter,
    meters: SdkMeterProvider,
}

/// The exporters of all tests of this process; each test searches for its own trace and model.
static SEEN: LazyLock<Seen> = LazyLock::new(|| {
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    global::set_tracer_provider(tracers.clone());
    let metrics = InMemoryMetricExporter::default();
    let reader =
        PeriodicReader::builder(metrics.clone()).with_interval(Duration::from_secs(3_600)).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    global::set_meter_provider(meters.clone());
    Seen { spans, tracers, metrics, meters }
});

/// Creates the context of a trace, as a worker's command has one.
fn context(trace: u128, sampled: bool) -> Context {
    LazyLock::force(&SEEN);
    let flags = if sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let span = SpanContext::new(
        TraceId::from(trace),
        SpanId::from(7u64),
        flags,
        true,
        TraceState::default(),
    );
    Context::new().with_remote_span_context(span)
}

/// Returns the spans of a trace.
fn spans(trace: u128) -> Vec<SpanData> {
    SEEN.tracers.force_flush().unwrap();
    let mut spans = SEEN.spans.get_finished_spans().unwrap();
    spans.retain(|span| span.span_context.trace_id() == TraceId::from(trace));
    spans
}

fn attributes(span: &SpanData) -> HashMap<&str, &Value> {
    span.attributes.iter().map(|kv| (kv.key.as_str(), &kv.value)).collect()
}

/// Returns every data point of a metric for a model: its attributes without the model, and its
/// value (for a histogram the sum).
fn points(metric: &str, model: &str) -> Vec<(String, f64)> {
    SEEN.meters.force_flush().unwrap();
    let finished = SEEN.metrics.get_finished_metrics().unwrap();
    let last = finished.last().unwrap();
    let all = last.scope_metrics().flat_map(|scope| scope.metrics());
    let mut points = Vec::new();
    for found in all.filter(|found| found.name() == metric) {
        let mut add = |attributes: &mut dyn Iterator<Item = &opentelemetry::KeyValue>,
                       value: f64| {
            let mut all: Vec<_> = attributes.map(|kv| format!("{}={}", kv.key, kv.value)).collect();
            let ours = format!("gen_ai.request.model={model}");
            let before = all.len();
            all.retain(|text| *text != ours);
            all.sort();
            if all.len() < before {
                points.push((all.join(" "), value));
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        if let AggregatedMetrics::F64(MetricData::Histogram(h)) = found.data() {
            h.data_points().for_each(|p| add(&mut p.attributes(), p.sum()));
        } else if let AggregatedMetrics::U64(MetricData::Histogram(h)) = found.data() {
            h.data_points().for_each(|p| add(&mut p.attributes(), p.sum() as f64));
        } else if let AggregatedMetrics::F64(MetricData::Sum(s)) = found.data() {
            s.data_points().for_each(|p| add(&mut p.attributes(), p.value()));
        } else if let AggregatedMetrics::U64(MetricData::Sum(s)) = found.data() {
            s.data_points().for_each(|p| add(&mut p.attributes(), p.value() as f64));
        } else {
            panic!("{metric} is {:?}", found.data());
        }
    }
    points
}

/// Serves the script and connects to it under a unique name, with telemetry.
async fn watched(name: &str, watching: Watching) -> (model::script::ScriptServer, Arc<dyn Model>) {
    let script = model::script::Script::parse(SCRIPT).unwrap();
    let server = model::script::serve(script, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let mut config = local(ProviderKind::OpenAi, &server.base_url());
    config.model = name.to_owned();
    config.max_tokens = Some(77);
    config.retry = RetryConfig { max_attempts: 3, ..config.retry };
    let model = model::connect(&config).unwrap();
    (server, Arc::new(Observed::new(model, &config, watching)))
}

fn priced() -> Watching {
    let price = Price::new(1e6, 2e6);
    Watching { prices: ByModel::usual(None, Some(price)).others(Some(price)), show: None }
}

#[tokio::test]
async fn a_call_is_a_client_span_below_the_current_one_and_is_measured() {
    let (server, model) = watched("weatherly", priced()).await;
    let request = ModelRequest {
        params: Params { temperature: Some(0.5), ..Params::default() },
        ..ask("Paris?")
    };
    let call = complete(&*model, request, |_| {});
    let reply = call.with_context(context(1, true)).await.unwrap();

    let [span] = &spans(1)[..] else { panic!("{:?}", spans(1)) };
    assert_eq!(span.name, "chat weatherly");
    assert_eq!(span.span_kind, SpanKind::Client);
    assert_eq!(span.parent_span_id, SpanId::from(7u64));
    assert_eq!(span.status, Status::Unset);
    let seen = attributes(span);
    let text = |key: &str| seen.get(key).map(|value| value.to_string()).unwrap_or_default();
    assert_eq!(text("gen_ai.operation.name"), "chat");
    assert_eq!(text("gen_ai.provider.name"), "openai");
    assert_eq!(text("gen_ai.request.model"), "weatherly");
    assert_eq!(text("gen_ai.response.model"), reply.model);
    assert_eq!(text("gen_ai.request.max_tokens"), "77");
    assert_eq!(text("gen_ai.request.temperature"), "0.5");
    assert_eq!(text("gen_ai.response.finish_reasons"), r#"["tool_call"]"#);
    assert_eq!(text("gen_ai.usage.input_tokens"), reply.usage.input_tokens.to_string());
    assert_eq!(text("gen_ai.usage.output_tokens"), reply.usage.output_tokens.to_string());
    assert_eq!(text("server.address"), "127.0.0.1");
    assert!(server.base_url().contains(&text("server.port")));
    assert!(matches!(seen["gen_ai.response.time_to_first_chunk"], Value::F64(s) if *s > 0.0));
    // The attributes contain no messages.
    for key in ["error.type", "gen_ai.input.messages", "gen_ai.output.messages"] {
        assert!(!seen.contains_key(key), "{key}");
    }

    let common = "gen_ai.operation.name=chat gen_ai.provider.name=openai";
    let duration = points("gen_ai.client.operation.duration", "weatherly");
    assert_eq!(duration[0].0, format!("error.type= {common}"));
    let first = points("gen_ai.client.operation.time_to_first_chunk", "weatherly");
    assert_eq!(first[0].0, common);
    assert!(first[0].1 > 0.0 && first[0].1 <= duration[0].1, "{first:?} {duration:?}");
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let [input, output] =
        [reply.usage.input_tokens, reply.usage.output_tokens].map(|tokens| tokens as f64);
    let mut tokens = points("gen_ai.client.token.usage", "weatherly");
    tokens.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(tokens[0], (format!("{common} gen_ai.token.type=input"), input));
    assert_eq!(tokens[1], (format!("{common} gen_ai.token.type=output"), output));
    let cost = points("callboard.model.cost.usd", "weatherly");
    assert_eq!(cost, [("gen_ai.provider.name=openai".to_owned(), input + 2.0 * output)]);
}

#[tokio::test]
async fn a_trace_that_is_not_sampled_has_no_span_and_the_call_is_measured_all_the_same() {
    let (_server, model) = watched("unseen", Watching::default()).await;
    complete(&*model, ask("well?"), |_| {}).with_context(context(2, false)).await.unwrap();
    assert_eq!(spans(2), []);
    assert_eq!(points("gen_ai.client.operation.duration", "unseen").len(), 1);
    assert_eq!(points("callboard.model.cost.usd", "unseen"), []);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_canceled() {
    let (_server, model) = watched("slow", Watching::default()).await;
    let mut reply = model.stream(ask("slow")).with_context(context(3, true)).await.unwrap();
    assert!(matches!(reply.next().await, Some(Ok(Delta::Text(_)))));
    assert_eq!(spans(3), [], "nothing is recorded before it ends");
    drop(reply);
    let [span] = &spans(3)[..] else { panic!("{:?}", spans(3)) };
    assert_eq!(attributes(span)["error.type"].to_string(), "canceled");
    assert_eq!(span.status, Status::error("canceled"));
    assert!(span.end_time > span.start_time);
    let measured = points("gen_ai.client.operation.duration", "slow");
    assert!(measured[0].0.starts_with("error.type=canceled "), "{measured:?}");
}

#[tokio::test]
async fn attempts_that_fail_are_counted_and_the_last_failure_is_the_calls() {
    let (_server, model) = watched("busy", Watching::default()).await;
    let call = complete(&*model, ask("busy"), |_| {});
    let error = call.with_context(context(4, true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    let [span] = &spans(4)[..] else { panic!("{:?}", spans(4)) };
    assert_eq!(attributes(span)["error.type"].to_string(), "overloaded");
    let retries = points("callboard.model.retries", "busy");
    assert_eq!(retries, [("error.type=overloaded gen_ai.provider.name=openai".to_owned(), 2.0)]);
}

#[tokio::test]
async fn what_was_said_is_shown_only_through_the_function_given_for_it() {
    let show: model::Show = Arc::new(|text: &str| text.replace("weatherweather", "***"));
    let watching = Watching { prices: ByModel::default(), show: Some(show) };
    let (_server, model) = watched("shown", watching).await;
    complete(&*model, ask("Paris, weatherweather?"), |_| {})
        .with_context(context(5, true))
        .await
        .unwrap();
    let [span] = &spans(5)[..] else { panic!("{:?}", spans(5)) };
    let seen = attributes(span);
    let text = |key: &str| seen[key].to_string();
    assert_eq!(
        text("gen_ai.system_instructions"),
        r#"[{"type":"text","content":"You are brief."}]"#
    );
    assert!(text("gen_ai.input.messages").contains("Paris, ***?"));
    assert!(text("gen_ai.output.messages").contains("I look."));
    assert!(!format!("{span:?}").contains("weatherweather"), "{span:?}");
}

#[tokio::test]
async fn a_model_that_nobody_configured_is_measured_as_other_and_named_in_its_span() {
    let (_server, model) = watched("usual", Watching::default()).await;
    let params = Params { model: Some("made-up".to_owned()), ..Params::default() };
    let request = ModelRequest { params, ..ask("well?") };
    complete(&*model, request, |_| {}).with_context(context(6, true)).await.unwrap();
    assert_eq!(spans(6)[0].name, "chat made-up");
    assert_eq!(points("gen_ai.client.operation.duration", "made-up"), []);
    assert_eq!(points("gen_ai.client.operation.duration", "other").len(), 1);
}
