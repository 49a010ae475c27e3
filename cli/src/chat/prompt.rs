//! The prompt of the line editor.

use std::borrow::Cow;

use reedline::{Color, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

/// A prompt with these words.
pub(super) struct Asking(pub(super) String);

impl Prompt for Asking {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let mark = match search.status {
            PromptHistorySearchStatus::Passing => '?',
            PromptHistorySearchStatus::Failing => '!',
        };
        Cow::Owned(format!("{mark} {} ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        Color::Yellow
    }
}
