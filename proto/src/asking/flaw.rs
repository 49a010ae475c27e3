//! Why a question cannot be asked, in words that a model can act upon.

use super::{ASK_USER, AskKind, AskKinds};
use crate::{fact::AskedKind, lang::Language, limits};

/// A question that cannot be asked: the argument, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct Unaskable {
    /// The argument, dotted.
    pub field: String,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with an argument of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// The arguments are no object.
    NotAnObject,
    /// There are no words.
    NoPrompt,
    /// There are more words than this many bytes.
    TooLong(usize),
    /// An unknown mode.
    Mode,
    /// The agent may not ask questions of this kind.
    Kind {
        /// The kind.
        asked: AskKind,
        /// Those it may ask.
        may: AskKinds,
    },
    /// A form without a list of fields.
    NoFields,
    /// No fields, or too many.
    FieldCount,
    /// Something in the list is no field.
    NotAField,
    /// The same is there twice.
    Twice(String),
    /// No name.
    NoKey,
    /// Nothing that can be filled in.
    Default,
    /// No length.
    Length,
    /// No number.
    NotANumber,
    /// The least is above the most.
    MinAboveMax,
    /// No whole number is between the bounds.
    NoWholeNumber,
    /// No kind of field.
    Type,
    /// A choice without a list of options.
    NoOptions,
    /// No options, or too many.
    OptionCount,
    /// Something in the list is no option.
    NotAnOption,
    /// No text.
    NotText,
    /// Neither yes nor no.
    NotAFlag,
}

impl AskKinds {
    /// What a model is told that asks a question of another kind: nothing when it may be asked.
    #[must_use]
    pub fn refusal(&self, asked: &AskedKind, language: Language) -> Option<String> {
        let kind = AskKind::of(asked);
        (!self.has(kind)).then(|| {
            let flaw = Flaw::Kind { asked: kind, may: self.clone() };
            Unaskable { field: "mode".to_owned(), flaw }.text(language)
        })
    }
}

impl Unaskable {
    /// What is wrong, with the argument.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let (field, why) = (&self.field, self.flaw.text(language));
        match language {
            Language::En => format!("{ASK_USER}: {field}: {why}"),
            Language::Zh => format!("{ASK_USER}：{field}：{why}"),
        }
    }
}

impl Flaw {
    fn text(&self, language: Language) -> String {
        match language {
            Language::En => self.en(),
            Language::Zh => self.zh(),
        }
    }

    fn en(&self) -> String {
        let (fields, options) = (limits::FIELDS_MAX, limits::OPTIONS_MAX);
        let words = match self {
            Self::NotAnObject => "the arguments must be a JSON object",
            Self::NoPrompt => "must say what the user is asked",
            Self::TooLong(max) => return format!("must be at most {max} bytes"),
            Self::Mode => "must be \"query\", \"select\" or \"form\"",
            Self::Kind { asked, may } => {
                let may = listed(may, " or ");
                let asked = asked.as_str();
                return format!(
                    "questions of the kind {asked:?} may not be asked here; ask with {may}, or go on without"
                );
            }
            Self::NoFields => "a form needs a list of fields",
            Self::FieldCount => return format!("must be 1 to {fields} fields"),
            Self::NotAField => "must be an object with type, key and label",
            Self::Twice(name) => return format!("{name:?} is there twice"),
            Self::NoKey => "must be a name",
            Self::Default => "must be a text, a number, true or false, or a list",
            Self::Length => "must be a whole number above 0",
            Self::NotANumber => "must be a number",
            Self::MinAboveMax => "must not be above max",
            Self::NoWholeNumber => "leaves no whole number up to max",
            Self::Type => "must be text, textarea, number, boolean or select",
            Self::NoOptions => "a choice needs a list of options",
            Self::OptionCount => return format!("must be 1 to {options} options"),
            Self::NotAnOption => "must be a text, or an object with value and label",
            Self::NotText => "must be a text",
            Self::NotAFlag => "must be true or false",
        };
        words.to_owned()
    }

    fn zh(&self) -> String {
        let (fields, options) = (limits::FIELDS_MAX, limits::OPTIONS_MAX);
        let words = match self {
            Self::NotAnObject => "参数必须是 JSON 对象",
            Self::NoPrompt => "必须说明要向用户询问什么",
            Self::TooLong(max) => return format!("最多 {max} 字节"),
            Self::Mode => "必须是 \"query\"、\"select\" 或 \"form\"",
            Self::Kind { asked, may } => {
                let may = listed(may, " 或 ");
                let asked = asked.as_str();
                return format!("此处不能提出 {asked:?} 类型的问题；请改用 {may}，或不提问继续");
            }
            Self::NoFields => "表单需要字段列表",
            Self::FieldCount => return format!("必须有 1 到 {fields} 个字段"),
            Self::NotAField => "必须是包含 type、key 和 label 的对象",
            Self::Twice(name) => return format!("{name:?} 重复出现"),
            Self::NoKey => "必须是名称",
            Self::Default => "必须是文本、数字、true 或 false，或列表",
            Self::Length => "必须是大于 0 的整数",
            Self::NotANumber => "必须是数字",
            Self::MinAboveMax => "不能大于 max",
            Self::NoWholeNumber => "与 max 之间没有整数",
            Self::Type => "必须是 text、textarea、number、boolean 或 select",
            Self::NoOptions => "选择题需要选项列表",
            Self::OptionCount => return format!("必须有 1 到 {options} 个选项"),
            Self::NotAnOption => "必须是文本，或包含 value 和 label 的对象",
            Self::NotText => "必须是文本",
            Self::NotAFlag => "必须是 true 或 false",
        };
        words.to_owned()
    }
}

fn listed(kinds: &AskKinds, or: &str) -> String {
    kinds.iter().map(|kind| format!("{:?}", kind.as_str())).collect::<Vec<_>>().join(or)
}
