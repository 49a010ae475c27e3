//! Rendering of job events in a conversation: short progress lines for tasks, the tool's result for
//! commands.

use client::session::LiveText;
use proto::{
    escape,
    event::{Happened, PlanEvent, REASON_UNPARSEABLE, StepEvent, StepPhase, Stream, ToolPhase},
    id::StepId,
    job::{FailReason, Outcome},
    lang::Language,
    outline::Item,
    progress,
    view::JobView,
};

use crate::{
    chat::words::Text,
    render::{describe, event, line::Line, value},
    style::{Style, Tone},
};

/// The displayed progress of a task's plan.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// The last displayed plan; `None` if none was displayed.
    told: Option<Told>,
    /// Steps of the plan, in order.
    steps: Vec<StepId>,
    /// Intended items of a planner that decides one action at a time.
    outline: Vec<Item>,
    /// The displayed line of the item in progress; several actions may serve one item.
    item: Option<String>,
}

/// The part of a plan by which a new plan is recognised.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// A plan of steps, with the number of plans before it.
    Steps(u32),
    /// A plan of one action, with the titles of the intended items.
    Items(Vec<String>),
}

impl Course {
    /// Renders an event of a task. Questions, answers and the end are rendered elsewhere.
    pub(crate) fn task(&mut self, style: &Style, happened: &Happened) -> Vec<String> {
        let (words, tone) = match happened {
            Happened::Plan(plan) => (self.planned(style.language, plan), Tone::Strong),
            Happened::Step(step) => (self.started(style.language, step), Tone::Busy),
            Happened::Message(_)
            | Happened::Tool(_)
            | Happened::Interaction(_)
            | Happened::Usage(_)
            | Happened::Error(_)
            | Happened::Notice(_)
            | Happened::Turn(_)
            | Happened::Node(_)
            | Happened::Artifact(_)
            | Happened::Job(_) => (None, Tone::Plain),
        };
        let line = words.map(|words| Line::new().add(tone, format!("▸ {words}")).render(style));
        // The line of a step replaces its event.
        let whole = line.is_some() && matches!(happened, Happened::Step(_));
        let more = if whole { Vec::new() } else { task(style, happened) };
        line.into_iter().chain(more).collect()
    }

    /// Returns the line for a plan that was not displayed before.
    fn planned(&mut self, language: Language, plan: &PlanEvent) -> Option<String> {
        self.steps = plan.steps.iter().map(|step| step.id.clone()).collect();
        self.outline.clone_from(&plan.outline);
        let (told, count) = if plan.outline.is_empty() {
            (Told::Steps(plan.revision), plan.steps.len())
        } else {
            let titles = plan.outline.iter().map(|item| item.title.clone());
            (Told::Items(titles.collect()), plan.outline.len())
        };
        if !plan.confirmed || self.told.as_ref() == Some(&told) {
            return None;
        }
        self.item = None;
        let again = self.told.replace(told).is_some() || plan.revision > 0;
        Some(progress::planned(language, again, count))
    }

    /// Returns the line for the start of a step, or of the item that it serves.
    fn started(&mut self, language: Language, step: &StepEvent) -> Option<String> {
        if step.phase != StepPhase::Started {
            return None;
        }
        if let Some(words) = progress::item(language, &self.outline) {
            let words = Some(escape::line(&words).into_owned());
            let is_new = self.item != words;
            self.item.clone_from(&words);
            return words.filter(|_| is_new);
        }
        // A failed step may be planned again under its name; the newest one counts.
        let place = self.steps.iter().rposition(|id| *id == step.step)?;
        let label = escape::line(step.label.trim());
        Some(progress::step(language, place + 1, self.steps.len(), &label))
    }
}

/// Returns the language that an event gives to the texts of the job from now on.
pub(crate) fn language(happened: &Happened) -> Option<Language> {
    if let Happened::Plan(plan) = happened { plan.language } else { None }
}

/// Renders an event without context.
fn task(style: &Style, happened: &Happened) -> Vec<String> {
    let shown = match happened {
        Happened::Plan(plan) => plan.confirmed,
        Happened::Step(step) => match step.phase {
            StepPhase::Started
            | StepPhase::Retried
            | StepPhase::Completed
            | StepPhase::Failed
            | StepPhase::Blocked => true,
            StepPhase::Waiting | StepPhase::Resumed | StepPhase::Skipped | StepPhase::Canceled => {
                false
            }
        },
        Happened::Message(message) => message.stream == Stream::Thought,
        Happened::Tool(_) | Happened::Notice(_) | Happened::Artifact(_) => true,
        Happened::Error(error) => {
            error.work.is_some() && error.reason.as_deref() != Some(REASON_UNPARSEABLE)
        }
        Happened::Interaction(_)
        | Happened::Usage(_)
        | Happened::Turn(_)
        | Happened::Node(_)
        | Happened::Job(_) => false,
    };
    if shown { event::lines(style, happened) } else { Vec::new() }
}

