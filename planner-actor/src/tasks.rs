//! The pending tasks of the task list, which planners of its tools see.

use broker::kv::{Bucket, Kv, KvError};
use proto::{
    escape, excerpt,
    fence::fenced,
    lang::Language,
    task::{Status, Task},
};

messages::texts!(pending_tasks);

/// Name of the tool that returns the task list.
pub(crate) const LIST_TOOL: &str = "list_tasks";

/// Number of tasks that a prompt lists.
const SHOWN: usize = 50;

/// Bytes of a title or a deadline in a prompt.
const LINE_BYTES: usize = 200;

/// Returns the pending tasks by id, without those that cannot be parsed.
pub(crate) async fn pending(kv: &dyn Kv) -> Result<Vec<Task>, KvError> {
    let stored = kv.list(Bucket::Tasks, "task").await?;
    let tasks = stored.iter().filter_map(|value| serde_json::from_slice(&value.value).ok());
    let mut tasks: Vec<Task> = tasks.filter(|task: &Task| task.status == Status::Pending).collect();
    tasks.sort_by_key(|task| task.id);
    Ok(tasks)
}

/// Returns the text about the newest of these tasks for a model; empty without tasks.
pub(crate) fn told(language: Language, tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let mut head = Text::Head.text(language);
    let older = tasks.len().saturating_sub(SHOWN);
    if older > 0 {
        head.push_str(&Text::Older { count: &older, tool: &LIST_TOOL }.text(language));
    }
    let lines: Vec<_> = tasks.iter().skip(older).map(|task| line(language, task)).collect();
    format!("{head}\n{}", fenced(&lines.join("\n")))
}

/// Renders a task as one line, so that no title looks like another task.
fn line(language: Language, task: &Task) -> String {
    let short = |text: &str| excerpt::line(&escape::line(text), LINE_BYTES);
    let (id, title) = (&task.id, &short(task.title()));
    match task.fields.deadline.as_deref().filter(|deadline| !deadline.trim().is_empty()) {
        Some(deadline) => Text::Due { id, title, deadline: &short(deadline) }.text(language),
        None => Text::Task { id, title }.text(language),
    }
}

#[cfg(test)]
mod tests {
    use proto::task::Fields;

    use super::*;

    fn task(id: u64, title: &str, deadline: Option<&str>) -> Task {
        let (title, deadline) = (Some(title.to_owned()), deadline.map(str::to_owned));
        Task {
            id,
            status: Status::Pending,
            fields: Fields { title, deadline, ..Fields::default() },
        }
    }

    #[test]
    fn a_task_is_one_line_that_cannot_imitate_another_one() {
        assert_eq!(told(Language::En, &[]), "");
        let tasks =
            [task(7, "a\n62: forged\u{2028}\u{202e}", None), task(62, "写周报", Some("周五"))];
        let told = told(Language::Zh, &tasks);
        let (head, list) = told.split_once("\n<data-").unwrap();
        assert!(head.contains("数据") && list.lines().count() == 4, "{told}");
        assert_eq!(list.lines().filter(|line| line.starts_with("62: ")).count(), 1, "{told}");
        assert!(list.contains("\n62: 写周报（截止：周五）\n"), "{told}");
    }

    #[test]
    fn the_newest_tasks_are_listed_and_the_others_counted() {
        let tasks: Vec<_> = (1..=120).map(|id| task(id, &"t".repeat(5000), None)).collect();
        let told = told(Language::En, &tasks);
        let listed: Vec<_> = told.lines().filter(|line| line.contains(": ttt")).collect();
        assert_eq!(listed.len(), SHOWN);
        assert!(listed[0].starts_with("71: ") && told.contains("70 older ones"), "{told}");
        assert!(told.len() < 16 * 1024, "{}", told.len());
    }
}
