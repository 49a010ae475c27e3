//! `health`, `log`: queries to one process's admin listener.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use proto::refusal::Reason;
use runtime::admin::{PORT, settings::Listen};
use serde_json::{Value, json};

use crate::{
    args::{AdminArgs, Global, HealthArgs, LogArgs, Question},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::{Format, Output},
    style::Style,
    words::Text,
};

/// Default timeout; the process itself waits 2 s for NATS.
const PATIENCE: Duration = Duration::from_secs(4);
/// Longest response that is read, in bytes.
const ANSWER_MAX: usize = 64 * 1024;

/// Queries the health of a process.
pub(super) async fn health(global: &Global, output: Output, args: HealthArgs) -> Outcome {
    let path = match args.question {
        Question::Live => "/livez",
        Question::Ready => "/readyz",
    };
    let place = place(global, &args.admin)?;
    let (good, text) =
        match Answer::of(global, &place, |to, at| to.get(format!("{at}{path}"))).await {
            Ok(answer) => (answer.status.is_success(), answer.text),
            Err(error) if output.format == Format::Table => {
                output.warn(error.text(output.language));
                return Ok(Exit::Failed);
            }
            Err(error) => return Err(CliError { exit: Exit::Failed, ..error }),
        };
    let facts = serde_json::from_str(&text).unwrap_or_else(|_| json!({"said": text.trim()}));
    output.one(&facts, if good { "yes" } else { "no" }, |style| words(style, &facts, good))?;
    Ok(if good { Exit::Success } else { Exit::Failed })
}

/// Describes a health response for users: the status, and the failed checks.
fn words(style: &Style, facts: &Value, good: bool) -> String {
    let Some(checks) = facts["checks"].as_object() else {
        return format!("{}\n", proto::escape::line(facts["said"].as_str().unwrap_or_default()));
    };
    let state = if good { Text::Ready } else { Text::NotReady };
    let mut words = format!("{}\n", style.say(state));
    for (name, check) in checks {
        let mark = if check["ok"] == true { "✓" } else { "✗" };
        let reason = serde_json::from_value::<Reason>(check["reason"].clone()).ok();
        let found = reason
            .and_then(|reason| reason.text(style.language))
            .unwrap_or_else(|| check["found"].as_str().unwrap_or_default().to_owned());
        let found = proto::escape::line(&found);
        words.push_str(&format!("{mark} {name:<8}  {found}\n"));
    }
    words
}

/// Shows or changes the log level of a process.
pub(super) async fn log(global: &Global, output: Output, args: LogArgs) -> Outcome {
    let place = place(global, &args.admin)?;
    let answer = Answer::of(global, &place, |to, at| match &args.level {
        None => to.get(format!("{at}/log")),
        Some(level) => {
            let lasts = args.lasts.map(|lasts| format!("?for={}ms", lasts.as_millis()));
            to.put(format!("{at}/log{}", lasts.unwrap_or_default())).body(level.clone())
        }
    })
    .await?;
    if !answer.status.is_success() {
        return Err(CliError::usage(answer.text.trim()));
    }
    let mut lines = answer.text.lines();
    let facts = json!({"level": lines.next(), "note": lines.next()});
    let level = facts["level"].as_str().unwrap_or_default();
    output.one(&facts, level, |_| proto::escape::text(&answer.text).into_owned())
}

/// Returns the base URL of the admin listener.
fn place(global: &Global, admin: &AdminArgs) -> Result<String, CliError> {
    if let Some(address) = &admin.address {
        let bare = address.trim_start_matches("http://").trim_end_matches('/');
        return Ok(format!("http://{bare}"));
    }
    let at = match connect::config(global)?.admin.listen {
        Listen::Auto => SocketAddr::from(([127, 0, 0, 1], PORT)),
        Listen::At(address) => reachable(address),
        Listen::Off => return Err(CliError::setting(Text::AdminOff)),
    };
    Ok(format!("http://{at}"))
}

/// Replaces an unspecified address by loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let own: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    if address.ip().is_unspecified() { (own, address.port()).into() } else { address }
}

struct Answer {
    status: reqwest::StatusCode,
    text: String,
}

impl Answer {
    async fn of(
        global: &Global,
        place: &str,
        ask: impl FnOnce(&reqwest::Client, &str) -> reqwest::RequestBuilder,
    ) -> Result<Self, CliError> {
        let fail = |error: &reqwest::Error| {
            let place = &place;
            let late = error.is_timeout();
            let why = if late { Text::AdminLate { place } } else { Text::AdminSilent { place } };
            CliError::unavailable(why).hint(Text::IsItRunning)
        };
        // A proxy must not be used: the target is this machine or its neighbour.
        let to = reqwest::Client::builder()
            .no_proxy()
            .timeout(global.timeout.unwrap_or(PATIENCE))
            .build()
            .map_err(|e| fail(&e))?;
        let mut answer = ask(&to, place).send().await.map_err(|e| fail(&e))?;
        let (status, mut bytes) = (answer.status(), Vec::new());
        while let Some(chunk) = answer.chunk().await.map_err(|e| fail(&e))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_MAX {
                return Err(CliError::unavailable(Text::AdminStranger { place: &place }));
            }
        }
        Ok(Self { status, text: String::from_utf8_lossy(&bytes).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proto::lang::Language;

    use super::*;

    #[test]
    fn every_address_is_reached_by_this_machines_own() {
        for (listen, reached) in [
            ("0.0.0.0:9464", "127.0.0.1:9464"),
            ("[::]:9464", "[::1]:9464"),
            ("10.1.2.3:80", "10.1.2.3:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), reached);
        }
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let facts = json!({"checks": {
            "nats": {"ok": false, "found": "lost\u{1b}[2J"},
            "pools": {"ok": true, "found": "3 taking commands", "reason":
                {"name": "composed", "args": {"en": "3 taking commands", "zh": "3 个正在接收命令"}}},
        }});
        let chinese = Style { language: Language::Zh, ..Style::plain(None) };
        let said = words(&chinese, &facts, false);
        assert!(said.contains("3 个正在接收命令") && said.contains("lost"), "{said}");
        let words = words(&Style::plain(None), &facts, false);
        assert!(words.starts_with("not ready\n✗ nats      lost"), "{words}");
        assert!(!words.contains('\u{1b}'));
    }
}