/// Renders an event of a command: the tool's result and nothing before it.
pub(crate) fn command(style: &Style, happened: &Happened) -> Option<String> {
    let Happened::Tool(tool) = happened else { return None };
    let ToolPhase::Called { success, result, error, message, fault: _, duration_ms: _ } =
        &tool.phase
    else {
        return None;
    };
    let (mark, tone) = if *success { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
    let said = error.as_deref().or(message.as_deref()).unwrap_or_default();
    let mut text = style.paint(tone, &format!("{mark} {}", tool.tool));
    if !said.is_empty() {
        text.push_str(&format!(": {}", escape::text(said.trim_end())));
    }
    text.push('\n');
    text.extend(result.iter().map(|data| value::value(style, data)));
    Some(text)
}

/// Renders the end of a task; `None` before it.
pub(crate) fn ending(style: &Style, view: &JobView) -> Option<String> {
    let outcome = advised(view.outcome.clone()?, view.language);
    Some(describe::ending(style, &outcome, progress::failed(view).as_deref()))
}

/// Returns the end of a task with the advice to use commands, which need no planner, where planning
/// failed.
fn advised(outcome: Outcome, language: Language) -> Outcome {
    let Outcome::Failed { reason, message, results } = outcome else { return outcome };
    let text = match reason {
        FailReason::QuestionRepeated | FailReason::TooManyQuestions => {
            Text::CommandsInstead { message: &message.trim_end() }
        }
        FailReason::PlanFailed => Text::CommandsNext { message: &message.trim_end() },
        FailReason::StepFailed
        | FailReason::BudgetExceeded
        | FailReason::DeadlineExceeded
        | FailReason::QuestionExpired
        | FailReason::HistoryFull
        | FailReason::NoProgress
        | FailReason::OutputInvalid
        | FailReason::ReplanLimit => return Outcome::Failed { reason, message, results },
    };
    Outcome::Failed { reason, message: text.text(language), results }
}

/// Frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Renders the line that shows that a job works: the current step, and how long it has been busy.
pub(crate) fn spinner(
    style: &Style,
    view: Option<&JobView>,
    frame: usize,
    seconds: usize,
) -> String {
    let mark = SPINNER.get(frame % SPINNER.len()).copied().unwrap_or_default();
    let steps = view.and_then(|view| view.plan.as_ref()).map(|plan| plan.steps.as_slice());
    let steps = steps.unwrap_or_default();
    let running = steps.iter().position(|s| s.started.is_some() && !s.state.is_terminal());
    let words = match running.and_then(|at| steps.get(at).map(|step| (at, step))) {
        Some((at, step)) => {
            let label = if step.title.is_empty() { &step.description } else { &step.title };
            progress::step(style.language, at + 1, steps.len(), &escape::line(label))
        }
        None => match view.and_then(|view| view.sub_status) {
            Some(sub) => sub.to_string(),
            None => Text::Working.text(style.language),
        },
    };
    let line = Line::new().add(Tone::Busy, format!("{mark} ")).add(Tone::Dim, words);
    line.add(Tone::Dim, format!(" · {seconds}s")).render(style)
}

/// Renders the model output streamed now, one line for each step.
pub(crate) fn speech(style: &Style, text: &LiveText) -> Vec<String> {
    let last = |text: &str| text.trim_end().lines().last().unwrap_or_default().to_owned();
    let of_steps = text.of_steps();
    let steps = of_steps.iter().map(|(step, text)| (step.to_string(), last(text)));
    let planner = text.of_planner().map(|text| ("plan".to_owned(), last(text)));
    steps
        .chain(planner)
        .map(|(who, text)| {
            let room = style.columns().saturating_sub(who.len() + 6);
            // The tail of the text is the new part.
            let from = text.chars().count().saturating_sub(room / 2);
            let tail: String = text.chars().skip(from).collect();
            let line = Line::new().add(Tone::Busy, format!("┆ {who} "));
            line.add(Tone::Dim, escape::line(&tail)).render(style)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proto::{
        event::{PlanPhase, PlannedStep},
        outline::{self, ItemStatus},
        step::StepState,
    };

    use super::*;

    fn plan(revision: u32, confirmed: bool, steps: &[&str], items: &[&str]) -> Happened {
        let mut outline = outline::of_texts(items.iter().copied());
        if let Some(item) = outline.first_mut() {
            item.status = ItemStatus::InProgress;
        }
        let steps = steps.iter().map(|id| PlannedStep {
            id: StepId::new(*id).unwrap(),
            title: String::new(),
            description: (*id).to_owned(),
            depends_on: Vec::new(),
            tool: None,
            state: StepState::Pending,
            outline: Vec::new(),
        });
        Happened::Plan(PlanEvent {
            phase: PlanPhase::Updated,
            title: "T".to_owned(),
            revision,
            confirmed,
            replanning: false,
            steps: steps.collect(),
            outline,
            language: None,
        })
    }

    fn started(id: &str) -> Happened {
        Happened::Step(StepEvent {
            phase: StepPhase::Started,
            step: StepId::new(id).unwrap(),
            label: format!("do {id}"),
            attempt: 1,
            response: None,
            unsuccessful: false,
            attachments: Vec::new(),
        })
    }

    /// Renders the lines of progress of these events.
    fn told(language: Language, events: &[Happened]) -> Vec<String> {
        let (mut course, style) = (Course::default(), Style { language, ..Style::plain(None) });
        let lines = events.iter().flat_map(|happened| course.task(&style, happened));
        lines.filter(|line| line.starts_with('▸')).collect()
    }

    /// A plan that is shown, confirmed, started and replanned.
    fn replanned() -> [Happened; 6] {
        [
            plan(0, false, &["a", "b"], &[]),
            plan(0, true, &["a", "b"], &[]),
            plan(0, true, &["a", "b"], &[]),
            started("b"),
            plan(1, true, &["a", "b", "c"], &[]),
            started("c"),
        ]
    }

    #[test]
    fn how_a_task_gets_on_is_told_in_the_words_that_were_agreed() {
        assert_eq!(
            told(Language::Zh, &replanned()),
            [
                "▸ 规划完成（共 2 个步骤）",
                "▸ 执行步骤 2/2：do b",
                "▸ 重规划完成（共 3 个步骤）",
                "▸ 执行步骤 3/3：do c",
            ]
        );
        assert_eq!(
            told(Language::En, &replanned()),
            [
                "▸ planning is done (2 steps)",
                "▸ step 2/2: do b",
                "▸ replanning is done (3 steps)",
                "▸ step 3/3: do c",
            ]
        );
    }

    #[test]
    fn one_action_at_a_time_is_counted_by_the_intended_items() {
        let events = [
            plan(0, true, &["a"], &["写", "寄"]),
            started("a"),
            plan(1, true, &["a", "b"], &["写", "寄"]),
            started("b"),
            plan(2, true, &["a", "b", "c"], &["寄"]),
            started("c"),
        ];
        assert_eq!(
            told(Language::Zh, &events),
            [
                "▸ 规划完成（共 2 个步骤）",
                "▸ 当前计划项 1/2：写",
                "▸ b 已开始 do b",
                "▸ 重规划完成（共 1 个步骤）",
                "▸ 当前计划项 1/1：寄",
            ]
        );
    }

    #[test]
    fn only_where_planning_failed_is_a_person_sent_to_the_commands() {
        let told = |reason, language| {
            let message = "为什么".to_owned();
            let failed = Outcome::Failed { reason, message, results: serde_json::Value::Null };
            match advised(failed, language) {
                Outcome::Failed { message, .. } => message,
                other @ (Outcome::Completed { .. } | Outcome::Canceled { .. }) => {
                    panic!("{other:?}")
                }
            }
        };
        let asked = told(FailReason::TooManyQuestions, Language::Zh);
        assert_eq!(asked, "为什么，请直接用 /todo 或 /schedule");
        let repeated = told(FailReason::QuestionRepeated, Language::En);
        assert_eq!(repeated, "为什么; please use /todo or /schedule directly");
        let unplanned = told(FailReason::PlanFailed, Language::Zh);
        assert_eq!(unplanned, "为什么\n请直接用 /todo 或 /schedule");
        assert_eq!(told(FailReason::StepFailed, Language::Zh), "为什么");
    }
}
