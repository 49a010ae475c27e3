//! The parts of a message: the goal and the files of a job, or an answer. Pure.

use proto::{door::Data, file::FileName};
use serde_json::{Map, Value};

use super::{
    rpc::{Fault, Kind},
    words::Text,
};

/// Largest content of a part of the kind `raw`, in bytes.
const RAW_BYTES_MAX: usize = 64 * 1024;
/// The kinds of parts.
const KINDS: [&str; 4] = ["text", "data", "url", "raw"];

/// A part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Words(String),
    Data(Value),
    File(File),
}

/// A file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct File {
    pub(super) name: FileName,
    pub(super) media_type: Option<String>,
    pub(super) source: Source,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    Url(String),
    Bytes(Vec<u8>),
}

/// Reads the parts of a message. All of them are read before anything is stored.
pub(super) fn read(parts: &[Value]) -> Result<Vec<Part>, Fault> {
    if parts.is_empty() {
        return Err(Fault::new(Kind::InvalidParams, Text::NoParts).at("message.parts"));
    }
    parts.iter().enumerate().map(|(at, value)| part(at, value)).collect()
}

fn part(at: usize, value: &Value) -> Result<Part, Fault> {
    let wrong = |kind, why: Text<'_>| Fault::new(kind, why).at(format!("message.parts[{at}]"));
    let none = Map::new();
    let members = value.as_object().unwrap_or(&none);
    let is_given =
        |kind: &&str| members.get(*kind).is_some_and(|it| *kind == "data" || !it.is_null());
    let mut kinds = KINDS.into_iter().filter(is_given);
    let (Some(kind), more) = (kinds.next(), kinds.next()) else {
        return Err(wrong(Kind::ContentTypeNotSupported, Text::PartKind));
    };
    let content = members.get(kind).unwrap_or(&Value::Null);
    let (None, words) = (more, content.as_str()) else {
        return Err(wrong(Kind::InvalidParams, Text::PartForm));
    };
    if kind == "data" {
        return Ok(Part::Data(content.clone()));
    }
    let Some(words) = words else { return Err(wrong(Kind::InvalidParams, Text::PartForm)) };
    let source = match kind {
        "text" => return Ok(Part::Words(words.to_owned())),
        "url" => Source::Url(words.to_owned()),
        _ => {
            let bytes = Data::try_from(words.to_owned());
            let Data(bytes) = bytes.map_err(|_| wrong(Kind::InvalidParams, Text::PartForm))?;
            if bytes.len() > RAW_BYTES_MAX {
                let why = Text::RawTooLarge { max: &RAW_BYTES_MAX };
                return Err(wrong(Kind::ContentTypeNotSupported, why));
            }
            Source::Bytes(bytes)
        }
    };
    let member = |name| members.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let name = member("filename").map_or_else(|| format!("file-{}", at + 1), str::to_owned);
    let name = FileName::new(name).map_err(|_| wrong(Kind::InvalidParams, Text::PartName))?;
    Ok(Part::File(File { name, media_type: member("mediaType").map(str::to_owned), source }))
}

/// Returns the words and data of a message as one text; `None` if there are none.
pub(super) fn words(parts: &[Part]) -> Option<String> {
    let said = parts.iter().filter_map(|part| match part {
        Part::Words(words) => Some(words.clone()),
        Part::Data(value) => Some(value.to_string()),
        Part::File(_) => None,
    });
    let said = said.collect::<Vec<_>>().join("\n");
    (!said.trim().is_empty()).then_some(said)
}

/// Returns the files of a message.
pub(super) fn files(parts: Vec<Part>) -> Vec<File> {
    let files = parts.into_iter().filter_map(|part| match part {
        Part::File(file) => Some(file),
        Part::Words(_) | Part::Data(_) => None,
    });
    files.collect()
}

/// Returns the payload of an answer: one value, or a text; `None` for any other message.
pub(super) fn payload(parts: &[Part]) -> Option<Value> {
    if let [Part::Data(value)] = parts {
        return Some(value.clone());
    }
    let is_text = parts.iter().all(|part| matches!(part, Part::Words(_)));
    if is_text { words(parts).map(Value::String) } else { None }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn parts(parts: &Value) -> Result<Vec<Part>, Kind> {
        read(parts.as_array().unwrap()).map_err(|fault| fault.kind)
    }

    fn raw(bytes: usize) -> Value {
        json!([{"raw": String::from(Data(vec![0; bytes])), "filename": "a.bin"}])
    }

    #[test]
    fn words_and_data_are_the_goal_and_the_others_files() {
        let given = json!([
            {"text": "Compare"},
            {"data": {"a": 1}},
            {"url": "https://example.com/b.pdf", "filename": "b.pdf", "mediaType": "application/pdf"},
            {"raw": "AAE="},
        ]);
        let parts = parts(&given).unwrap();
        assert_eq!(words(&parts).as_deref(), Some("Compare\n{\"a\":1}"));
        let files = files(parts);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["b.pdf", "file-4"]);
        assert_eq!(files[0].media_type.as_deref(), Some("application/pdf"));
        assert_eq!(files[1].source, Source::Bytes(vec![0, 1]));
    }

    #[rstest]
    #[case::none(json!([]), Kind::InvalidParams)]
    #[case::another_kind(json!([{"text": "a"}, {"video": "b"}]), Kind::ContentTypeNotSupported)]
    #[case::no_object(json!(["a"]), Kind::ContentTypeNotSupported)]
    #[case::two_kinds(json!([{"text": "a", "url": "b"}]), Kind::InvalidParams)]
    #[case::no_text(json!([{"text": 7}]), Kind::InvalidParams)]
    #[case::no_base64(json!([{"raw": "?"}]), Kind::InvalidParams)]
    #[case::a_path(json!([{"raw": "AAE=", "filename": "../a"}]), Kind::InvalidParams)]
    #[case::too_large(raw(RAW_BYTES_MAX + 1), Kind::ContentTypeNotSupported)]
    fn any_other_part_is_refused(#[case] given: Value, #[case] kind: Kind) {
        assert_eq!(parts(&given), Err(kind));
    }

    #[test]
    fn the_largest_part_is_taken() {
        assert_eq!(files(parts(&raw(RAW_BYTES_MAX)).unwrap()).len(), 1);
    }

    #[rstest]
    #[case::a_value(json!([{"data": {"answer": "a"}}]), Some(json!({"answer": "a"})))]
    #[case::a_text(json!([{"text": "a"}, {"text": "b"}]), Some(json!("a\nb")))]
    #[case::both(json!([{"text": "a"}, {"data": 1}]), None)]
    #[case::a_file(json!([{"url": "https://example.com"}]), None)]
    #[case::blank(json!([{"text": " "}]), None)]
    fn an_answer_is_one_value_or_a_text(#[case] given: Value, #[case] answer: Option<Value>) {
        assert_eq!(payload(&parts(&given).unwrap()), answer);
    }
}
