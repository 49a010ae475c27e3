//! Contexts: named connection options, in one file of the user. The file holds no secret, only the
//! paths of files that do.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::{args::Global, failure::CliError, words::Text};

/// Longest name of a context, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The name of a context.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, derive_more::Display, Serialize, Deserialize,
)]
#[serde(try_from = "String")]
pub(crate) struct ContextName(String);

impl ContextName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ContextName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::try_from(name.to_owned())
    }
}

impl TryFrom<String> for ContextName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
            return Ok(Self(name));
        }
        Err(format!("must be 1 to {NAME_BYTES_MAX} characters of A-Z a-z 0-9 _ -"))
    }
}

/// The connection options of a context; each is used where its flag is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// The configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<PathBuf>,
    /// The NATS servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The first token of every subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefix: Option<String>,
    /// The file with the caller's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
}

impl Context {
    /// Takes the options of a command line; `None` without any. Paths become absolute.
    pub(crate) fn of(global: &Global) -> Option<Self> {
        let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let context = Self {
            config: global.config.as_ref().map(whole),
            url: global.url.clone(),
            prefix: global.prefix.clone(),
            token_file: global.token_file.as_ref().map(whole),
        };
        (context != Self::default()).then_some(context)
    }

    /// Describes the context in one line.
    pub(crate) fn about(&self) -> String {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let options = [
            ("--url", self.url.clone()),
            ("--prefix", self.prefix.clone()),
            ("--config", path(&self.config)),
            ("--token-file", path(&self.token_file)),
        ];
        let given =
            options.into_iter().filter_map(|(flag, value)| Some(format!("{flag} {}", value?)));
        given.collect::<Vec<_>>().join(" ")
    }

    fn fill(self, global: &mut Global) {
        let Self { config, url, prefix, token_file } = self;
        global.config = global.config.take().or(config);
        global.url = global.url.take().or(url);
        global.prefix = global.prefix.take().or(prefix);
        global.token_file = global.token_file.take().or(token_file);
    }
}

/// The contexts of the user.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    /// The context of commands that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<ContextName>,
    #[serde(default)]
    contexts: BTreeMap<ContextName, Context>,
}

impl Contexts {
    /// Reads the file; no file is no contexts.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn load() -> Result<Self, CliError> {
        let Some(path) = file() else { return Ok(Self::default()) };
        match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text)
                .map_err(|e| CliError::setting(format!("{}: {}", path.display(), e.message()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(CliError::io(&path.display().to_string(), &error)),
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the user has no directory for it, or the file cannot be written.
    pub(crate) fn store(&self) -> Result<(), CliError> {
        let path = file().ok_or_else(|| CliError::usage(Text::NoContextFile))?;
        let text = toml::to_string(self).map_err(|e| CliError::internal(e.to_string()))?;
        let written = std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
            .and_then(|()| std::fs::write(path.with_extension("new"), text))
            .and_then(|()| std::fs::rename(path.with_extension("new"), &path));
        written.map_err(|e| CliError::io(&path.display().to_string(), &e))
    }

    /// Returns a context.
    ///
    /// # Errors
    /// If no context has this name.
    pub(crate) fn get(&self, name: &ContextName) -> Result<&Context, CliError> {
        self.contexts.get(name).ok_or_else(|| {
            CliError::input("ctx", Text::NoSuchContext { name }).hint(Text::ContextsAre)
        })
    }

    pub(crate) fn put(&mut self, name: ContextName, context: Context) {
        self.contexts.insert(name, context);
    }

    /// Removes a context, which is then no longer in use.
    pub(crate) fn remove(&mut self, name: &ContextName) {
        self.contexts.remove(name);
        self.used.take_if(|used| used == name);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ContextName, &Context)> {
        self.contexts.iter()
    }
}

/// The treatment of the context in use, where a command names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InUse {
    /// It applies: the command is a client.
    Applies,
    /// It is ignored: the command starts roles, or needs no connection.
    Ignored,
}

/// Fills the connection options that the command line leaves open. The context in use yields to
/// variables of the environment.
///
/// # Errors
/// If the named context does not exist, or the file cannot be read.
pub(crate) fn apply(global: &mut Global, in_use: InUse) -> Result<(), CliError> {
    if let Some(name) = &global.ctx {
        Contexts::load()?.get(name)?.clone().fill(global);
        return Ok(());
    }
    if in_use == InUse::Ignored {
        return Ok(());
    }
    let contexts = Contexts::load()?;
    let Some(name) = &contexts.used else { return Ok(()) };
    let Context { config, url, prefix, token_file } = contexts.get(name)?.clone();
    let unless = |variable: &str| std::env::var_os(variable).is_none();
    Context {
        config,
        url: url.filter(|_| unless("CALLBOARD__NATS__URL")),
        prefix: prefix.filter(|_| unless("CALLBOARD__NATS__PREFIX")),
        token_file: token_file.filter(|_| unless(crate::token::VARIABLE)),
    }
    .fill(global);
    Ok(())
}

/// Returns the path of the file; `None` for a user without a directory.
fn file() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(directory.join("callboard").join("contexts.toml"))
}
