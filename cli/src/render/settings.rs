//! Rendering of settings with their sources.

use proto::escape;
use runtime::config::{Origin, Setting};
use serde::Serialize;

use crate::{
    render::table::{plain, table},
    style::{Style, Tone},
    words::Text,
};

/// A setting for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    /// Dotted key of the setting.
    pub(crate) key: String,
    /// The value; for a secret, the place it is read from.
    pub(crate) value: serde_json::Value,
    /// Source of the value: default, file, environment or flag.
    pub(crate) source: String,
}

impl From<&Setting> for Shown {
    fn from(setting: &Setting) -> Self {
        let text = || serde_json::Value::from(setting.value.as_str());
        Self {
            key: setting.key.clone(),
            value: serde_json::from_str(&setting.value).unwrap_or_else(|_| text()),
            source: setting.source.to_string(),
        }
    }
}

/// Renders the list, by key.
pub(crate) fn list(style: &Style, settings: &[Setting]) -> String {
    let rows = settings.iter().map(|setting| {
        let tone = match setting.source {
            Origin::Default => Tone::Dim,
            Origin::File(_) | Origin::Env(_) | Origin::Flag(_) => Tone::Good,
        };
        vec![
            plain(escape::line(&setting.key)),
            plain(escape::line(&setting.value)),
            (tone, escape::line(&setting.source.to_string()).into_owned()),
        ]
    });
    table(style, Text::SettingsHeads, rows.collect(), Text::NoSettings)
}
