//! Bounds of single settings, and settings that contradict each other.

use agents::conflicts;
use proto::subject::Subjects;
use url::Url;

use super::{Config, Model, ModelKind, ModelPrice, Nats};
use broker::nats::check_inbox;

/// One hour, in milliseconds.
const HOUR: u64 = 3_600_000;
/// One day, in milliseconds.
const DAY: u64 = 24 * HOUR;
/// Bound of slots and caches, which are tables in memory. A larger number is a mistake.
const MANY: u64 = 1_000_000;

/// Range of a model's context window, in tokens.
const CONTEXT_TOKENS: std::ops::RangeInclusive<u32> =
    proto::observe::WINDOW_TOKENS_MIN..=100_000_000;

/// Mistakes, as pairs of key and reason.
type Found = Vec<(String, String)>;

/// Returns every mistake in settings whose types are right.
pub(super) fn all(config: &Config) -> Found {
    let mut found = bounds(config);
    found.extend(nats(&config.nats));
    found.extend(model(&config.model));
    found.extend(known(&config.model));
    found.extend(contradictions(config));
    found.extend(door(config));
    if let Err(error) = crate::telemetry::filter(&config.log.level) {
        found.push(("log.level".to_owned(), error.to_string()));
    }
    found.extend(telemetry(config));
    if config.tools.workspace.as_os_str().is_empty() {
        found.push(("tools.workspace".to_owned(), "names no directory".to_owned()));
    }
    for (name, agent) in &config.agents {
        if let Err(error) = conflicts::check(agent) {
            found.push((format!("agents.{name}.{}", error.field), error.why.to_owned()));
        }
    }
    found
}

fn bounds(config: &Config) -> Found {
    let (n, s, w) = (&config.nats, &config.supervisor, &config.workers);
    let (m, h, d) = (&config.model, &config.tools.http, &config.door);
    let t = &config.telemetry;
    let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let mut limits = vec![
        ("nats.ack_wait_ms", n.ack_wait_ms, 1_000, HOUR),
        ("nats.facts_ack_wait_ms", n.facts_ack_wait_ms, 1_000, HOUR),
        ("nats.pin_timeout_ms", n.pin_timeout_ms, 1_000, HOUR),
        ("nats.connect_timeout_ms", n.connect_timeout_ms, 10, HOUR),
        ("nats.request_timeout_ms", n.request_timeout_ms, 10, HOUR),
        ("supervisor.sweep_interval_ms", s.sweep_interval_ms, 1_000, DAY),
        ("supervisor.cache_jobs", wide(s.cache_jobs), 1, MANY),
        ("workers.plan_slots", wide(w.plan_slots), 1, MANY),
        ("workers.turn_slots", wide(w.turn_slots), 1, MANY),
        ("workers.call_slots", wide(w.call_slots), 1, MANY),
        ("workers.ask_slots", wide(w.ask_slots), 1, MANY),
        ("workers.drain_ms", w.drain_ms, 0, HOUR),
        ("workers.deliveries_max", w.deliveries_max, 2, 1_000),
        ("model.max_reply_bytes", wide(m.max_reply_bytes), 1_024, 1 << 30),
        ("model.timeouts_ms.connect", m.timeouts_ms.connect, 1, DAY),
        ("model.timeouts_ms.first_token", m.timeouts_ms.first_token, 1, DAY),
        ("model.timeouts_ms.idle", m.timeouts_ms.idle, 1, DAY),
        ("model.timeouts_ms.total", m.timeouts_ms.total, 1, DAY),
        ("model.retry.max_attempts", m.retry.max_attempts.into(), 1, 20),
        ("model.retry.initial_interval_ms", m.retry.initial_interval_ms, 0, HOUR),
        ("model.retry.max_interval_ms", m.retry.max_interval_ms, 0, HOUR),
        ("model.retry.max_wait_ms", m.retry.max_wait_ms, 0, DAY),
        ("tools.http.timeout_ms", h.timeout_ms, 1, HOUR),
        ("tools.http.max_bytes", wide(h.max_bytes), 1, 1 << 30),
        ("telemetry.metric_interval_ms", t.metric_interval_ms, 1_000, HOUR),
        ("telemetry.content_max_bytes", wide(t.content_max_bytes), 16, 1 << 20),
        ("door.max_in_flight", wide(d.max_in_flight), 1, MANY),
    ];
    limits.extend(w.heartbeat_ms.map(|ms| ("workers.heartbeat_ms", ms, 100, HOUR)));
    limits.extend(m.max_tokens.map(|n| ("model.max_tokens", n.into(), 1, 100_000_000)));
    let window = u64::from(proto::observe::WINDOW_TOKENS_MIN);
    limits
        .extend(m.context_tokens.map(|n| ("model.context_tokens", n.into(), window, 100_000_000)));
    limits.extend(d.submits_per_minute.map(|n| ("door.submits_per_minute", n.into(), 1, MANY)));
    limits
        .into_iter()
        .filter(|(_, value, min, max)| !(min..=max).contains(&value))
        .map(|(key, value, min, max)| {
            (key.to_owned(), format!("must be {min} to {max}, got {value}"))
        })
        .collect()
}

