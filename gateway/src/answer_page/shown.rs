//! The contents of an answer page. Every text of a model, a tool or a user is escaped.

use askama::Template;
use proto::{
    decision::Closed,
    door::Redeemed,
    escape,
    interaction::{self, Choice, Question, QuestionKind, Verdict},
    lang::Language,
    plan::{Action, Plan},
    view::{PastQuestion, QuestionEnd},
};

use super::{
    given::{DECLINE, TEXT, TYPED, VALUE, field_name},
    words::Text,
};
use crate::scriptless::STYLE;

/// Hexadecimal digits that a person types to approve a call that must not run twice.
pub(super) const TYPED_DIGITS: usize = 4;
/// Format of a time.
const TIME: &str = "%Y-%m-%d %H:%M UTC";
/// An invisible character, as it is shown.
const EXAMPLE: &str = "\\u{200b}";

/// A whole page.
#[derive(Template)]
#[template(path = "answer.html")]
pub(super) struct Shown {
    lang: &'static str,
    style: &'static str,
    title: String,
    notes: Vec<String>,
    lines: Vec<String>,
    form: Option<Form>,
    expires: Option<String>,
}

struct Form {
    runs: Option<Runs>,
    plan: Option<Steps>,
    words_of_model: String,
    prompt: String,
    /// Digest of the question that the page shows.
    of: String,
    legend: String,
    decisions: Vec<Item>,
    fields: Vec<Field>,
    none: String,
    send: String,
}

/// The bytes that will run.
struct Runs {
    title: String,
    bytes: String,
    digest: String,
    invisible: String,
}

struct Steps {
    title: String,
    steps: Vec<Step>,
}

struct Step {
    text: String,
    call: Option<String>,
}

struct Item {
    value: String,
    label: String,
}

struct Field {
    name: String,
    label: String,
    input: Input,
}

enum Input {
    /// One line, with a largest number of characters.
    Line(Option<usize>),
    Number,
    Area,
    One(Vec<Item>),
    Some(Vec<Item>),
}

impl Shown {
    /// Creates a page without a form.
    pub(super) fn plain(language: Language, title: String, lines: Vec<String>) -> Self {
        let lang = language.code();
        Self { lang, style: STYLE, title, notes: Vec::new(), lines, form: None, expires: None }
    }

    /// Shows the question of a link, or how it ended.
    pub(super) fn of(redeemed: &Redeemed, language: Language, note: Option<String>) -> Self {
        let of = |text: Text<'_>| text.text(language);
        let (job, goal) = (&redeemed.job, &*escape::line(&redeemed.goal));
        let about = of(Text::Job { job, goal: &goal });
        let Some(question) = &redeemed.question else {
            let mut lines = end(redeemed.past.as_ref(), language);
            lines.push(about);
            return Self::plain(language, of(Text::Closed), lines);
        };
        let by = &*escape::line(&redeemed.by);
        let mut notes: Vec<String> = note.into_iter().collect();
        if redeemed.changed && notes.is_empty() {
            notes.push(of(Text::Changed));
        }
        let time = redeemed.expires.strftime(TIME).to_string();
        let digest = redeemed.digest.clone().unwrap_or_default();
        Self {
            notes,
            form: Some(Form::of(question, digest, redeemed.once, language)),
            expires: Some(of(Text::Expires { time: &time })),
            ..Self::plain(language, of(Text::Title { by: &by }), vec![about])
        }
    }
}

/// Says who answered, what and when, or why nobody can answer any more.
fn end(past: Option<&PastQuestion>, language: Language) -> Vec<String> {
    let of = |text: Text<'_>| text.text(language);
    let Some(past) = past else { return vec![of(Text::Superseded)] };
    let time = past.ended.strftime(TIME).to_string();
    let mut lines = match &past.end {
        QuestionEnd::Answered { decision, chosen, text, by } => {
            let decision = of(match decision {
                Verdict::Approve => Text::Approved,
                Verdict::Reject => Text::Rejected,
                Verdict::Respond => Text::Responded,
                Verdict::Edit => Text::Edited,
            });
            let by = escape::line(by);
            let said = of(Text::Answered { by: &by, decision: &decision });
            let more = chosen.iter().chain(text).map(|text| escape::text(text).into_owned());
            std::iter::once(said).chain(more).collect()
        }
        QuestionEnd::Closed { because, .. } => vec![of(match because {
            Closed::Expired => Text::Expired,
            Closed::JobEnded => Text::JobEnded,
            Closed::Superseded => Text::Superseded,
            Closed::RolledBack => Text::RolledBack,
            Closed::Denied => Text::Denied,
        })],
    };
    lines.push(of(Text::When { time: &time }));
    lines
}

