//! Tests of the files of the console.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use callboard_tests::root;
use reqwest::{StatusCode, header};
use rstest::rstest;

use super::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn every_file_that_the_console_names_is_served_under_its_policy() {
    let stage = Stage::start().await;
    let index = stage.get("/jobs/anything").send().await.unwrap();
    let policy = index.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(index.headers()[header::CACHE_CONTROL], "no-cache");
    let index = index.text().await.unwrap();
    for module in ["app.js", "pages/job.js", "state/stream.js"] {
        let is_named = |line: &str| line.contains("modulepreload") && line.contains(module);
        assert!(index.lines().any(is_named), "{module} is asked for at once: {index}");
    }
    let named = |text: &str, marks: [&str; 2]| -> Vec<String> {
        let [before, after] = marks;
        let parts = text.split(before).skip(1);
        parts.filter_map(|part| part.split_once(after)).map(|(name, _)| name.to_owned()).collect()
    };
    let mut open: Vec<String> = named(&index, ["=\"/ui/", "\""]);
    open.iter_mut().for_each(|path| *path = format!("/ui/{path}"));
    assert!(open.iter().any(|path| path.ends_with(".js")), "{index}");
    let mut seen = std::collections::BTreeSet::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let response = stage.get(&path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let cached = response.headers()[header::CACHE_CONTROL].to_str().unwrap().to_owned();
        assert!(cached.contains("immutable"), "{path}: {cached}");
        if path.ends_with(".js") {
            let text = response.text().await.unwrap();
            let base = reqwest::Url::parse(&format!("http://x{path}")).unwrap();
            for marks in [["from '", "'"], ["from \"", "\""], ["from\"", "\""], ["import('", "')"]]
            {
                let names = named(&text, marks).into_iter().filter(|name| name.starts_with('.'));
                open.extend(names.map(|name| base.join(&name).unwrap().path().to_owned()));
            }
        }
    }
    let old = stage.get("/ui/000000000000/app.js").send().await.unwrap();
    assert_eq!(old.status(), StatusCode::NOT_FOUND, "a file of another build");
}

fn web(path: &str) -> PathBuf {
    root().join("gateway/web").join(path)
}

#[rstest]
#[case::lit("vendor/lit-html", 7)]
#[case::lucide("vendor/lucide", 2)]
fn vendored_files_are_those_of_their_packages(#[case] directory: &str, #[case] least: usize) {
    let sums = fs::read_to_string(web(directory).join("SHA256SUMS")).unwrap();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let file = fs::read(web(directory).join(name)).unwrap();
        assert_eq!(proto::digest::of_bytes(&file), sum, "{name}");
    }
    assert!(sums.lines().count() >= least, "{sums}");
}

/// Returns the names of the texts of a language.
fn texts(language: &str) -> BTreeSet<String> {
    let files = ["", "pages.", "flow."].map(|part| web(&format!("words/{part}{language}.js")));
    let file = files.map(|file| fs::read_to_string(file).unwrap()).concat();
    let names = file.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(':'));
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    names.map(|(name, _)| name.trim_matches('\'').to_owned()).filter(|name| plain(name)).collect()
}

#[test]
fn every_text_of_the_console_is_in_both_languages() {
    let (english, chinese) = (texts("en"), texts("zh"));
    assert!(english.len() > 100, "{}", english.len());
    let differ: Vec<&String> = english.symmetric_difference(&chinese).collect();
    assert_eq!(differ, Vec::<&String>::new());
}

/// Returns the text of the modules of the console, without words, tests and vendored files.
fn modules(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["words", "tests", "vendor"].contains(&name.as_str()) {
            all += &modules(&path);
        } else if name.ends_with(".js") {
            all += &fs::read_to_string(&path).unwrap();
        }
    }
    all
}

#[test]
fn every_text_of_the_console_is_used() {
    let code = modules(&web(""));
    let prefixes: BTreeSet<&str> =
        code.split("t(`").skip(1).filter_map(|rest| Some(rest.split_once("${")?.0)).collect();
    let is_used = |name: &str| {
        code.contains(&format!("'{name}'"))
            || prefixes.iter().any(|prefix| prefix.ends_with('_') && name.starts_with(prefix))
    };
    let unused: Vec<String> = texts("en")
        .into_iter()
        .filter(|name| !is_used(name) && !name.strip_suffix("_one").is_some_and(is_used))
        .collect();
    assert_eq!(unused, Vec::<String>::new());
    assert!(!is_used("a_text_that_no_page_has"));
}

#[test]
fn every_request_of_the_console_is_sent() {
    let file = fs::read_to_string(web("api.js")).unwrap();
    let (_, file) = file.split_once("export const api = {").unwrap();
    let (table, _) = file.split_once("\n};").unwrap();
    let names = table.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": "));
    let names: Vec<&str> = names
        .map(|(name, _)| name)
        .filter(|name| name.bytes().all(|b| b.is_ascii_alphabetic()))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let code = modules(&web(""));
    let unused: Vec<_> =
        names.iter().filter(|name| !code.contains(&format!("api.{name}"))).collect();
    assert_eq!(unused, Vec::<&&str>::new());
}
