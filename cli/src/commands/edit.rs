//! Editing of a plan that awaits confirmation, in an editor or from a file. The server validates
//! the plan, and the edited text is never lost.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use client::Client;
use proto::{
    door::InboxEntry,
    error::Code,
    escape,
    interaction::{Answer, QuestionKind, Verdict, plan_digest},
    lang::{Language, Words},
    limits,
    plan::Plan,
};
use serde_json::Value;
use tui::render::plan_text::{self, as_planned};

use super::inbox::{request, taken};
use crate::{
    failure::{CliError, Outcome},
    input,
    output::{self, Output},
    refusal,
    words::Text,
};

/// Reads a plan from a file, as an answer.
///
/// # Errors
/// If the question is not about a plan, or the file is neither YAML nor JSON.
pub(super) fn from_file(entry: &InboxEntry, file: &str) -> Result<Answer, CliError> {
    let (_, digest) = shown(entry)?;
    // The argument always names a file, so the `@` that marks one elsewhere is optional.
    let file = file.strip_prefix('@').unwrap_or(file);
    let text = if file == "-" {
        input::text("plan", "@-", limits::REQUEST_BYTES_MAX)?
    } else {
        input::file("plan", Path::new(file), limits::REQUEST_BYTES_MAX)?
    };
    Ok(answer(read(&text)?, digest))
}

/// Opens the editor with an empty file, and returns the text that was written.
///
/// # Errors
/// If the editor cannot run or ends with an error.
pub(super) fn text() -> Result<String, CliError> {
    let path = std::env::temp_dir().join(format!("callboard-text-{}.md", std::process::id()));
    let draft = Draft { path, language: Language::default() };
    draft.write("")?;
    draft.edit(&editor()?)?;
    let text = draft.text()?;
    draft.remove();
    Ok(text)
}

/// Opens the plan in an editor, repeatedly until the plan is accepted or left unchanged.
///
/// # Errors
/// If the question is not about a plan, the editor cannot run, or the server refuses the plan and
/// the user does not correct it.
pub(super) async fn in_editor(client: &Client, output: Output, entry: &InboxEntry) -> Outcome {
    let (plan, digest) = shown(entry)?;
    // A plan truncated in the inbox must not be sent back as if it were complete.
    if plan_digest(&entry.job, plan) != *digest {
        let hint = Text::PlanToFile { job: &entry.job, question: &entry.question.id };
        return Err(CliError::usage(Text::PlanTooLarge).hint(hint));
    }
    let editor = editor()?;
    let draft = Draft::new(output.language, entry, &written(plan)?)?;
    loop {
        draft.edit(&editor)?;
        let text = draft.text()?;
        let value = match read(&text) {
            Ok(value) if value == as_planned(plan) => {
                draft.remove();
                return Err(CliError::usage(Text::NotChanged));
            }
            Ok(value) => value,
            Err(error) => {
                draft.complain(&text, error.message.text(output.language))?;
                draft.refused(error)?;
                continue;
            }
        };
        match client.call(&request(entry, answer(value, digest))).await {
            Err(failure) if failure.code == Code::InvalidAnswer => {
                draft.complain(&text, refusal::message(&failure).text(output.language))?;
                draft.refused(failure.into())?;
            }
            answered => {
                let answered = answered?;
                draft.remove();
                return taken(output, &answered);
            }
        }
    }
}

fn shown(entry: &InboxEntry) -> Result<(&Plan, &String), CliError> {
    let QuestionKind::PlanCheck { plan, digest, .. } = &entry.question.kind else {
        let kind = entry.question.kind.name();
        return Err(CliError::usage(Text::NotAPlan { kind: &kind }));
    };
    Ok((plan, digest))
}

fn answer(value: Value, digest: &str) -> Answer {
    let (decision, digest) = (Verdict::Edit, Some(digest.to_owned()));
    Answer { decision, value: Some(value), text: None, digest, remember: None }
}

/// Parses YAML, of which JSON is a subset.
fn read(text: &str) -> Result<Value, CliError> {
    plan_text::read(text).map_err(|e| CliError::input("plan", Text::PlanUnreadable { why: &e }))
}

fn written(plan: &Plan) -> Result<String, CliError> {
    plan_text::written(plan).map_err(|e| CliError::usage(Text::PlanUnwritable { why: &e }))
}

