//! The lines that report a job's progress, in the job's language. They are for users; no code
//! parses them.

use crate::{
    job::{FailReason, Outcome},
    lang::Language,
    outline::{self, Item},
    step::StepState,
    view::{JobView, StepView},
};

messages::texts!(progress);

/// Returns the line for a new plan of `steps` steps or intended items; `again` if it is not the
/// first one.
#[must_use]
pub fn planned(language: Language, again: bool, steps: usize) -> String {
    let text = match (again, steps) {
        (false, 1) => Text::PlannedOne,
        (false, _) => Text::Planned { steps: &steps },
        (true, 1) => Text::ReplannedOne,
        (true, _) => Text::Replanned { steps: &steps },
    };
    text.text(language)
}

/// Returns the line for the start of a step: number `number` of `steps`, from 1.
#[must_use]
pub fn step(language: Language, number: usize, steps: usize, label: &str) -> String {
    Text::Step { number: &number, steps: &steps, label: &label }.text(language)
}

/// Returns the line for the intended item in progress, or `None` when there is no such item.
#[must_use]
pub fn item(language: Language, outline: &[Item]) -> Option<String> {
    let (number, item) = outline::in_progress(outline)?;
    let text = Text::Item { number: &number, items: &outline.len(), title: &item.title };
    Some(text.text(language))
}

/// Returns the line that names the failed step of the plan by its number, from 1, or `None` when no
/// step caused the failure.
#[must_use]
pub fn failed(job: &JobView) -> Option<String> {
    let Some(Outcome::Failed { reason: FailReason::StepFailed, message, .. }) = &job.outcome else {
        return None;
    };
    let steps = &job.plan.as_ref()?.steps;
    let failed = |step: &StepView| step.state == StepState::Failed;
    // When several steps have failed, the message names the cause.
    let named = |step: &StepView| message.contains(&format!(" {} ", step.id));
    let place = steps.iter().rposition(|step| failed(step) && named(step));
    let number = place.or_else(|| steps.iter().rposition(failed))? + 1;
    Some(Text::Failed { number: &number }.text(job.language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_the_words_that_were_agreed() {
        let (en, zh) = (Language::En, Language::Zh);
        assert_eq!(planned(zh, false, 3), "规划完成（共 3 个步骤）");
        assert_eq!(planned(zh, true, 1), "重规划完成（共 1 个步骤）");
        assert_eq!(planned(en, false, 1), "planning is done (1 step)");
        assert_eq!(planned(en, true, 3), "replanning is done (3 steps)");
        assert_eq!(step(zh, 2, 3, "写周报"), "执行步骤 2/3：写周报");
        assert_eq!(step(en, 2, 3, "write"), "step 2/3: write");
        let mut items = outline::of_texts(["添加待办", "安排会议"]);
        assert_eq!(item(zh, &items), None);
        items[1].status = outline::ItemStatus::InProgress;
        assert_eq!(item(zh, &items).unwrap(), "当前计划项 2/2：安排会议");
        assert_eq!(item(en, &items).unwrap(), "item 2/2: 安排会议");
    }
}
