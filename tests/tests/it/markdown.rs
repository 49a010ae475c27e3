//! What the documents say that can be checked: their headings, links and fenced blocks. The parser
//! is a library; nothing here reads Markdown by hand.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The words after the fence: `sh`, `console run`.
    pub(crate) info: Vec<String>,
    /// What is in it.
    pub(crate) text: String,
    /// The line of its fence.
    pub(crate) line: usize,
}

/// Where a link leads, with the line it is on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: String,
    pub(crate) line: usize,
}

/// One document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) blocks: Vec<Block>,
    pub(crate) links: Vec<Link>,
    /// The anchors of its headings, as GitHub makes them.
    pub(crate) anchors: Vec<String>,
}

pub(crate) fn parse(text: &str) -> Document {
    let mut document = Document::default();
    let mut heading: Option<String> = None;
    let mut block: Option<Block> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let line = text[..range.start].matches('\n').count() + 1;
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                document.anchors.push(unique(slug, &document.anchors));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let info = info.split_whitespace().map(str::to_owned).collect();
                block = Some(Block { info, text: String::new(), line });
            }
            Event::End(TagEnd::CodeBlock) => document.blocks.extend(block.take()),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                document.links.push(Link { target: dest_url.to_string(), line });
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(block) = &mut block {
                    block.text.push_str(&words);
                } else if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    document
}

/// A heading as an anchor: lower case, spaces to hyphens, other marks gone.
fn slug(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' | '-' => Some('-'),
            '_' => Some('_'),
            c => c.is_alphanumeric().then_some(c),
        })
        .collect()
}

/// The second heading of a name gets `-1`, the third `-2`.
fn unique(slug: String, taken: &[String]) -> String {
    (0..)
        .map(|n| if n == 0 { slug.clone() } else { format!("{slug}-{n}") })
        .find(|name| !taken.contains(name))
        .unwrap_or(slug)
}

#[test]
fn headings_links_and_blocks_are_read_and_code_is_not() {
    let document = parse(
        "# One `two`, three!\n\n## Same\n## Same\n\n[a](b.md#c) `[no](no.md)`\n\n\
         - item\n\n  ```console run\n  $ echo '[no](no.md)'\n  ```\n\n![i](i.svg)\n",
    );
    assert_eq!(document.anchors, ["one-two-three", "same", "same-1"]);
    let link = |target: &str, line| Link { target: target.to_owned(), line };
    assert_eq!(document.links, [link("b.md#c", 6), link("i.svg", 14)]);
    let info = vec!["console".to_owned(), "run".to_owned()];
    let text = "$ echo '[no](no.md)'\n".to_owned();
    assert_eq!(document.blocks, [Block { info, text, line: 10 }]);
}
