//! The person's editor, for plans and answers.

use std::{path::Path, process::Command};

/// Opens the editor with a text, and returns the text that was saved. `None` if the editor cannot be
/// started or ends with an error; the file then stays, with what was saved.
pub(super) async fn edit(text: String) -> Option<String> {
    let edited = tokio::task::spawn_blocking(move || {
        let name = format!("callboard-ui-{}.yaml", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).ok()?;
        let saved = saved(&path)?;
        // A file that stays does no harm.
        let _ = std::fs::remove_file(&path);
        Some(saved)
    });
    edited.await.ok().flatten()
}

fn saved(path: &Path) -> Option<String> {
    let named = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // The setting may contain arguments, as in `code --wait`.
    let mut words = editor.split_whitespace();
    let status = Command::new(words.next()?).args(words).arg(path).status().ok()?;
    status.success().then(|| std::fs::read_to_string(path).ok()).flatten()
}
