//! The reasons why a browser does not carry out a request, with their texts for models.

use proto::lang::Language;
use serde::{Deserialize, Serialize};

use crate::{
    request::{ADDRESS_BYTES_MAX, Barred, PICTURE_BYTES_MAX},
    words::Text,
};

/// The reason why a request was not carried out. A model can act upon each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The text is not an address.
    NotAddress,
    /// The scheme is neither http nor https.
    Scheme(String),
    /// The address contains a user name or a password.
    UserInfo,
    /// The guard refuses the page's host.
    Barred(Barred),
    /// The page did not load; holds the browser's reason.
    NotLoaded(String),
    /// The address leads to a download.
    Download,
    /// The job has no page yet.
    NoPage,
    /// The host has no room for another session.
    Full,
    /// The snapshot is not the last one.
    OldSnapshot {
        /// The number of the request.
        given: u32,
        /// The last number; 0 before the first one.
        last: u32,
    },
    /// The page is no longer the one of the snapshot.
    OtherPage,
    /// The snapshot has no such reference.
    NoElement(u32),
    /// The element has another name than the request.
    OtherName {
        /// The number of the reference.
        element: u32,
        /// The name of the element.
        name: String,
    },
    /// The page has changed or removed the element since the snapshot.
    Changed,
    /// The element is not visible.
    Hidden,
    /// Another element lies over the element.
    Covered(String),
    /// The element is disabled.
    Disabled,
    /// The element is not a field for text.
    NotField,
    /// The field takes texts of another form.
    NotValue,
    /// The element is not a list of options.
    NotList,
    /// The list has no such option, or takes one option only.
    NoOption(String),
    /// The key is unknown.
    Key(String),
    /// There is no page before.
    NoPageBefore,
    /// The session has no such tab.
    NoTab(u32),
    /// A wait ended without the change.
    NotSeen {
        /// The text.
        text: String,
        /// `true` if the text was to go.
        gone: bool,
    },
    /// The picture is too large.
    Picture,
    /// The page does not react.
    Unresponsive,
    /// The browser refused a command; holds its reason.
    Browser(String),
}

impl Refusal {
    /// Returns the text for a model.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match self {
            Self::NotAddress => Text::NotAddress { max: &ADDRESS_BYTES_MAX },
            Self::Scheme(scheme) => Text::Scheme { scheme },
            Self::UserInfo => Text::UserInfo,
            Self::Barred(why) => return barred(why, language),
            Self::NotLoaded(why) => Text::NotLoaded { why },
            Self::Download => Text::OnlyDownload,
            Self::NoPage => Text::NoPage,
            Self::Full => Text::Full,
            Self::OldSnapshot { given, last } => Text::OldSnapshot { given, last },
            Self::OtherPage => Text::OtherPage,
            Self::NoElement(element) => Text::NoElement { element },
            Self::OtherName { element, name } => Text::OtherName { element, name },
            Self::Changed => Text::Changed,
            Self::Hidden => Text::Hidden,
            Self::Covered(by) => Text::Covered { by },
            Self::Disabled => Text::Disabled,
            Self::NotField => Text::NotField,
            Self::NotValue => Text::NotValue,
            Self::NotList => Text::NotList,
            Self::NoOption(option) => Text::NoOption { option },
            Self::Key(key) => Text::Key { key },
            Self::NoPageBefore => Text::NoPageBefore,
            Self::NoTab(tab) => Text::NoTab { tab },
            Self::NotSeen { text, gone: false } => Text::NotSeen { text },
            Self::NotSeen { text, gone: true } => Text::NotGone { text },
            Self::Picture => Text::Picture { max: &PICTURE_BYTES_MAX },
            Self::Unresponsive => Text::Unresponsive,
            Self::Browser(why) => Text::Browser { why },
        }
        .text(language)
    }
}

/// Returns the text of a refused host.
pub(crate) fn barred(why: &Barred, language: Language) -> String {
    match why {
        Barred::Host(host) => Text::BarredHost { host },
        Barred::NotOfAgent(host) => Text::BarredByAgent { host },
        Barred::Private { host, address } => Text::BarredPrivate { host, address },
        Barred::Port(host, port) => Text::BarredPort { host, port },
        Barred::Unreachable { host, why } => Text::Unreachable { host, why },
    }
    .text(language)
}
