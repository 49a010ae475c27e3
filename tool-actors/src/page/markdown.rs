//! Markdown of clean HTML, by `htmd`. Tables are written here: `htmd` pads each cell to the width of
//! its column, so a page of one long cell and many rows would become gigabytes.

use std::{collections::BTreeSet, sync::Arc};

use htmd::{
    Element, HtmlToMarkdown,
    element_handler::{HandlerResult, Handlers},
    options::{BulletListMarker, HrStyle, Options},
};

use super::clean::attribute;

/// The numbers of the tables that have data.
pub(super) type Tables = BTreeSet<usize>;

/// Converts balanced HTML of a bounded depth.
pub(super) fn of(html: &str, tables: Tables) -> String {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        hr_style: HrStyle::Dashes,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let tables = Arc::new(tables);
    let rows = Arc::clone(&tables);
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .add_handler(vec!["table", "caption"], |handlers: &dyn Handlers, element: Element<'_>| {
            Some(block(handlers, &element))
        })
        .add_handler(
            vec!["thead", "tbody", "tfoot"],
            |handlers: &dyn Handlers, element: Element<'_>| {
                Some(handlers.walk_children(element.node))
            },
        )
        .add_handler(vec!["tr"], move |handlers: &dyn Handlers, element: Element<'_>| {
            let write = if has_data(&rows, &element) { row } else { block };
            Some(write(handlers, &element))
        })
        .add_handler(vec!["td", "th"], move |handlers: &dyn Handlers, element: Element<'_>| {
            let write = if has_data(&tables, &element) { cell } else { block };
            Some(write(handlers, &element))
        })
        .build();
    // Reading from memory cannot fail.
    let markdown = converter.convert(html).unwrap_or_default();
    markdown.trim().to_owned()
}

fn has_data(tables: &Tables, element: &Element<'_>) -> bool {
    let id = attribute(element.attrs, "id").and_then(|id| id.parse().ok());
    id.is_some_and(|id| tables.contains(&id))
}

fn block(handlers: &dyn Handlers, element: &Element<'_>) -> HandlerResult {
    let content = handlers.walk_children(element.node).content;
    format!("\n\n{}\n\n", content.trim()).into()
}

/// Writes a row, and below the first one the line that makes a table of Markdown.
fn row(handlers: &dyn Handlers, element: &Element<'_>) -> HandlerResult {
    let cells = handlers.walk_children(element.node).content;
    let mut row = format!("|{}\n", cells.trim_end());
    if attribute(element.attrs, "class").is_some() {
        let columns = element.node.children.borrow().len();
        row.push('|');
        row.push_str(&" --- |".repeat(columns));
        row.push('\n');
    }
    row.into()
}

fn cell(handlers: &dyn Handlers, element: &Element<'_>) -> HandlerResult {
    let content = handlers.walk_children(element.node).content;
    let words: Vec<_> = content.split_whitespace().collect();
    format!(" {} |", words.join(" ").replace('|', "\\|")).into()
}
