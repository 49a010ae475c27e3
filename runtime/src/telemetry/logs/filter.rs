//! The filter of the log: a level, and other levels for single targets. It is stricter than
//! `EnvFilter`, which takes a misspelt level for the name of a target.

use proto::lang::Words;
use tracing_subscriber::EnvFilter;

use crate::{config::words::Text, telemetry::TelemetryError};

/// Libraries that log only warnings unless the filter names them.
const QUIET: [&str; 11] = [
    "async_nats",
    "hyper",
    "hyper_util",
    "reqwest",
    "rustls",
    "h2",
    "ractor",
    "tonic",
    "tower",
    "opentelemetry",
    // It writes what servers of others send.
    "rmcp",
];
/// The names of the levels.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Bound of a filter, in bytes.
const BYTES_MAX: usize = 1024;

/// Parses a level (`info`) or a filter (`info,callboard_runtime=debug`). Libraries such as
/// `async_nats` log only warnings unless the filter names them.
///
/// # Errors
/// An error is returned when the text is neither.
pub fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    if level.len() > BYTES_MAX {
        return Err(TelemetryError::Filter(Text::FilterTooLong { max: &BYTES_MAX }.into()));
    }
    let parts: Vec<(Option<&str>, &str)> =
        level.split(',').map(part).collect::<Result<_, _>>().map_err(TelemetryError::Filter)?;
    let is_named = |library: &str| {
        let of = |target: &str| target.split("::").next() == Some(library);
        parts.iter().any(|(target, _)| target.is_some_and(of))
    };
    let quiet = QUIET.iter().filter(|library| !is_named(library)).map(|l| format!("{l}=warn"));
    let asked = parts.iter().map(|(target, level)| match target {
        Some(target) => format!("{target}={level}"),
        None => (*level).to_owned(),
    });
    let all: Vec<String> = quiet.chain(asked).collect();
    EnvFilter::try_new(all.join(",")).map_err(|e| TelemetryError::Filter(e.to_string().into()))
}

/// Parses one part of a filter: the level of one target, or of all others.
fn part(text: &str) -> Result<(Option<&str>, &str), Words> {
    let text = text.trim();
    let (target, level) = match text.split_once('=') {
        Some((target, level)) => (Some(target.trim()), level.trim()),
        None => (None, text),
    };
    let is_path = |path: &str| {
        !path.is_empty() && path.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:-".contains(&b))
    };
    if let Some(target) = target.filter(|target| !is_path(target)) {
        return Err(Text::NoTarget { target: &target }.into());
    }
    if !LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level)) {
        return Err(Text::NoLevel { level: &level, levels: &LEVELS.join(", ") }.into());
    }
    Ok((target, level))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("info")]
    #[case("WARN")]
    #[case("off")]
    #[case("debug,callboard_runtime=trace")]
    #[case(" info , callboard_supervisor::actors=debug ")]
    #[case("async_nats=debug")]
    fn a_level_or_a_filter_is_taken(#[case] good: &str) {
        assert!(filter(good).is_ok());
    }

    #[rstest]
    #[case("", "is not a level")]
    #[case("inof", "\"inof\" is not a level")]
    #[case("callboard_runtime", "is not a level")]
    #[case("info,", "is not a level")]
    #[case("a=b=c=d", "is not a level")]
    #[case("=debug", "is not a target")]
    #[case("info,a[x{y=.*}]=trace", "is not a target")]
    #[case("a b=debug", "is not a target")]
    fn anything_else_is_named(#[case] bad: &str, #[case] said: &str) {
        let error = filter(bad).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn a_filter_has_a_bound() {
        assert!(filter(&vec!["a=info"; 200].join(",")).is_err());
    }

    #[test]
    fn libraries_are_quiet_unless_they_are_named() {
        let shown = |level: &str| filter(level).unwrap().to_string();
        assert!(shown("debug").contains("async_nats=warn"));
        assert!(!shown("info,async_nats::client=debug").contains("async_nats=warn"));
    }
}