/// Returns the configured editor, which may need no terminal, or `vi`, which does.
fn editor() -> Result<String, CliError> {
    let named = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    match named("VISUAL").or_else(|| named("EDITOR")) {
        Some(editor) => Ok(editor),
        None if output::is_interactive() => Ok("vi".to_owned()),
        None => Err(CliError::usage(Text::NoTerminalToEdit).hint(Text::EditorWithoutTerminal)),
    }
}

/// The edited file, kept after any failure.
struct Draft {
    path: PathBuf,
    language: Language,
}

impl Draft {
    fn new(language: Language, entry: &InboxEntry, plan: &str) -> Result<Self, CliError> {
        let name =
            format!("callboard-{}-{}-{}.yaml", entry.job, entry.question.id, std::process::id());
        let draft = Self { path: std::env::temp_dir().join(name), language };
        draft.write(&format!("{}\n{plan}", Text::EditHead.text(language)))?;
        Ok(draft)
    }

    fn fail(&self, error: impl std::fmt::Display) -> CliError {
        CliError::usage(format!("{}: {error}", self.path.display()))
    }

    fn write(&self, text: &str) -> Result<(), CliError> {
        std::fs::write(&self.path, text).map_err(|e| self.fail(e))
    }

    fn text(&self) -> Result<String, CliError> {
        input::file("plan", &self.path, limits::REQUEST_BYTES_MAX)
    }

    /// Runs the editor and waits for its end.
    fn edit(&self, editor: &str) -> Result<(), CliError> {
        // The setting may contain arguments, as in `code --wait`.
        let mut words = editor.split_whitespace();
        let program = words.next().unwrap_or("vi");
        let status = Command::new(program).args(words).arg(&self.path).status();
        let status = status.map_err(|e| {
            CliError::usage(Text::EditorFailed { program: &program, why: &e }).hint(Text::SetEditor)
        })?;
        if status.success() {
            return Ok(());
        }
        Err(CliError::interrupted(Text::EditorEnded { status: &status }).hint(self.kept()))
    }

    /// Writes an error above the edited text.
    fn complain(&self, text: &str, why: &str) -> Result<(), CliError> {
        let without = text.lines().skip_while(|line| line.starts_with("# !"));
        let why = why.lines().map(|line| format!("# ! {line}"));
        let lines: Vec<_> = why.chain(without.map(str::to_owned)).collect();
        self.write(&format!("{}\n", lines.join("\n")))
    }

    /// Displays an error and asks whether to edit again; returns the error if not.
    fn refused(&self, error: CliError) -> Result<(), CliError> {
        if !output::is_interactive() {
            return Err(error.hint(self.kept()));
        }
        let mut err = std::io::stderr();
        let why = escape::text(error.message.text(self.language));
        let again = Text::EditAgain.text(self.language);
        let _ = write!(err, "{why}\n{again}").and_then(|()| err.flush());
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).unwrap_or(0);
        if read == 0 || line.trim().eq_ignore_ascii_case("n") {
            return Err(error.hint(self.kept()));
        }
        Ok(())
    }

    fn kept(&self) -> Words {
        Text::DraftKept { path: &self.path.display() }.into()
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_read_back_as_it_was_written() {
        let plan: Plan = serde_json::from_value(json!({"title": "标记: #1", "steps": [
            {"id": "a", "title": "yes", "description": "line one\nline two", "action": "agent"},
            {"id": "b", "description": "{{a.id}}: 'x'", "depends_on": ["a"], "action": "tool",
             "tool": "complete_task", "args": {"id": "{{a.id}}", "n": 1, "no": ["1", null]},
             "binding": {"pool": "p", "effect": "pure", "version": "1"}},
        ]}))
        .unwrap();
        for language in Language::ALL {
            let text = format!("{}\n{}", Text::EditHead.text(*language), written(&plan).unwrap());
            assert_eq!(read(&text).unwrap(), as_planned(&plan), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_stands_above_what_was_written_and_is_replaced_the_next_time() {
        let path = std::env::temp_dir().join(format!("callboard-draft-{}", std::process::id()));
        let draft = Draft { path, language: Language::En };
        draft.complain("title: t\n", "first\nand more").unwrap();
        let text = draft.text().unwrap();
        assert_eq!(text, "# ! first\n# ! and more\ntitle: t\n");
        draft.complain(&text, "second").unwrap();
        assert_eq!(draft.text().unwrap(), "# ! second\ntitle: t\n");
        draft.remove();
    }
}
