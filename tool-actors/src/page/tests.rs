//! Pages and the Markdown that they become.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn page(html: &str) -> Page {
    read(html, &Url::parse("https://example.com/docs/page.html?q=1").unwrap())
}

#[rstest]
#[case::headings(
    "<h1>One</h1><h2>Two <b>bold</b></h2><p>Text<h3>Three",
    "# One\n\n## Two **bold**\n\nText\n\n### Three"
)]
#[case::paragraphs("<div><div>a</div><div>b</div></div><p>c<p>d", "a\n\nb\n\nc\n\nd")]
#[case::lists(
    "<ul><li>a<li>b<ul><li>c</ul><li>d</ul><ol><li>x</li><li>y</li></ol>",
    "- a\n- b\n  - c\n- d\n\n1. x\n2. y"
)]
#[case::table(
    "<table><tr><th>Name<th>Seats<tr><td>Old|new<td>640<tr><td>New<td><b>410</b></table>",
    "| Name | Seats |\n| --- | --- |\n| Old\\|new | 640 |\n| New | **410** |"
)]
#[case::sections_of_a_table(
    "<table><caption>Houses</caption> <thead> <tr> <th>A</th> <th>B</th> </tr> </thead> <tbody> <tr> <td>1</td> <td>2</td> </tr> </tbody> </table>",
    "Houses\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"
)]
#[case::layout(
    "<table><tr><td><table><tr><td>a<td>b</table><td><h2>c</h2></table>",
    "| a | b |\n| --- | --- |\n\n## c"
)]
#[case::links(
    "<a href='../up'>up</a> <a href='?a=1&amp;b=2'>query</a> <a href=//other.example/x>other</a> <a href='#part'>part</a> <a href='javascript:alert(1)'>script</a>",
    "[up](https://example.com/up) [query](https://example.com/docs/page.html?a=1&b=2) [other](https://other.example/x) part script"
)]
#[case::base("<base href='/root/'><a href='x'>x</a>", "[x](https://example.com/root/x)")]
#[case::card(
    "<a href='/a'><h3>Title</h3><p>Teaser</p></a>",
    "[Title Teaser](https://example.com/a)"
)]
#[case::empty_links("<p>a<a href='/x'> </a><b></b>b", "a b")]
#[case::code(
    "<p>Use <code>a_b</code>:<pre><code class='x language-rust'>fn main() {\n    a &lt; b;\n}</code></pre>",
    "Use `a_b`:\n\n```rust\nfn main() {\n    a < b;\n}\n```"
)]
#[case::lines_of_code("<pre><div>one</div><div>  <b>two</b></div></pre>", "```\none\n  two\n```")]
#[case::pictures(
    "<img src='/a.png' alt='A seat'><img src='data:image/png;base64,AA' alt='dot'><img src='/b.png'>",
    "![A seat](https://example.com/a.png)"
)]
#[case::chinese(
    "<h1>剧院</h1><p>剧院有<b>四百一十</b>个座位。<a href='/档案'>档案</a></p>",
    "# 剧院\n\n剧院有**四百一十**个座位。[档案](https://example.com/%E6%A1%A3%E6%A1%88)"
)]
#[case::quotes("<blockquote><p>a<p>b</blockquote>after", "> a\n> \n> b\n\nafter")]
#[case::hidden(
    "<script>if (a < b) document.write('<p>x')</script><style>p{}</style><template>t</template><noscript>n</noscript>\
     <p hidden>h</p><div style='color: red; Display : none'>d<div>e</div></div><svg><title>s</title></svg><p>seen",
    "seen"
)]
#[case::unclosed_hidden("<div><p hidden>h</div><p>seen", "seen")]
#[case::text_that_looks_like_markdown(
    "<p># no heading</p><p>*a* &lt;b&gt;</p>",
    "\\# no heading\n\n\\*a\\* \\<b>"
)]
#[case::end_tags_without_elements("</p></div></table>a</li></b>", "a")]
#[case::text_between_cells("<table>x<tr>y<td>z</table>", "| x |\n| --- |\n| y | z |")]
#[case::empty("", "")]
fn a_page_becomes_markdown(#[case] html: &str, #[case] markdown: &str) {
    let page = page(html);
    assert_eq!(page.markdown, markdown);
    assert!(!page.truncated);
}

