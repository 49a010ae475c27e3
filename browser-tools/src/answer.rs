//! Replies of a browser as results of tools.

use proto::{file::FileName, lang::Language, tool::ToolResult};
use serde_json::{Map, Value, json};

use crate::{
    refusal::barred,
    request::{Remark, Reply, Tab},
    words::Text,
};

/// A picture that was stored as a file of the job.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) name: FileName,
    pub(crate) bytes: usize,
}

/// Converts a reply.
pub(crate) fn of(reply: &Reply, stored: Option<&Stored>, language: Language) -> ToolResult {
    let Reply { url, title, snapshot, tabs, notes, picture: _ } = reply;
    let mut data = Map::new();
    data.insert("url".to_owned(), json!(url));
    data.insert("title".to_owned(), json!(title));
    let mut told: Vec<String> = notes.iter().map(|note| text(note, language)).collect();
    if let Some(snapshot) = snapshot {
        data.insert("snapshot".to_owned(), json!(snapshot.number));
        data.insert("page".to_owned(), json!(snapshot.text));
        if snapshot.omitted > 0 {
            told.push(Text::Omitted { count: &snapshot.omitted }.text(language));
        }
    }
    if !tabs.is_empty() {
        let tabs: Vec<Value> = tabs.iter().map(tab).collect();
        data.insert("tabs".to_owned(), json!(tabs));
    }
    if let Some(Stored { name, bytes }) = stored {
        data.insert("file".to_owned(), json!({"name": name, "bytes": bytes}));
    }
    if !told.is_empty() {
        data.insert("notes".to_owned(), json!(told));
    }
    let message = match stored {
        Some(Stored { name, bytes }) => Text::PictureStored { name, bytes }.text(language),
        None if notes.contains(&Remark::Unread) => Text::Unread.text(language),
        None if url.is_empty() => Text::TabsShown { count: &tabs.len() }.text(language),
        None => Text::PageShown { title, url }.text(language),
    };
    ToolResult::ok(Value::Object(data)).with_message(message)
}

fn tab(tab: &Tab) -> Value {
    let Tab { number, url, title, is_current } = tab;
    json!({"tab": number, "url": url, "title": title, "current": is_current})
}

fn text(note: &Remark, language: Language) -> String {
    match note {
        Remark::Dialog { message } => Text::Dialog { message },
        Remark::Opened { tab } => Text::Opened { tab },
        Remark::TooManyTabs { max } => Text::TooManyTabs { max },
        Remark::Closed { tab } => Text::Closed { tab },
        Remark::Download { name } => Text::Download { name },
        Remark::FileAsked => Text::FileAsked,
        Remark::Left { url } => Text::Left { url },
        Remark::Barred { why } => {
            return Text::Barred { why: &barred(why, language) }.text(language);
        }
        Remark::Loading => Text::Loading,
        Remark::Crashed { tab } => Text::Crashed { tab },
        Remark::Unread => Text::Unread,
        Remark::Restarted => Text::Restarted,
    }
    .text(language)
}
