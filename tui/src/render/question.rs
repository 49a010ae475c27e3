//! Rendering of a question for the person who answers it: complete, and unable to imitate other
//! output.

use proto::{
    escape,
    id::JobId,
    interaction::{Field, Input, Question, QuestionKind, Verdict},
    lang::{Language, Words},
    plan::Action,
    view::{PastQuestion, QuestionEnd},
};

use super::{
    event,
    line::Line,
    style::{Style, Tone},
    text, tree,
    words::Text,
};

/// Says that the job at this path asks.
#[must_use]
pub fn asks(path: &str) -> Words {
    Text::Asks { path: &escape::line(path) }.into()
}

/// Renders a line that names a sub-agent's path; empty for the job's own question.
#[must_use]
pub fn whose_below(style: &Style, path: Option<&str>) -> String {
    let line = |path| {
        let asks = style.say(asks(path));
        painted(style, Tone::Dim, &asks, 2)
    };
    path.map(line).unwrap_or_default()
}

/// Renders a question that was answered or closed: what was chosen, by whom and when.
#[must_use]
pub fn past(style: &Style, past: &PastQuestion) -> String {
    let step = past.step.as_ref().map(|step| format!(" · {step}")).unwrap_or_default();
    let asked = format!("◂ {} {}{step}: ", past.id, past.kind.as_str());
    let asked = Line::new()
        .add(Tone::Dim, asked)
        .add(Tone::Plain, escape::line(past.prompt.trim()))
        .render(style);
    let time = &style.time(past.ended);
    let (end, said): (String, Vec<&String>) = match &past.end {
        QuestionEnd::Answered { decision, chosen, text, by } => {
            let verdict = style.say(event::verdict(*decision));
            let by = style.say(Text::By { who: &escape::line(by) });
            let end = style.say(Text::EndedAt { end: &format!("{verdict}{by}"), time });
            (end, chosen.iter().chain(text).collect())
        }
        QuestionEnd::Closed { because, chosen } => {
            let mut why = style.say(event::closed(*because));
            if chosen.is_some() {
                why.push_str(&style.say(Text::DefaultCounted));
            }
            (style.say(Text::EndedAt { end: &why, time }), chosen.iter().collect())
        }
    };
    let said: Vec<_> = said.into_iter().map(|text| escape::line(text.trim())).collect();
    let colon = if said.is_empty() { "" } else { ": " };
    let end = format!("{end}{colon}{}", said.join(" — "));
    format!("{asked}\n{}", text::indent(&end, 4, style.columns()))
}

/// Renders a question without the commands that answer it.
#[must_use]
pub fn body(style: &Style, asked: &Question) -> String {
    let prompt = text::indent(&escape::text(&asked.prompt), 2, style.columns());
    format!("{prompt}{}", details(style, asked))
}

/// Renders the plan, the options, the fields or the call that a question is about.
#[must_use]
pub fn details(style: &Style, asked: &Question) -> String {
    let mut out = String::new();
    match &asked.kind {
        QuestionKind::Question => {}
        QuestionKind::PlanCheck { plan, revision, finished, .. } => {
            let title = escape::line(&plan.title);
            let title = match revision {
                0 => title.into_owned(),
                n => format!("{title}{}", style.say(Text::PlanNumber { number: &(n + 1) })),
            };
            out.push('\n');
            out.push_str(&painted(style, Tone::Strong, &title, 2));
            for done in finished {
                let line = format!("✓ {} {}", done.id, escape::line(&done.label));
                out.push_str(&painted(style, Tone::Good, &line, 2));
            }
            for step in &plan.steps {
                out.push_str(&planned(style, step));
            }
            if !plan.replan.is_empty() {
                let after: Vec<_> = plan.replan.iter().map(proto::id::StepId::as_str).collect();
                let words = style.say(Text::PlannedOnAfter { steps: &after.join(", ") });
                out.push_str(&painted(style, Tone::Dim, &words, 2));
            }
        }
        QuestionKind::Choice { options, multiple } => {
            let which = style.say(which_of(*multiple));
            out.push_str(&style.paint(Tone::Dim, &format!("  {which}\n")));
            for (n, option) in options.iter().enumerate() {
                out.push_str(&option_line(style, n, &option.value, option.label.as_deref()));
            }
        }
        QuestionKind::Form { fields } => {
            for field in fields {
                out.push_str(&field_lines(style, field));
            }
        }
        QuestionKind::ToolApproval { tool, version, args, digest, .. } => {
            let version = &escape::line(version);
            let head = style.say(Text::ToolVersion { tool, version });
            out.push('\n');
            out.push_str(&painted(style, Tone::Strong, &head, 2));
            out.push_str(&text::indent(&escape::json(args), 4, style.columns()));
            let digest = style.say(Text::Digest { digest: &escape::line(digest) });
            out.push_str(&painted(style, Tone::Dim, &digest, 2));
        }
    }
    out
}

