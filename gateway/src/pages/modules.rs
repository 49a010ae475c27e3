//! The JavaScript modules that each page needs, which the index names, so that a browser asks for all
//! of them at once and not for each after the module that imports it.

use std::collections::{BTreeMap, BTreeSet};

/// The module with which every page starts.
const START: &str = "app.js";
/// Place of the modules in the index: before the script that starts the console.
const SCRIPT: &str = "<script type=\"module\"";

/// Adds the modules of a page to the index. Their paths begin with `root`.
pub(super) fn preloaded(
    index: &str,
    root: &str,
    page: &str,
    files: &BTreeMap<String, Vec<u8>>,
) -> String {
    let mut links = String::new();
    for name in needed([START, page], files) {
        links.extend(["<link rel=\"modulepreload\" href=\"", root, &name, "\">\n"]);
    }
    links.push_str(SCRIPT);
    index.replacen(SCRIPT, &links, 1)
}

/// Returns the module of a page by its path in the console.
pub(super) fn of_path(path: &str) -> String {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next().unwrap_or("jobs"), parts.next()) {
        ("jobs", Some(_)) => "pages/job.js".to_owned(),
        (page, _) => format!("pages/{page}.js"),
    }
}

/// Returns the modules that some modules import, over any number of steps, and the modules themselves.
fn needed<'a>(
    of: impl IntoIterator<Item = &'a str>,
    files: &BTreeMap<String, Vec<u8>>,
) -> BTreeSet<String> {
    let mut open: Vec<String> = of.into_iter().map(str::to_owned).collect();
    let mut needed = BTreeSet::new();
    while let Some(name) = open.pop() {
        let Some(text) = files.get(&name) else { continue };
        open.extend(imports(&name, &String::from_utf8_lossy(text)));
        needed.insert(name);
        open.retain(|name| !needed.contains(name));
    }
    needed
}

/// Returns the modules that a module names in its imports and exports. Those that it loads later, by
/// a call of `import`, are not among them.
fn imports(name: &str, text: &str) -> Vec<String> {
    let is_import = |line: &&str| line.starts_with("import") || line.starts_with("export");
    let path = |line: &str| {
        let (_, rest) = line.split_once("from")?;
        let quoted = rest.trim_start().strip_prefix(['\'', '"'])?;
        quoted.split(['\'', '"']).next().map(str::to_owned)
    };
    // The library is on one line.
    let statements = text.split(['\n', ';']).filter(is_import);
    statements.filter_map(path).map(|path| joined(name, &path)).collect()
}

/// Returns the name of a file from that of another one and the path between them.
fn joined(name: &str, path: &str) -> String {
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn files() -> BTreeMap<String, Vec<u8>> {
        let files = [
            (
                "app.js",
                "// Start\nimport { a } from './lit.js';\nconst b = import('./pages/b.js');",
            ),
            ("lit.js", "export { repeat } from './vendor/repeat.js';\n"),
            ("vendor/repeat.js", "import{x as y}from\"./x.js\";import{z}from\"../lit.js\";let q"),
            ("vendor/x.js", ""),
            ("pages/a.js", "import { t } from '../parts/t.js';\n"),
            ("pages/b.js", ""),
            ("parts/t.js", ""),
        ];
        files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into()
    }

    #[rstest]
    #[case::of_a_page(
        "pages/a.js",
        "app.js lit.js pages/a.js parts/t.js vendor/repeat.js vendor/x.js"
    )]
    #[case::of_no_page("pages/none.js", "app.js lit.js vendor/repeat.js vendor/x.js")]
    fn a_page_needs_what_its_modules_import(#[case] page: &str, #[case] modules: &str) {
        let index = "<head>\n<script type=\"module\" src=\"/ui/1/app.js\"></script>\n</head>";
        let text = preloaded(index, "/ui/1/", page, &files());
        let links = text.lines().filter_map(|line| {
            line.strip_prefix("<link rel=\"modulepreload\" href=\"/ui/1/")?.strip_suffix("\">")
        });
        assert_eq!(links.collect::<Vec<_>>().join(" "), modules);
        assert!(text.ends_with("<script type=\"module\" src=\"/ui/1/app.js\"></script>\n</head>"));
    }

    #[rstest]
    #[case("/", "pages/jobs.js")]
    #[case("/jobs", "pages/jobs.js")]
    #[case("/jobs/report-7", "pages/job.js")]
    #[case("/chat/report-7", "pages/chat.js")]
    #[case("/nonsense", "pages/nonsense.js")]
    fn a_path_names_its_page(#[case] path: &str, #[case] module: &str) {
        assert_eq!(of_path(path), module);
    }
}
