//! Reasoning that a model writes into its text, in a block such as `<think>…</think>`. Pure.
//!
//! Only a block at the beginning of the text counts, because an answer may quote a tag. A block
//! without an end is reasoning up to the end of the reply.
//!
//! Some models write the closing tag alone. It counts if it is the first tag, if it ends its line or
//! JSON follows, and if the text before it neither begins like JSON or code nor has an open
//! quotation or bracket: such a tag belongs to the text of an answer.

use crate::port::Delta;

/// The tags of reasoning.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Separates leading blocks of reasoning from a text that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// Text that may be, or begin with, a part of a tag.
    held: String,
    state: State,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// Before the first word of the answer.
    #[default]
    Start,
    /// In a block, up to its closing tag.
    Inside(&'static str),
    /// Behind a block; white space here belongs to neither.
    Behind,
    /// In the answer.
    Answer,
}

impl Splitter {
    /// Takes a piece of the text, and returns the reasoning and the answer that it completes.
    pub(crate) fn take(&mut self, piece: &str) -> Vec<Delta> {
        let mut ready = Vec::new();
        self.held.push_str(piece);
        loop {
            match self.state {
                State::Answer => {
                    push(&mut ready, Delta::Text, std::mem::take(&mut self.held));
                    return ready;
                }
                State::Start | State::Behind => {
                    let text = self.held.trim_start_matches('\u{feff}').trim_start();
                    if let Some((open, close)) =
                        TAGS.iter().find(|(open, _)| text.starts_with(open))
                    {
                        self.held = text.get(open.len()..).unwrap_or_default().to_owned();
                        self.state = State::Inside(close);
                    } else if TAGS.iter().any(|(open, _)| open.starts_with(text)) {
                        return ready;
                    } else {
                        if let State::Behind = self.state {
                            self.held = text.to_owned();
                        }
                        self.state = State::Answer;
                    }
                }
                State::Inside(close) => {
                    if let Some((thought, after)) = self.held.split_once(close) {
                        push(&mut ready, Delta::Thought, thought.to_owned());
                        self.held = after.to_owned();
                        self.state = State::Behind;
                    } else {
                        let kept = self.held.len() - begun(&self.held, close);
                        let rest = self.held.split_off(kept);
                        push(&mut ready, Delta::Thought, std::mem::replace(&mut self.held, rest));
                        return ready;
                    }
                }
            }
        }
    }

    /// Returns the text that is still held, at the end of the reply.
    pub(crate) fn finish(&mut self) -> Option<Delta> {
        let held = Some(std::mem::take(&mut self.held)).filter(|held| !held.is_empty());
        match self.state {
            State::Start | State::Answer => held.map(Delta::Text),
            State::Inside(_) => held.map(Delta::Thought),
            State::Behind => held.filter(|held| !held.trim().is_empty()).map(Delta::Text),
        }
    }
}

fn push(ready: &mut Vec<Delta>, delta: fn(String) -> Delta, words: String) {
    if !words.is_empty() {
        ready.push(delta(words));
    }
}

/// Returns the length of the longest end of `text` that begins `tag`.
fn begun(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0)
}

/// Splits a whole text at a closing tag without its opening one: reasoning, then the answer.
pub(crate) fn unopened(text: &str) -> Option<(&str, &str)> {
    let closed = TAGS.iter().filter_map(|(_, close)| text.split_once(close));
    let (thought, answer) = closed.min_by_key(|(thought, _)| thought.len())?;
    let begins_as_code = thought.trim_start().starts_with(['{', '[', '"', '\'', '`', '“']);
    let is_opened = TAGS.iter().any(|(open, _)| thought.contains(open));
    let line = thought.trim_end_matches([' ', '\t']);
    let starts_line = line.is_empty() || line.ends_with('\n');
    let next = answer.trim_start_matches([' ', '\t', '\r']);
    let ends_line = next.starts_with(['\n', '{', '[', '`']) || (next.is_empty() && starts_line);
    let is_end = (ends_line || line.is_empty()) && !begins_as_code && !is_opened;
    (is_end && is_closed(thought)).then(|| (thought.trim(), answer.trim_start()))
}

