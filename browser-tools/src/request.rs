//! Requests to a browser and its replies. They travel between processes in a binary form, so every
//! field is always there and no type depends on the reader's guess.

use serde::{Deserialize, Serialize};

/// Longest address, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 8 * 1024;
/// Longest typed text, in bytes.
pub const TYPED_BYTES_MAX: usize = 64 * 1024;
/// Longest pause of a wait for a time, in milliseconds.
pub const PAUSE_MS_MAX: u32 = 30_000;
/// Largest picture, in bytes: with its reply it fits into one message between processes.
pub const PICTURE_BYTES_MAX: usize = 180 * 1024;
/// Largest number of notes in a reply.
pub const NOTES_MAX: usize = 20;

/// A request of a job to its browser session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Opens an address in the current tab; the first one of a job begins its session.
    Open {
        /// An http or https address.
        url: String,
    },
    /// Takes a snapshot of the page, or of a part.
    Snapshot {
        /// The element to begin at; `None` for the page.
        root: Option<Place>,
        /// Most lines below lines; `None` for the usual bound.
        depth: Option<u32>,
    },
    /// Clicks on an element.
    Click {
        /// The element.
        target: Target,
    },
    /// Replaces the text of a field.
    Type {
        /// The field.
        target: Target,
        /// The new text.
        text: String,
        /// `true` to press Enter afterwards.
        submit: bool,
    },
    /// Selects options of a list.
    Select {
        /// The list.
        target: Target,
        /// Labels or values of the options; all others become unselected.
        values: Vec<String>,
    },
    /// Presses a key, or keys together, such as `Enter` or `Control+a`.
    Press {
        /// The keys.
        key: String,
    },
    /// Waits for a change of the page, or for a time.
    Wait {
        /// The end of the wait.
        until: Until,
    },
    /// Goes back to the page before.
    Back,
    /// Takes a picture of the page.
    Screenshot {
        /// `true` for the whole page instead of its visible part.
        full: bool,
    },
    /// Lists tabs, or changes them.
    Tabs {
        /// The change.
        act: TabAct,
    },
}

/// An element of a snapshot, by its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The number of the snapshot.
    pub snapshot: u32,
    /// The number of the reference: 7 for `e7`.
    pub element: u32,
}

/// An element to act upon. An action that names another element than its reference is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The element.
    pub at: Place,
    /// Its name, as the snapshot shows it.
    pub name: String,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// The page shows a text.
    Text(String),
    /// The page no longer shows a text.
    Gone(String),
    /// This number of milliseconds has passed.
    Milliseconds(u32),
}

/// A change of tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TabAct {
    /// No change.
    List,
    /// Makes a tab the current one.
    Select(u32),
    /// Closes a tab.
    Close(u32),
}

/// The reply of a browser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Address of the current page.
    pub url: String,
    /// Title of the current page.
    pub title: String,
    /// The page as text.
    pub snapshot: Option<Snapshot>,
    /// The tabs, if the job has more than one or asked for them.
    pub tabs: Vec<Tab>,
    /// The events since the last reply.
    pub notes: Vec<Remark>,
    /// The picture that was asked for.
    pub picture: Option<Picture>,
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number that actions repeat.
    pub number: u32,
    /// A line for each element.
    pub text: String,
    /// Number of elements without a line, because of a bound.
    pub omitted: u32,
}

/// A tab of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tab {
    /// Its number, which no other tab of the session gets.
    pub number: u32,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// `true` for the tab that requests act upon.
    pub is_current: bool,
}

/// A picture of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The picture as a JPEG file.
    pub jpeg: Vec<u8>,
}

/// An event of a session that a model must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remark {
    /// The page showed a dialog, which was dismissed.
    Dialog {
        /// Its text.
        message: String,
    },
    /// The page opened a tab, which is the current one now.
    Opened {
        /// Its number.
        tab: u32,
    },
    /// The page opened a tab beyond the limit, which was closed.
    TooManyTabs {
        /// The limit.
        max: u32,
    },
    /// A tab closed itself.
    Closed {
        /// Its number.
        tab: u32,
    },
    /// A download was refused.
    Download {
        /// The name of the file.
        name: String,
    },
    /// The page asked for a file, and got none.
    FileAsked,
    /// The page tried to show an address that is refused.
    Left {
        /// The address.
        url: String,
    },
    /// A request of the page was refused.
    Barred {
        /// The reason.
        why: Barred,
    },
    /// The page was still loading when the reply was made.
    Loading,
    /// The process of a page broke down.
    Crashed {
        /// The number of its tab.
        tab: u32,
    },
    /// The action was done, and the page could not be read afterwards.
    Unread,
    /// An earlier session of the job was lost with its pages and cookies.
    Restarted,
}

/// The reason why a request of a page was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Barred {
    /// The host is not in the operator's list.
    #[error("tools.http.allow_hosts does not contain the host {0:?}")]
    Host(String),
    /// The host is not in the list of the job's agent.
    #[error("tool.hosts of the agent does not contain the host {0:?}")]
    NotOfAgent(String),
    /// The host has a private address.
    #[error("{host} is {address}, which is not a public address")]
    Private {
        /// The host.
        host: String,
        /// Its address.
        address: String,
    },
    /// The port belongs to another protocol.
    #[error("the port {1} of {0} belongs to another protocol than http")]
    Port(String, u16),
    /// The host has no address, or cannot be reached.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host.
        host: String,
        /// The reason.
        why: String,
    },
}

impl Barred {
    /// The host of the refused request.
    #[must_use]
    pub fn host(&self) -> &str {
        match self {
            Self::Host(host)
            | Self::NotOfAgent(host)
            | Self::Port(host, _)
            | Self::Private { host, .. }
            | Self::Unreachable { host, .. } => host,
        }
    }
}
