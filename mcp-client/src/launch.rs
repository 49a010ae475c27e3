//! The start of a server as its settings say: a program or an address, with secrets fetched.

use std::{
    env,
    path::{Path, PathBuf},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use proto::{
    digest, escape,
    lang::{Language, Words},
};
use rustix::fs::{Access, access};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::{
    settings::{Given, Server, ServerName},
    words::Text,
};

/// A server that can be started: its program or address, with the values of its secrets.
#[derive(Clone, derive_more::Debug)]
pub struct Launch {
    pub(crate) target: Target,
}

/// A program or an address.
#[derive(Clone, derive_more::Debug)]
pub(crate) enum Target {
    /// A program of this machine.
    #[debug("Program({}, {args:?})", path.display())]
    Program { path: PathBuf, args: Vec<String>, env: Vec<(String, SecretString)> },
    /// An address.
    #[debug("Address({url})")]
    Address { url: Url, headers: HeaderMap, allow_private: bool },
}

/// The reason why a server cannot be started as its settings say.
#[derive(Debug, Clone, thiserror::Error)]
#[error("mcp.servers.{server}.{field}: {}", .why.text(Language::En))]
pub struct LaunchError {
    /// Name of the server.
    server: String,
    /// Field of its settings.
    field: String,
    /// The reason.
    why: Words,
}

impl LaunchError {
    /// Returns the field and the reason, for users.
    #[must_use]
    pub fn words(&self) -> Words {
        let Self { server, field, why } = self.clone();
        Words::new(move |language| format!("mcp.servers.{server}.{field}: {}", why.text(language)))
    }
}

impl Launch {
    /// Finds the program and fetches the secrets.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn of(name: &ServerName, server: &Server) -> Result<Self, LaunchError> {
        let failed =
            |field: String, why: Words| LaunchError { server: name.to_string(), field, why };
        let value = |table: &str, name: &str, given: &Given| match given {
            Given::Plain(value) => Ok(SecretString::from(value.clone())),
            Given::Secret(secret) => match secret.value() {
                Ok(value) => Ok(value.clone()),
                Err(why) => Err(failed(format!("{table}.{name}"), why.clone())),
            },
        };
        if let Some(url) = &server.url {
            let mut headers = HeaderMap::new();
            for (name, given) in &server.headers {
                let secret = value("headers", name, given)?;
                let wrong = |why: Text<'_>| failed(format!("headers.{name}"), why.into());
                let name = HeaderName::try_from(name).map_err(|_| wrong(Text::HeaderName))?;
                let header = HeaderValue::try_from(secret.expose_secret());
                let mut header = header.map_err(|_| wrong(Text::HeaderValue))?;
                header.set_sensitive(true);
                headers.insert(name, header);
            }
            let (url, allow_private) = (url.clone(), server.allow_private);
            return Ok(Self { target: Target::Address { url, headers, allow_private } });
        }
        let command = server.command.as_deref().unwrap_or_default();
        let path = find(command).ok_or_else(|| {
            failed("command".to_owned(), Text::NoProgram { command: &command }.into())
        })?;
        let given = server.env.iter();
        let env = given
            .map(|(name, given)| Ok::<_, LaunchError>((name.clone(), value("env", name, given)?)));
        let env = env.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { target: Target::Program { path, args: server.args.clone(), env } })
    }

    /// Returns the program with its path and arguments, or the address, on one line. Characters that
    /// hide something are escaped.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.target {
            Target::Program { path, args, .. } => {
                let path = path.display().to_string();
                let words = std::iter::once(&path).chain(args);
                words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
            Target::Address { url, .. } => escaped(url.as_str()),
        }
    }
}

/// Returns a word in quotes if it has other characters than plain ones.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("\"{}\"", escaped(word))
    }
}

/// Escapes a text for one line. Line ends stay visible.
pub(crate) fn escaped(text: &str) -> String {
    escape::line(&text.replace('\n', "\\n")).into_owned()
}

/// Returns the digest of the settings that decide which server is reached. A secret counts by its
/// place.
pub(crate) fn digest_of(server: &Server) -> String {
    let place = |given: &Given| match given {
        Given::Plain(value) => json!(value),
        Given::Secret(secret) => json!({ "secret": secret.from().to_string() }),
    };
    let places = |all: &std::collections::BTreeMap<String, Given>| -> Value {
        all.iter().map(|(name, given)| (name.clone(), place(given))).collect()
    };
    digest::of_json(&json!({
        "command": server.command,
        "args": server.args,
        "env": places(&server.env),
        "url": server.url.as_ref().map(Url::as_str),
        "headers": places(&server.headers),
    }))
}

/// Finds a program: a path as it is, a name in the directories of `PATH`.
fn find(command: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if command.contains('/') {
        let path = PathBuf::from(command);
        return is_program(&path).then_some(path);
    }
    let all = env::var_os("PATH")?;
    env::split_paths(&all).map(|directory| directory.join(command)).find(|path| is_program(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(toml: &str) -> Server {
        toml::from_str(toml).unwrap()
    }

    #[test]
    fn the_whole_command_is_shown_and_nothing_in_it_hides() {
        let server = server("command = '/bin/sh'\nargs = ['-c', \"x\\u202ey\\nz\", '']");
        let launch = Launch::of(&"s".parse().unwrap(), &server).unwrap();
        assert_eq!(launch.shown(), "/bin/sh -c \"x\\u{202e}y\\nz\" \"\"");
    }

    #[test]
    fn a_program_that_is_not_there_names_its_field() {
        let server = server("command = 'no-such-program-here'");
        let error = Launch::of(&"s".parse().unwrap(), &server).unwrap_err().to_string();
        assert!(error.starts_with("mcp.servers.s.command: "), "{error}");
    }

    #[test]
    fn every_setting_that_leads_elsewhere_changes_the_digest() {
        let all = [
            "command = 'a'",
            "command = 'b'",
            "command = 'a'\nargs = ['x']",
            "command = 'a'\nenv = { X = '1' }",
            "command = 'a'\nenv = { X = { env = 'Y' } }",
            "url = 'https://a.example'",
            "url = 'https://a.example'\nheaders = { X = 'y' }",
        ];
        let digests: std::collections::BTreeSet<_> =
            all.iter().map(|toml| digest_of(&server(toml))).collect();
        assert_eq!(digests.len(), all.len());
        let (one, other) = (server("command = 'a'"), server("command = 'a'\ntimeout_ms = 5"));
        assert_eq!(digest_of(&one), digest_of(&other));
    }
}