fn nats(nats: &Nats) -> Found {
    let mut found = Found::new();
    let mut wrong = |key: &str, why: String| found.push((format!("nats.{key}"), why));
    for server in nats.servers() {
        if let Err(why) = server_url(server) {
            wrong("url", why);
        }
    }
    if let Err(error) = Subjects::new(&nats.prefix, 1) {
        wrong("prefix", error.to_string());
    }
    if let Err(error) = Subjects::new("cb", nats.shards) {
        wrong("shards", error.to_string());
    }
    if ![1, 3, 5].contains(&nats.replicas) {
        wrong("replicas", format!("must be 1, 3 or 5, got {}", nats.replicas));
    }
    if let Err(why) = check_inbox(&nats.inbox_prefix, &nats.prefix) {
        wrong("inbox_prefix", why.to_owned());
    }
    if nats.reply_inboxes.is_empty() {
        wrong("reply_inboxes", "must name one or more: nobody could be answered".to_owned());
    }
    for (n, inbox) in nats.reply_inboxes.iter().enumerate() {
        if let Err(why) = check_inbox(inbox, &nats.prefix) {
            wrong(&format!("reply_inboxes[{n}]"), why.to_owned());
        }
    }
    if nats.credentials.is_some() && nats.nkey.is_some() {
        wrong("nkey", "nats.credentials is set too: a connection has one of them".to_owned());
    }
    if let Some(seed) = &nats.nkey
        && let Err(why) = broker::nats::keys::check_user(seed.value())
    {
        wrong("nkey", why.to_string());
    }
    match (&nats.tls.cert, &nats.tls.key) {
        (Some(_), None) => wrong("tls.key", "is missing: nats.tls.cert is set".to_owned()),
        (None, Some(_)) => wrong("tls.cert", "is missing: nats.tls.key is set".to_owned()),
        (Some(_), Some(_)) | (None, None) => {}
    }
    let files = [("ca_file", &nats.tls.ca_file), ("cert", &nats.tls.cert), ("key", &nats.tls.key)];
    for (key, file) in files {
        if file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            wrong(&format!("tls.{key}"), "names no file".to_owned());
        }
    }
    found
}