/// Wraps, indents and colours a text.
fn painted(style: &Style, tone: Tone, words: &str, by: usize) -> String {
    let lines = text::indent(words, by, style.columns());
    lines.lines().map(|line| format!("{}\n", style.paint(tone, line))).collect()
}

fn planned(style: &Style, step: &proto::plan::Step) -> String {
    let after = tree::after(style, &step.depends_on);
    let mut out = text::indent(
        &format!("{}. {}{after}", step.id, escape::line(step.label())),
        2,
        style.columns(),
    );
    if !step.title.is_empty() && step.title != step.description {
        out.push_str(&text::indent(&escape::text(&step.description), 6, style.columns()));
    }
    match &step.action {
        Action::Agent => {}
        Action::Tool { tool, args, .. } => {
            let args = if args.is_null() { String::new() } else { args.to_string() };
            let call = format!("{tool} {}", escape::line(&args));
            out.push_str(&painted(style, Tone::Dim, call.trim_end(), 6));
        }
    }
    out
}

fn option_line(style: &Style, n: usize, value: &str, label: Option<&str>) -> String {
    let value = escape::line(value);
    let words = match label.map(escape::line) {
        Some(label) if label != value => format!("{label} ({value})"),
        Some(_) | None => value.into_owned(),
    };
    text::indent(&format!("{}. {words}", n + 1), 4, style.columns())
}

/// Renders a field of a form and its accepted values.
#[must_use]
pub fn field_lines(style: &Style, field: &Field) -> String {
    let must = if field.required { " *" } else { "" };
    let head = format!(
        "{}{must} [{}] {}",
        escape::line(&field.label),
        escape::line(&field.key),
        takes(style, &field.input)
    );
    let mut out = text::indent(head.trim_end(), 4, style.columns());
    if let Some(words) = &field.description {
        out.push_str(&text::indent(&escape::text(words), 8, style.columns()));
    }
    if let Some(default) = &field.default {
        let words = style.say(Text::FieldDefault { value: &escape::line(&default.to_string()) });
        out.push_str(&text::indent(&words, 8, style.columns()));
    }
    if let Input::Select { options, .. } = &field.input {
        for (n, option) in options.iter().enumerate() {
            out.push_str(&format!(
                "    {}",
                option_line(style, n, &option.value, option.label.as_deref())
            ));
        }
    }
    out
}

/// Describes the values that a field accepts.
#[must_use]
pub fn takes(style: &Style, input: &Input) -> String {
    match input {
        Input::Text { max_length, min_length, multiline: _ } => {
            style.say(match (min_length, max_length) {
                (None, None) => Text::String,
                (Some(min), None) => Text::StringAtLeast { min },
                (None, Some(max)) => Text::StringAtMost { max },
                (Some(min), Some(max)) => Text::StringBetween { min, max },
            })
        }
        Input::Number { min, max, integer } => {
            let what = style.say(if *integer { Text::WholeNumber } else { Text::Number });
            match (min, max) {
                (None, None) => what,
                (Some(min), None) => style.say(Text::AtLeast { what: &what, min }),
                (None, Some(max)) => style.say(Text::AtMost { what: &what, max }),
                (Some(min), Some(max)) => style.say(Text::Between { what: &what, min, max }),
            }
        }
        Input::Boolean => style.say(Text::YesOrNo),
        Input::Select { multiple, .. } => style.say(which_of(*multiple)),
    }
}

fn which_of(multiple: bool) -> Text<'static> {
    if multiple { Text::OneOrMoreOf } else { Text::OneOf }
}

/// Lists the commands that answer the question.
#[must_use]
pub fn how(language: Language, job: &JobId, asked: &Question) -> Vec<String> {
    let id = &asked.id;
    let answer = format!("callboard inbox answer {job} {id}");
    let change = Text::HowToChange.text(language);
    let why = Text::WhyNot.text(language);
    match &asked.kind {
        QuestionKind::PlanCheck { .. } => vec![
            format!("callboard inbox approve {job} {id}"),
            format!("{answer} --text \"{change}\""),
            format!("{answer} --edit"),
            format!("callboard inbox reject {job} {id}"),
        ],
        QuestionKind::ToolApproval { digest, .. } => {
            let approve =
                format!("callboard inbox approve {job} {id} --digest {}", escape::line(digest));
            let remembers = asked.can_be_remembered(Verdict::Approve);
            let remembered = remembers.then(|| format!("{approve} --remember"));
            let reject = format!("callboard inbox reject {job} {id} --text \"{why}\"");
            std::iter::once(approve).chain(remembered).chain([reject]).collect()
        }
        QuestionKind::Question => vec![format!("{answer} --text \"…\"")],
        QuestionKind::Choice { multiple: false, .. } => vec![format!("{answer} --value '\"…\"'")],
        QuestionKind::Choice { multiple: true, .. } => vec![format!("{answer} --value '[\"…\"]'")],
        QuestionKind::Form { .. } => vec![format!("{answer} --value '{{\"field\": …}}'")],
    }
}
