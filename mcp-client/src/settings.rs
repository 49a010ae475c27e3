//! The settings of MCP servers.

use std::{collections::BTreeMap, fmt};

use proto::tool::{Approval, Effect};
use runtime::config::{Check, HOUR, Secret, Section};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use url::Url;

use crate::words::Text;

/// Largest number of servers.
pub const SERVERS_MAX: usize = 64;
/// Longest name of a server, in characters.
pub const SERVER_NAME_MAX: usize = 20;

/// Settings of MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcp {
    /// The servers, by name.
    #[serde(default)]
    pub servers: BTreeMap<ServerName, Server>,
}

/// The name of a server, which begins the names of its tools: 1 to [`SERVER_NAME_MAX`] characters of
/// `a-z 0-9 -`.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Deserialize,
    derive_more::Display,
    derive_more::AsRef,
)]
#[serde(try_from = "String")]
pub struct ServerName(String);

/// The reason why a text is no name of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a server's name has 1 to {SERVER_NAME_MAX} characters of a-z 0-9 -")]
pub struct InvalidServerName;

impl TryFrom<String> for ServerName {
    type Error = InvalidServerName;

    fn try_from(name: String) -> Result<Self, InvalidServerName> {
        let is_valid = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = (1..=SERVER_NAME_MAX).contains(&name.len()) && name.bytes().all(is_valid);
        if fits { Ok(Self(name)) } else { Err(InvalidServerName) }
    }
}

impl std::str::FromStr for ServerName {
    type Err = InvalidServerName;

    fn from_str(name: &str) -> Result<Self, InvalidServerName> {
        name.to_owned().try_into()
    }
}

impl ServerName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A server: a program or an address.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The program of a server on this machine: a path, or a name to seek in `PATH`.
    #[serde(default)]
    pub command: Option<String>,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The whole environment of the program.
    #[serde(default)]
    pub env: BTreeMap<String, Given>,
    /// The address of a server over HTTP.
    #[serde(default)]
    pub url: Option<Url>,
    /// Headers of every request to the address.
    #[serde(default)]
    pub headers: BTreeMap<String, Given>,
    /// `true` if the address may be a private one, and one of http.
    #[serde(default)]
    pub allow_private: bool,
    /// The lifetime of a program.
    #[serde(default)]
    pub scope: Scope,
    /// `true` if the annotations of the server's tools decide their effects and approvals.
    #[serde(default)]
    pub trust_annotations: bool,
    /// `true` if the results of the server's tools hold no content from outside.
    #[serde(default)]
    pub trust_results: bool,
    /// The choice among the server's tools.
    #[serde(default)]
    pub tools: Tools,
    /// Time limit of a call in milliseconds. Each progress of a call starts it again, up to
    /// [`PROGRESS_TIMES`] times in all.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
}

/// The multiple of `timeout_ms` after which a call ends, whatever its progress.
pub const PROGRESS_TIMES: u32 = 10;

fn default_timeout_ms() -> u64 {
    60_000
}

/// The lifetime of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One program for each process with the role `tools`.
    #[default]
    Worker,
    /// One program for each job.
    Job,
}

/// The choice among the tools of a server, by the names that the server gives them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// Names of the tools to offer, with `*` for any characters. `None`: all.
    #[serde(default)]
    pub allow: Option<Vec<String>>,
    /// Properties of single tools.
    #[serde(default)]
    pub set: BTreeMap<String, Properties>,
}

impl Tools {
    /// `true` if the tool is to be offered.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|patterns| patterns.iter().any(|p| matches(p, tool)))
    }
}

/// Returns whether a name fits a pattern with `*` for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

/// Properties of a tool, which win over everything that its server says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Properties {
    /// The effect class.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// The need for an approval.
    #[serde(default)]
    pub approval: Option<Approval>,
}

/// A value of an environment or a header.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// The value itself.
    Plain(String),
    /// A secret, by its place.
    Secret(Secret),
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GivenVisitor)
    }
}

struct GivenVisitor;

