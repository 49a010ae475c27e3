//! Tests of the files of the console.

use std::{collections::BTreeSet, fs, path::PathBuf};

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
    let file = fs::read_to_string(web(&format!("words/{language}.js"))).unwrap();
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