impl Form {
    fn of(question: &Question, of: String, once: bool, language: Language) -> Self {
        let say = |text: Text<'_>| text.text(language);
        let answer_or_decline =
            || vec![decision(Verdict::Respond, say(Text::Answer)), declines(say(Text::Decline))];
        let (decisions, mut fields) = match &question.kind {
            QuestionKind::PlanCheck { .. } => {
                let decisions = vec![
                    decision(Verdict::Approve, say(Text::RunPlan)),
                    decision(Verdict::Respond, say(Text::ChangePlan)),
                    declines(say(Text::CancelJob)),
                ];
                (decisions, vec![optional(TEXT, Text::PlanReply, language)])
            }
            QuestionKind::ToolApproval { .. } => {
                let decisions = vec![
                    decision(Verdict::Approve, say(Text::RunCall)),
                    declines(say(Text::RefuseCall)),
                ];
                (decisions, vec![optional(TEXT, Text::Reason, language)])
            }
            QuestionKind::Question => {
                let (name, label) = (VALUE.to_owned(), say(Text::Value));
                (answer_or_decline(), vec![Field { name, label, input: Input::Area }])
            }
            QuestionKind::Choice { options, multiple } => {
                let (name, label) = (VALUE.to_owned(), say(Text::Value));
                let input = select(options, *multiple);
                (answer_or_decline(), vec![Field { name, label, input }])
            }
            QuestionKind::Form { fields } => {
                let fields = fields.iter().enumerate();
                let fields = fields.map(|(n, field)| Field::of(n, field, language));
                (answer_or_decline(), fields.collect())
            }
        };
        if once {
            let (name, label) = (TYPED.to_owned(), say(Text::Once));
            fields.push(Field { name, label, input: Input::Line(Some(TYPED_DIGITS)) });
        }
        Self {
            runs: Runs::of(&question.kind, language),
            plan: match &question.kind {
                QuestionKind::PlanCheck { plan, .. } => Some(Steps::of(plan, language)),
                QuestionKind::Question
                | QuestionKind::Choice { .. }
                | QuestionKind::Form { .. }
                | QuestionKind::ToolApproval { .. } => None,
            },
            words_of_model: say(Text::WordsOfModel),
            prompt: escape::text(&question.prompt).into_owned(),
            of,
            legend: say(Text::Choose),
            decisions,
            fields,
            none: say(Text::None),
            send: say(Text::Send),
        }
    }
}

fn decision(verdict: Verdict, label: String) -> Item {
    Item { value: verdict.as_str().to_owned(), label }
}

fn declines(label: String) -> Item {
    Item { value: DECLINE.to_owned(), label }
}

fn optional(name: &str, label: Text<'_>, language: Language) -> Field {
    let label = format!("{} ({})", label.text(language), Text::Optional.text(language));
    Field { name: name.to_owned(), label, input: Input::Area }
}

fn select(options: &[Choice], multiple: bool) -> Input {
    let options = options.iter().map(|option| {
        let label = option.label.as_ref().unwrap_or(&option.value);
        Item { value: option.value.clone(), label: escape::line(label).into_owned() }
    });
    if multiple { Input::Some(options.collect()) } else { Input::One(options.collect()) }
}

impl Field {
    fn of(n: usize, field: &interaction::Field, language: Language) -> Self {
        let yes_or_no = || {
            let item = |value: &str, label: Text<'_>| Item {
                value: value.to_owned(),
                label: label.text(language),
            };
            Input::One(vec![item("true", Text::Yes), item("false", Text::No)])
        };
        let input = match &field.input {
            interaction::Input::Text { multiline: true, .. } => Input::Area,
            interaction::Input::Text { multiline: false, .. } => Input::Line(None),
            interaction::Input::Number { .. } => Input::Number,
            interaction::Input::Boolean => yes_or_no(),
            interaction::Input::Select { options, multiple } => select(options, *multiple),
        };
        let mut label = escape::line(&field.label).into_owned();
        if let Some(description) = &field.description {
            label = format!("{label}: {}", escape::line(description));
        }
        if !field.required {
            label = format!("{label} ({})", Text::Optional.text(language));
        }
        Self { name: field_name(n), label, input }
    }
}

impl Runs {
    fn of(kind: &QuestionKind, language: Language) -> Option<Self> {
        match kind {
            QuestionKind::ToolApproval { tool, args, digest, .. } => {
                let json = args.to_string();
                let title = Text::Runs { tool, bytes: &json.len() };
                Some(Self {
                    title: title.text(language),
                    bytes: escape::text(&json).into_owned(),
                    digest: Text::Digest { digest }.text(language),
                    invisible: Text::Invisible { example: &EXAMPLE }.text(language),
                })
            }
            QuestionKind::PlanCheck { .. }
            | QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. } => None,
        }
    }
}

impl Steps {
    fn of(plan: &Plan, language: Language) -> Self {
        let steps = plan.steps.iter().map(|step| Step {
            text: escape::text(&step.description).into_owned(),
            call: match &step.action {
                Action::Tool { tool, args, .. } => {
                    Some(format!("{tool} {}", escape::text(&args.to_string())))
                }
                Action::Agent => None,
            },
        });
        let title = escape::line(&plan.title);
        Self { title: Text::Plan { title: &title }.text(language), steps: steps.collect() }
    }
}