/// `true` if every quotation and bracket of the text is closed.
fn is_closed(text: &str) -> bool {
    let count = |sign: char| text.matches(sign).count();
    let is_even = |sign: char| count(sign) % 2 == 0;
    let is_paired = |open: char, close: char| count(open) == count(close);
    is_even('"')
        && is_even('`')
        && is_paired('“', '”')
        && is_paired('{', '}')
        && is_paired('[', ']')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Splits a text that arrives in pieces of `size` characters: reasoning and answer.
    fn split(text: &str, size: usize) -> (String, String) {
        let chars: Vec<char> = text.chars().collect();
        let mut splitter = Splitter::default();
        let mut deltas: Vec<Delta> = chars
            .chunks(size)
            .flat_map(|piece| splitter.take(&piece.iter().collect::<String>()))
            .collect();
        deltas.extend(splitter.finish());
        let (mut thought, mut answer) = (String::new(), String::new());
        for delta in deltas {
            match delta {
                Delta::Text(words) => answer.push_str(&words),
                Delta::Thought(words) => thought.push_str(&words),
                Delta::Call(_) | Delta::Opaque(_) | Delta::End { .. } => {
                    unreachable!("nothing else is returned")
                }
            }
        }
        (thought, answer)
    }

    #[rstest]
    #[case::none("an answer", "", "an answer")]
    #[case::block("<think>hm, 字</think>\n\nan answer", "hm, 字", "an answer")]
    #[case::other_tag("\n<thinking>hm</thinking>an answer", "hm", "an answer")]
    #[case::two_blocks("<think>a</think>\n<think>b</think>c", "ab", "c")]
    #[case::empty_block("<think>\n\n</think>\n\nan answer", "\n\n", "an answer")]
    #[case::part_of_a_tag("<think>a </th b</think>c", "a </th b", "c")]
    #[case::never_closed("<think>hm </thin", "hm </thin", "")]
    #[case::quoted_in_the_middle("use `<think>x</think>` here", "", "use `<think>x</think>` here")]
    #[case::in_code("```xml\n<think>x</think>\n```", "", "```xml\n<think>x</think>\n```")]
    #[case::another_tag("<thin>x</think>", "", "<thin>x</think>")]
    #[case::only_the_beginning_of_a_tag("<thi", "", "<thi")]
    #[case::in_json("{\"a\":\"<think>x</think>\"}", "", "{\"a\":\"<think>x</think>\"}")]
    fn a_leading_block_is_reasoning(
        #[case] text: &str,
        #[case] thought: &str,
        #[case] answer: &str,
    ) {
        for size in 1..=text.len() {
            assert_eq!(split(text, size), (thought.to_owned(), answer.to_owned()), "{size}");
        }
    }

    #[rstest]
    #[case::plain("I look.\n</think>\n\nan answer", Some(("I look.", "an answer")))]
    #[case::one_line("hm</think>{\"steps\":[]}", Some(("hm", "{\"steps\":[]}")))]
    #[case::other_tag("hm</thinking>\nx", Some(("hm", "x")))]
    #[case::nothing_behind_it("hm\n</think>\n", Some(("hm", "")))]
    #[case::in_prose("thoughts end with </think> and the answer follows", None)]
    #[case::at_the_end_of_prose("thoughts end with </think>", None)]
    #[case::a_draft_in_it("perhaps {\"steps\":[\"a\"]}?</think>{}", Some(("perhaps {\"steps\":[\"a\"]}?", "{}")))]
    #[case::nothing_before_it("</think>x", Some(("", "x")))]
    #[case::no_tag("an answer", None)]
    #[case::in_code("write `</think>` at the end", None)]
    #[case::in_a_fence("so:\n```\nx</think>y", None)]
    #[case::in_quotes("write \"x</think>\" there", None)]
    #[case::in_a_plan("{\"steps\":[\"a\"]}</think>{\"steps\":[\"b\"]}", None)]
    #[case::in_a_text_of_a_plan("Sure: {\"steps\":[\"write\n</think>\n{'steps':['b']}\"]}", None)]
    #[case::opened_in_the_middle("the tags <think>x</think> y", None)]
    fn a_closing_tag_alone_ends_reasoning(
        #[case] text: &str,
        #[case] expected: Option<(&str, &str)>,
    ) {
        assert_eq!(unopened(text), expected);
    }
}
