//! The frame of A2A: requests and replies of JSON-RPC 2.0, the operations, and the errors. Pure.

use proto::{
    error::{Code, Failure},
    lang::{Language, Words},
    strict,
};
use serde_json::{Map, Value, json};

use super::words::Text;

/// The version of the protocol.
pub(super) const VERSION: &str = "1.0";
/// The version of a request that names none.
const UNNAMED: &str = "0.3";
/// Domain of the reasons in errors.
const DOMAIN: &str = "a2a-protocol.org";

/// The operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString)]
pub(super) enum Operation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreateTaskPushNotificationConfig,
    GetTaskPushNotificationConfig,
    ListTaskPushNotificationConfigs,
    DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard,
}

/// The errors of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Kind {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    InternalError,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    VersionNotSupported,
}

impl Kind {
    fn number(self) -> i32 {
        match self {
            Self::ParseError => -32_700,
            Self::InvalidRequest => -32_600,
            Self::MethodNotFound => -32_601,
            Self::InvalidParams => -32_602,
            Self::InternalError => -32_603,
            Self::TaskNotFound => -32_001,
            Self::TaskNotCancelable => -32_002,
            Self::PushNotificationNotSupported => -32_003,
            Self::UnsupportedOperation => -32_004,
            Self::ContentTypeNotSupported => -32_005,
            Self::VersionNotSupported => -32_009,
        }
    }
}

/// An error in the reply to a request.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    failure: Box<Failure>,
}

/// The reason why a request has no result.
#[derive(Debug)]
pub(super) enum Refused {
    /// The caller or the moment is wrong, which HTTP says.
    Http(Failure),
    /// The request is wrong, which the reply says.
    Reply(Fault),
}

impl Fault {
    pub(super) fn new(kind: Kind, why: Text<'_>) -> Self {
        let code = match kind {
            Kind::TaskNotFound => Code::NotFound,
            Kind::TaskNotCancelable => Code::JobEnded,
            Kind::InternalError => Code::Internal,
            Kind::ParseError
            | Kind::InvalidRequest
            | Kind::MethodNotFound
            | Kind::InvalidParams
            | Kind::PushNotificationNotSupported
            | Kind::UnsupportedOperation
            | Kind::ContentTypeNotSupported
            | Kind::VersionNotSupported => Code::InvalidRequest,
        };
        Self { kind, failure: Box::new(Failure::composed(code, &Words::from(why))) }
    }

    /// Returns the error that ends a stream.
    pub(super) fn of_stream(failure: Failure) -> Self {
        match Refused::from(failure) {
            Refused::Reply(fault) => fault,
            Refused::Http(failure) => {
                Self { kind: Kind::InternalError, failure: Box::new(failure) }
            }
        }
    }

    /// Names the wrong field.
    pub(super) fn at(self, field: impl Into<String>) -> Self {
        Self { failure: Box::new((*self.failure).at(field)), ..self }
    }

    /// Returns the error object.
    pub(super) fn object(&self, language: Language) -> Value {
        let Self { kind, failure } = self;
        let reason: &'static str = kind.into();
        let message = failure.message_in(language);
        let mut metadata = Map::new();
        metadata.insert("code".to_owned(), json!(failure.code));
        metadata.insert("hint".to_owned(), json!(failure.hint_in(language)));
        let mut details = vec![json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": DOMAIN,
            "metadata": metadata,
        })];
        if let Some(field) = &failure.field {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": field, "description": message}],
            }));
        }
        json!({"code": kind.number(), "message": message, "data": details})
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Reply(fault)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let kind = match failure.code {
            Code::Forbidden | Code::Overloaded | Code::Unavailable | Code::Timeout => {
                return Self::Http(failure);
            }
            Code::NotFound if failure.field.as_deref() == Some("job") => Kind::TaskNotFound,
            Code::JobEnded => Kind::UnsupportedOperation,
            Code::Poisoned | Code::Internal => Kind::InternalError,
            Code::InvalidRequest
            | Code::InvalidEncoding
            | Code::TooDeep
            | Code::TooLarge
            | Code::InvalidId
            | Code::UnsupportedVersion
            | Code::UnknownAgent
            | Code::UnknownPrice
            | Code::IdempotencyConflict
            | Code::NotFound
            | Code::AlreadyAnswered
            | Code::Closed
            | Code::Stale
            | Code::InvalidAnswer
            | Code::WouldRepeat => Kind::InvalidParams,
        };
        Self::Reply(Fault { kind, failure: Box::new(failure) })
    }
}

