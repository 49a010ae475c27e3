//! The checks of the reference pages against the code: every key, value, default, bound and limit
//! is on its page, and no other.

mod agent;
mod examples;
mod interfaces;
mod limits;

use crate::{
    markdown::{self, Cell},
    sources,
};

/// Returns the rows of every table of a page whose first header is `head`.
fn rows(page: &str, head: &str) -> Vec<Vec<Cell>> {
    let tables = markdown::parse(page).tables.into_iter();
    let ours = tables.filter(|table| table[0][0].text == head);
    ours.flat_map(|table| table.into_iter().skip(1)).collect()
}

fn page(path: &str) -> String {
    std::fs::read_to_string(callboard_tests::root().join(path)).unwrap()
}

#[test]
fn the_index_lists_every_page() {
    let index = markdown::parse(&page("docs/README.md"));
    let linked: Vec<&str> = index.links.iter().map(|link| link.target.as_str()).collect();
    let pages = sources::ending_with(".md").into_iter().filter_map(|source| {
        let page = source.path.strip_prefix("docs/")?.to_owned();
        (page != "README.md" && !page.starts_with("errors/")).then_some(page)
    });
    let missing: Vec<String> = pages.filter(|page| !linked.contains(&page.as_str())).collect();
    assert_eq!(missing, [""; 0], "not in docs/README.md");
}
