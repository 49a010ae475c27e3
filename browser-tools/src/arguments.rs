//! Arguments of calls as requests.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    request::{Place, Request, TYPED_BYTES_MAX, TabAct, Target, Until},
    specs::Kind,
};

/// The reason why arguments that fit their schema are invalid.
#[derive(Debug)]
pub(crate) struct InvalidArguments(pub(crate) String);

#[derive(Deserialize)]
struct Open {
    url: String,
}

#[derive(Deserialize)]
struct Part {
    snapshot: Option<u32>,
    root: Option<String>,
    depth: Option<u32>,
}

#[derive(Deserialize)]
struct Element {
    snapshot: u32,
    #[serde(rename = "ref")]
    reference: String,
    name: String,
    text: Option<String>,
    submit: Option<bool>,
    values: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Press {
    key: String,
}

#[derive(Deserialize)]
struct Wait {
    text: Option<String>,
    gone: Option<String>,
    ms: Option<u32>,
}

#[derive(Deserialize)]
struct Screenshot {
    full: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Act {
    List,
    Select,
    Close,
}

#[derive(Deserialize)]
struct Tabs {
    act: Act,
    tab: Option<u32>,
}

/// Reads the arguments of a call.
pub(crate) fn request(kind: Kind, args: Value) -> Result<Request, InvalidArguments> {
    let element = |args| {
        let read: Element = read(args)?;
        let at = place(read.snapshot, &read.reference)?;
        let target = Target { at, name: read.name.clone() };
        Ok((target, read))
    };
    Ok(match kind {
        Kind::Open => Request::Open { url: read::<Open>(args)?.url },
        Kind::Snapshot => {
            let Part { snapshot, root, depth } = read(args)?;
            let root = match (snapshot, root) {
                (_, None) => None,
                (Some(snapshot), Some(root)) => Some(place(snapshot, &root)?),
                (None, Some(_)) => return Err(missing("snapshot")),
            };
            Request::Snapshot { root, depth }
        }
        Kind::Click => Request::Click { target: element(args)?.0 },
        Kind::Type => {
            let (target, Element { text, submit, .. }) = element(args)?;
            let text = text.ok_or_else(|| missing("text"))?;
            if text.len() > TYPED_BYTES_MAX {
                return Err(InvalidArguments(format!("text: more than {TYPED_BYTES_MAX} bytes")));
            }
            Request::Type { target, text, submit: submit.unwrap_or_default() }
        }
        Kind::Select => {
            let (target, Element { values, .. }) = element(args)?;
            Request::Select { target, values: values.ok_or_else(|| missing("values"))? }
        }
        Kind::Press => Request::Press { key: read::<Press>(args)?.key },
        Kind::Wait => {
            let Wait { text, gone, ms } = read(args)?;
            let until = match (text, gone, ms) {
                (Some(text), None, None) => Until::Text(text),
                (None, Some(text), None) => Until::Gone(text),
                (None, None, Some(ms)) => Until::Milliseconds(ms),
                (_, _, _) => {
                    return Err(InvalidArguments("text, gone, ms: one of them".to_owned()));
                }
            };
            Request::Wait { until }
        }
        Kind::Back => Request::Back,
        Kind::Screenshot => {
            Request::Screenshot { full: read::<Screenshot>(args)?.full.unwrap_or_default() }
        }
        Kind::Tabs => {
            let Tabs { act, tab } = read(args)?;
            let act = match (act, tab) {
                (Act::List, _) => TabAct::List,
                (Act::Select, Some(tab)) => TabAct::Select(tab),
                (Act::Close, Some(tab)) => TabAct::Close(tab),
                (Act::Select | Act::Close, None) => return Err(missing("tab")),
            };
            Request::Tabs { act }
        }
    })
}

fn read<T: DeserializeOwned>(args: Value) -> Result<T, InvalidArguments> {
    serde_json::from_value(args).map_err(|error| InvalidArguments(error.to_string()))
}

fn missing(field: &str) -> InvalidArguments {
    InvalidArguments(format!("{field}: missing"))
}

fn place(snapshot: u32, reference: &str) -> Result<Place, InvalidArguments> {
    let number = reference.strip_prefix('e').and_then(|number| number.parse().ok());
    let element = number.ok_or_else(|| InvalidArguments("ref: a reference as e7".to_owned()))?;
    Ok(Place { snapshot, element })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_element_is_named_by_snapshot_reference_and_name() {
        let args = json!({"snapshot": 3, "ref": "e7", "name": "Buy"});
        let at = Place { snapshot: 3, element: 7 };
        let target = Target { at, name: "Buy".to_owned() };
        assert_eq!(request(Kind::Click, args).unwrap(), Request::Click { target });
    }

    #[rstest]
    #[case(Kind::Wait, json!({}))]
    #[case(Kind::Wait, json!({"text": "a", "ms": 1}))]
    #[case(Kind::Tabs, json!({"act": "close"}))]
    #[case(Kind::Snapshot, json!({"root": "e1"}))]
    #[case(Kind::Click, json!({"snapshot": 1, "ref": "7", "name": ""}))]
    fn arguments_that_say_too_much_or_too_little_are_invalid(
        #[case] kind: Kind,
        #[case] args: Value,
    ) {
        assert!(request(kind, args).is_err());
    }
}