/// A request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: Value,
    pub(super) operation: Operation,
    pub(super) params: Value,
}

/// Reads a request of the version that its header names. An error has the id of the request, if it
/// is known.
pub(super) fn read(version: Option<&str>, body: &[u8]) -> Result<Call, (Value, Fault)> {
    let value = strict::value_from_slice(body)
        .map_err(|_| (Value::Null, Fault::new(Kind::ParseError, Text::NoJson)))?;
    let wrong = |id: &Value| (id.clone(), Fault::new(Kind::InvalidRequest, Text::NoRequest));
    let Value::Object(mut members) = value else { return Err(wrong(&Value::Null)) };
    let id = members.remove("id").unwrap_or_default();
    if !(id.is_string() || id.is_i64() || id.is_u64()) {
        return Err(wrong(&Value::Null));
    }
    let method = match members.get("method") {
        Some(Value::String(method)) if members.get("jsonrpc") == Some(&json!("2.0")) => method,
        Some(_) | None => return Err(wrong(&id)),
    };
    let named = version.map(str::trim).filter(|named| !named.is_empty()).unwrap_or(UNNAMED);
    // A patch version has no effect on compatibility.
    if named != VERSION && !named.starts_with("1.0.") {
        let why = Text::OtherVersion { spoken: &VERSION, named: &named };
        return Err((id, Fault::new(Kind::VersionNotSupported, why).at("A2A-Version")));
    }
    let operation = method.parse().map_err(|_| {
        let fault = Fault::new(Kind::MethodNotFound, Text::UnknownMethod { method });
        (id.clone(), fault)
    })?;
    let params = members.remove("params").unwrap_or_else(|| json!({}));
    Ok(Call { id, operation, params })
}

/// Returns the reply with a result.
pub(super) fn result(id: &Value, result: impl serde::Serialize) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// Returns the reply with an error.
pub(super) fn error(id: &Value, fault: &Fault, language: Language) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": fault.object(language)})
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn request(method: &str) -> String {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"id": "j1"}}).to_string()
    }

    #[rstest]
    #[case::as_it_is(Some("1.0"), true)]
    #[case::a_patch(Some("1.0.1"), true)]
    #[case::an_older_one(Some("0.3"), false)]
    #[case::a_newer_one(Some("1.1"), false)]
    #[case::empty(Some(""), false)]
    #[case::none(None, false)]
    fn a_request_names_the_version(#[case] version: Option<&str>, #[case] is_spoken: bool) {
        match read(version, request("GetTask").as_bytes()) {
            Ok(call) => {
                assert!(is_spoken);
                assert_eq!((call.operation, call.id), (Operation::GetTask, json!(7)));
                assert_eq!(call.params, json!({"id": "j1"}));
            }
            Err((id, fault)) => {
                assert_eq!(
                    (is_spoken, id, fault.kind),
                    (false, json!(7), Kind::VersionNotSupported)
                );
            }
        }
    }

    #[rstest]
    #[case::no_json("{", Kind::ParseError)]
    #[case::a_batch("[]", Kind::InvalidRequest)]
    #[case::no_id(r#"{"jsonrpc": "2.0", "method": "GetTask"}"#, Kind::InvalidRequest)]
    #[case::no_version(r#"{"id": 1, "method": "GetTask"}"#, Kind::InvalidRequest)]
    #[case::no_method(r#"{"jsonrpc": "2.0", "id": 1}"#, Kind::InvalidRequest)]
    #[case::an_old_method(
        r#"{"jsonrpc": "2.0", "id": 1, "method": "message/send"}"#,
        Kind::MethodNotFound
    )]
    fn what_is_no_request_is_refused(#[case] body: &str, #[case] kind: Kind) {
        assert_eq!(read(Some(VERSION), body.as_bytes()).unwrap_err().1.kind, kind);
    }

    #[test]
    fn an_error_says_its_reason_and_the_wrong_field() {
        let fault = Fault::new(Kind::TaskNotFound, Text::NoRequest).at("id");
        let object = fault.object(Language::En);
        assert_eq!(object["code"], -32_001);
        assert_eq!(object["data"][0]["reason"], "TASK_NOT_FOUND");
        assert_eq!(object["data"][0]["domain"], DOMAIN);
        assert_eq!(object["data"][0]["metadata"]["code"], "not_found");
        assert_eq!(object["data"][1]["fieldViolations"][0]["field"], "id");
    }
}