impl<'de> Visitor<'de> for GivenVisitor {
    type Value = Given;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#""text" / { env = "NAME" } / { file = "path" }"#)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Given, E> {
        Ok(Given::Plain(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Given, A::Error> {
        Secret::deserialize(MapAccessDeserializer::new(map)).map(Given::Secret)
    }
}

impl Section for Mcp {
    const NAME: &'static str = "mcp";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn secrets_of_entries(&mut self) -> Vec<&mut Secret> {
        let servers = self.servers.values_mut();
        let given = servers.flat_map(|s| s.env.values_mut().chain(s.headers.values_mut()));
        given
            .filter_map(|given| match given {
                Given::Plain(_) => None,
                Given::Secret(secret) => Some(secret),
            })
            .collect()
    }

    fn check(&self, check: &mut Check) {
        if self.servers.len() > SERVERS_MAX {
            check.wrong("mcp.servers", Text::ServersMax { max: &SERVERS_MAX });
        }
        for (name, server) in &self.servers {
            server.check(&format!("mcp.servers.{name}"), check);
        }
    }
}

impl Server {
    fn check(&self, key: &str, check: &mut Check) {
        let at = |last: &str| format!("{key}.{last}");
        match (&self.command, &self.url) {
            (None, None) => check.wrong(at("command"), Text::CommandOrUrl),
            (Some(_), Some(_)) => check.wrong(at("url"), Text::CommandOrUrl),
            (Some(command), None) => self.check_program(command, &at, check),
            (None, Some(url)) => self.check_address(url, &at, check),
        }
        match self.scope {
            Scope::Worker => {}
            Scope::Job => check.wrong(at("scope"), Text::ScopeJob),
        }
        // A day is the longest call of any tool.
        let max = runtime::registry::TIMEOUT_MS_MAX / u64::from(PROGRESS_TIMES);
        check.bounds(&[(at("timeout_ms").as_str(), self.timeout_ms, 1, max.min(HOUR))]);
        if self.tools.allow.as_ref().is_some_and(|allow| allow.iter().any(String::is_empty)) {
            check.wrong(at("tools.allow"), Text::EmptyPattern);
        }
    }

    fn check_program(&self, command: &str, at: &impl Fn(&str) -> String, check: &mut Check) {
        if command.trim().is_empty() {
            check.wrong(at("command"), Text::CommandOrUrl);
        }
        if !self.headers.is_empty() {
            check.wrong(at("headers"), Text::OnlyWithUrl);
        }
        if self.allow_private {
            check.wrong(at("allow_private"), Text::OnlyWithUrl);
        }
        let has_nul = |text: &str| text.contains('\0');
        if has_nul(command) || self.args.iter().any(|arg| has_nul(arg)) {
            check.wrong(at("args"), Text::NulCharacter);
        }
        for (name, given) in &self.env {
            let is_bad = name.is_empty() || name.contains(['=', '\0']);
            if is_bad || matches!(given, Given::Plain(value) if has_nul(value)) {
                check.wrong(at(&format!("env.{name}")), Text::EnvName);
            }
        }
    }

    fn check_address(&self, url: &Url, at: &impl Fn(&str) -> String, check: &mut Check) {
        check.http(&at("url"), url, Some(at("headers").as_str()));
        if url.scheme() == "http" && !self.allow_private {
            check.wrong(at("url"), Text::Https);
        }
        if !self.args.is_empty() {
            check.wrong(at("args"), Text::OnlyWithCommand);
        }
        if !self.env.is_empty() {
            check.wrong(at("env"), Text::OnlyWithCommand);
        }
        for (name, given) in &self.headers {
            let key = at(&format!("headers.{name}"));
            if http::HeaderName::try_from(name.as_str()).is_err() {
                check.wrong(key, Text::HeaderName);
            } else if let Given::Plain(value) = given {
                if name.eq_ignore_ascii_case("authorization") {
                    check.wrong(key, Text::SecretHeader);
                } else if http::HeaderValue::try_from(value.as_str()).is_err() {
                    check.wrong(key, Text::HeaderValue);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
