//! Settings with where each came from.

use proto::escape;
use runtime::config::{Origin, Setting};
use serde::Serialize;

use crate::{
    look::{Look, Tone},
    render::table::{plain, table},
};

/// A setting as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    /// The dotted key.
    pub(crate) key: String,
    /// The value; the place of a secret instead of the secret.
    pub(crate) value: serde_json::Value,
    /// Where it came from.
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

/// The list, in the order of the keys.
pub(crate) fn list(look: &Look, settings: &[Setting]) -> String {
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
    table(look, &["KEY", "VALUE", "SOURCE"], rows.collect(), "no settings")
}