/// Checks one address. An error never repeats the whole address, which may hold a password.
fn server_url(server: &str) -> Result<(), String> {
    let url = Url::parse(server)
        .map_err(|e| format!("not an address such as nats://127.0.0.1:4222: {e}"))?;
    if !["nats", "tls", "ws", "wss"].contains(&url.scheme()) {
        return Err(format!("must begin with nats:// or tls://, not with {}:", url.scheme()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("names no host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "must not hold a user or password; use nats.credentials or nats.nkey".to_owned()
        );
    }
    Ok(())
}

fn model(model: &Model) -> Found {
    let mut found = Found::new();
    let mut wrong = |key: &str, why: &str| found.push((format!("model.{key}"), why.to_owned()));
    match (model.kind, &model.name) {
        (Some(_), None) => wrong("name", "is missing: model.kind is set"),
        (None, Some(_)) => wrong("kind", "is missing: model.name is set"),
        (Some(_), Some(_)) | (None, None) => {}
    }
    if model.name.as_deref().is_some_and(|name| !proto::price::is_model_name(name)) {
        wrong("name", "must be 1 to 256 characters without control characters");
    }
    match (model.kind, &model.script) {
        (Some(ModelKind::Script), None) => wrong("script", "is missing: model.kind is script"),
        (Some(ModelKind::Script), Some(_)) | (_, None) => {}
        (_, Some(_)) => wrong("script", "is only for model.kind = \"script\""),
    }
    let public = model.base_url.is_none()
        && model.kind.is_some_and(|k| k != ModelKind::Ollama && k != ModelKind::Script);
    if public && model.api_key.is_none() {
        wrong("api_key", "is missing: the public address of this model.kind needs one");
    }
    if let Some(url) = &model.base_url {
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            wrong("base_url", "must be an http or https address with a host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            wrong("base_url", "must not hold a user or password; use model.api_key");
        }
    }
    if model.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        wrong("temperature", "must be 0.0 to 2.0");
    }
    if model.top_p.is_some_and(|p| !(p > 0.0 && p <= 1.0)) {
        wrong("top_p", "must be above 0.0 and at most 1.0");
    }
    if !(1.0..=10.0).contains(&model.retry.backoff_factor) {
        wrong("retry.backoff_factor", "must be 1.0 to 10.0");
    }
    found
}

fn telemetry(config: &Config) -> Found {
    let mut found = Found::new();
    let mut wrong = |key: &str, why: &str| found.push((key.to_owned(), why.to_owned()));
    if !(0.0..=1.0).contains(&config.telemetry.trace_sample_ratio) {
        wrong("telemetry.trace_sample_ratio", "must be 0.0 to 1.0");
    }
    if let Some(url) = &config.telemetry.otlp_endpoint {
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            wrong("telemetry.otlp_endpoint", "must be an http or https address with a host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            wrong("telemetry.otlp_endpoint", "must not hold a user or password");
        }
    }
    found
}

/// Checks the context windows and prices of models that are listed by name, and the default model's
/// price.
fn known(model: &Model) -> Found {
    let mut found = Found::new();
    let mut wrong = |key: String, why: &str| found.push((key, why.to_owned()));
    let fits = |price: &ModelPrice| {
        let fits = |price: f64| price.is_finite() && price >= 0.0;
        fits(price.input_per_million) && fits(price.output_per_million)
    };
    if model.price.as_ref().is_some_and(|price| !fits(price)) {
        wrong("model.price".to_owned(), "must not be negative");
    }
    for (at, one) in model.known.iter().enumerate() {
        let key = |field: &str| format!("model.known[{at}].{field}");
        if !proto::price::is_model_name(&one.name) {
            let why = "must be 1 to 256 characters without control characters";
            wrong(key("name"), why);
        }
        if model.known.iter().take(at).any(|earlier| earlier.name == one.name) {
            wrong(key("name"), "is that of an earlier one: a model is in the list once");
        }
        if one.context_tokens.is_some_and(|n| !CONTEXT_TOKENS.contains(&n)) {
            wrong(key("context_tokens"), "must be 256 to 100000000");
        }
        if one.price.as_ref().is_some_and(|price| !fits(price)) {
            wrong(key("price"), "must not be negative");
        }
        if one.context_tokens.is_none() && one.price.is_none() {
            wrong(
                key("price"),
                "is missing, and context_tokens too: nothing is said of this model",
            );
        }
    }
    found
}

/// Checks pairs of settings that contradict each other.
fn contradictions(config: &Config) -> Found {
    let (n, m) = (&config.nats, &config.model);
    let t = &m.timeouts_ms;
    let heartbeat = config.workers.heartbeat_ms;
    let pairs = [
        (
            "workers.heartbeat_ms",
            heartbeat.is_some_and(|ms| ms > n.ack_wait_ms / 2),
            format!(
                "must be at most half of nats.ack_wait_ms ({}), or one late heartbeat gives the work to somebody else",
                n.ack_wait_ms
            ),
        ),
        (
            "model.timeouts_ms.connect",
            t.connect > t.total,
            format!("must not exceed model.timeouts_ms.total ({})", t.total),
        ),
        (
            "model.timeouts_ms.first_token",
            t.first_token > t.total,
            format!("must not exceed model.timeouts_ms.total ({})", t.total),
        ),
        (
            "model.timeouts_ms.idle",
            t.idle > t.total,
            format!("must not exceed model.timeouts_ms.total ({})", t.total),
        ),
        (
            "model.retry.initial_interval_ms",
            m.retry.initial_interval_ms > m.retry.max_interval_ms,
            format!("must not exceed model.retry.max_interval_ms ({})", m.retry.max_interval_ms),
        ),
        (
            "nats.pin_timeout_ms",
            n.pin_timeout_ms > n.facts_ack_wait_ms,
            format!(
                "must not exceed nats.facts_ack_wait_ms ({}), or facts of a dead supervisor are handed out to nobody",
                n.facts_ack_wait_ms
            ),
        ),
    ];
    pairs.into_iter().filter(|p| p.1).map(|(key, _, why)| (key.to_owned(), why)).collect()
}

fn door(config: &Config) -> Found {
    let mut found = Found::new();
    let mut seen = std::collections::BTreeMap::new();
    for (name, person) in &config.door.people {
        let key = format!("door.people.{}", name.as_str());
        let hash = &person.token_sha256;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if hash.len() != 64 || !hash.bytes().all(hex) {
            let why = "must be the SHA-256 of the token in 64 lower-case hex digits";
            found.push((format!("{key}.token_sha256"), why.to_owned()));
        } else if let Some(other) = seen.insert(hash, name.as_str()) {
            let why = format!("is the token of door.people.{other} too");
            found.push((format!("{key}.token_sha256"), why));
        }
        if person.roles.is_empty() {
            found.push((format!("{key}.roles"), "is empty: they may do nothing".to_owned()));
        }
    }
    found
}