#[rstest]
#[case::main("<nav>menu</nav><main><p>text</main><footer>foot", "text")]
#[case::role("<nav>menu</nav><div role=main><p>text</div><footer>foot", "text")]
#[case::article(
    "<nav>menu</nav><article><h1>head</h1><b>long text</b></article><b>foot</b>",
    "# head\n\n**long text**"
)]
#[case::a_list_of_articles(
    "<h1>News</h1><article>one</article><article>two</article>",
    "# News\n\none\n\ntwo"
)]
#[case::empty_main("<p>before<main></main>", "before")]
#[case::no_article("<p>a</p><p>b</p>", "a\n\nb")]
#[case::main_in_a_cell("<table><tr><td>menu<td><main><p>text</main></table>", "text")]
fn the_article_of_a_page_is_its_text(#[case] html: &str, #[case] markdown: &str) {
    assert_eq!(page(html).markdown, markdown);
}

#[rstest]
#[case("<title> The\n house &amp; more</title><p>x", Some("The house & more"))]
#[case("<title></title><p>x", None)]
#[case("<p>x", None)]
#[case("<svg><title>icon</title></svg><p>x", None)]
#[case("<title>one</title><body><title>two</title>x", Some("one"))]
fn a_page_keeps_its_title(#[case] html: &str, #[case] title: Option<&str>) {
    let page = page(html);
    assert_eq!((page.title.as_deref(), page.markdown.as_str()), (title, "x"));
}

#[rstest]
#[case::depth("<div>", "x")]
#[case::lists("<ul><li>", "x")]
#[case::quotes("<blockquote>", "x")]
#[case::tables("<table><tr><td>", "x")]
#[case::cells("<td>", "x")]
#[case::tables_alone("<table>", "x")]
#[case::formatting("<b id=1><i><p>", "x")]
#[case::links("<a href=/long/address/of/a/page>x", "x")]
#[case::pictures("<img src=x alt=x>", "")]
#[case::same_inline("<b>a</b>", "a")]
#[case::hidden("<p hidden><div>", "")]
#[case::scripts("<script>", "")]
#[case::comments("<!--", "")]
#[case::attributes("<a b c d e f g", "")]
#[case::entities("&amp;&", "&")]
#[case::nothing("<", "<")]
#[case::null("\0", "")]
#[case::ends("</div></p></a></table>", "")]
#[case::regions("<main><article>x", "x")]
#[case::code("<pre><code>`", "`")]
#[case::one_wide_cell("<table><tr><td>a<td>b<tr><td>", "")]
fn hostile_pages_end(#[case] part: &str, #[case] seen: &str) {
    let count = 150_000 / part.len();
    let page = page(&format!("{}{seen}", part.repeat(count)));
    assert!(page.markdown.len() < 16 * 1024 * 1024, "{}", page.markdown.len());
}

#[test]
fn attributes_of_one_tag_are_compared_in_bounded_time() {
    let attributes: String = (0..20_000).map(|number| format!(" a{number}")).collect();
    let page = page(&format!("<p>before<div{attributes}>after"));
    assert_eq!((page.markdown.as_str(), page.truncated), ("before", true));
}

#[test]
fn the_lines_of_nested_quotations_are_indented_a_few_times() {
    let html = format!("{}<pre>{}", "<blockquote>".repeat(60), "x\n".repeat(50_000));
    let page = page(&html);
    assert!(page.markdown.starts_with("> > > > > > > > ```\n> > > > > > > > x\n"));
    assert!(page.markdown.len() < 20 * html.len(), "{}", page.markdown.len());
}

#[rstest]
#[case::reference("<p>AT&T", "AT&T")]
#[case::less("<p>a <", "a <")]
#[case::button("<h3><button>Question</button></h3><p>Answer", "### Question\n\nAnswer")]
fn no_visible_text_is_lost(#[case] html: &str, #[case] markdown: &str) {
    assert_eq!(page(html).markdown, markdown);
}

#[test]
fn nested_elements_keep_their_text() {
    let html = format!("{}deep{}<p>after", "<div>".repeat(100_000), "</div>".repeat(100_000));
    assert_eq!(page(&html).markdown, "deep\n\nafter");
    let html = format!("{}deep", "<ul><li>".repeat(100_000));
    assert!(page(&html).markdown.ends_with("deep"));
}

#[test]
fn the_rows_of_a_table_are_not_padded() {
    let html = format!(
        "<table><tr><th>a<th>{}{}</table>",
        "b".repeat(400_000),
        "<tr><td>1<td>2".repeat(40_000)
    );
    assert!(page(&html).markdown.len() < 2 * html.len());
}

proptest! {
    #[test]
    fn no_page_breaks_the_conversion(html in "(<(/?(p|b|a href=x|table|tr|td|th|ul|li|pre|code|main|h1|div hidden|script|title|caption|br|q)>|[a-z!/]{0,3})|[ \\PC]{0,3}){0,40}") {
        let page = page(&html);
        prop_assert!(!page.truncated);
    }
}
