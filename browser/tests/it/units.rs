//! The unit tests of the console's modules, run by the browser that the modules are for.

use callboard_browser::{Browser, Look, program};
use callboard_tests::root;

#[tokio::test(flavor = "multi_thread")]
async fn the_modules_of_the_console_pass_their_tests() {
    let Some(chromium) = program::chromium() else { return };
    let directory = root().join("gateway/web/tests");
    let files = std::fs::read_dir(&directory).unwrap().map(|file| file.unwrap().file_name());
    let names = files.map(|name| name.to_string_lossy().into_owned());
    let tests: Vec<String> = names.filter(|name| name.ends_with(".test.js")).collect();
    assert!(tests.len() >= 3, "{tests:?}");
    let browser = Browser::with(chromium, &["--allow-file-access-from-files"]).await;
    let page = browser.page(&Look::default()).await;
    page.open(&format!("file://{}", directory.join("index.html").display())).await;
    for test in tests {
        let run = format!("import('./{test}').then(() => 'passed', (e) => String(e))");
        let result: String = page.value(&run).await;
        assert_eq!(result, "passed", "{test}");
    }
    // A test that fails is seen.
    let wrong = "import('./assert.js').then((m) => m.equal(1, 2)).then(() => 'passed', String)";
    assert_ne!(page.value::<String>(wrong).await, "passed");
}
