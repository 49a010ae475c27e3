//! The parts of a document that tests check: headings, links, fenced blocks and tables. A library
//! parses the Markdown.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The words after the fence, such as `sh` or `console run`.
    pub(crate) info: Vec<String>,
    /// The content of the block.
    pub(crate) text: String,
    /// The number of the fence's line.
    pub(crate) line: usize,
}

/// A link, with the number of its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: String,
    pub(crate) line: usize,
}

/// One cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The text of the cell, code included.
    pub(crate) text: String,
    /// The code spans of the cell.
    pub(crate) codes: Vec<String>,
}

/// The rows of a table, the header first.
pub(crate) type Table = Vec<Vec<Cell>>;

/// A parsed document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) blocks: Vec<Block>,
    pub(crate) links: Vec<Link>,
    pub(crate) tables: Vec<Table>,
    /// The anchors of the headings, as GitHub generates them.
    pub(crate) anchors: Vec<String>,
}

pub(crate) fn parse(text: &str) -> Document {
    let mut document = Document::default();
    let mut heading: Option<String> = None;
    let mut block: Option<Block> = None;
    let (mut table, mut row, mut cell) = (Table::new(), Vec::new(), None::<Cell>);
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
            Event::Start(Tag::TableCell) => cell = Some(Cell::default()),
            Event::End(TagEnd::TableCell) => row.extend(cell.take()),
            Event::End(TagEnd::TableHead | TagEnd::TableRow) => {
                table.push(std::mem::take(&mut row))
            }
            Event::End(TagEnd::Table) => document.tables.push(std::mem::take(&mut table)),
            Event::Text(ref words) | Event::Code(ref words) if cell.is_some() => {
                let is_code = matches!(event, Event::Code(_));
                cell.iter_mut().for_each(|cell| {
                    cell.text.push_str(words);
                    cell.codes.extend(is_code.then(|| words.to_string()));
                });
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

/// Converts a heading to an anchor: lower case, hyphens for spaces, no other punctuation.
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

/// Appends `-1`, `-2` and so on to an anchor that exists already.
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

#[test]
fn tables_are_read_cell_by_cell() {
    let document = parse("| a | b |\n|---|---|\n| `x`, [`y`](z.md) \\| `w` |  |\n");
    let text = |text: &str| Cell { text: text.to_owned(), codes: Vec::new() };
    let codes = ["x", "y", "w"].map(str::to_owned).to_vec();
    let first = Cell { text: "x, y | w".to_owned(), codes };
    assert_eq!(document.tables, [vec![vec![text("a"), text("b")], vec![first, text("")]]]);
    assert_eq!(document.links.len(), 1);
}
