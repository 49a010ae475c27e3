//! Lists of tools, as hostile servers give them.

use rstest::rstest;

use crate::stage::{look, server};

async fn listed(mode: &str) -> Result<Vec<String>, String> {
    let home = tempfile::tempdir().unwrap();
    let probed = look(&server(mode, home.path(), "")).await?;
    Ok(probed.tools.iter().map(|tool| tool.spec.name.to_string()).collect())
}

#[tokio::test]
async fn the_pages_of_a_list_are_put_together() {
    assert_eq!(listed("pages").await.unwrap(), ["odd__a", "odd__b"]);
}

#[tokio::test]
async fn a_few_lines_that_are_no_messages_are_skipped() {
    assert_eq!(listed("noise").await.unwrap(), ["odd__act"]);
}

// The first ends at a request that it does not know, and the second answers any such request.
#[rstest]
#[case("strict")]
#[case("agrees")]
#[tokio::test]
async fn a_server_that_knows_only_the_handshake_is_listed(#[case] mode: &str) {
    assert_eq!(listed(mode).await.unwrap(), ["odd__act"]);
}

#[rstest]
#[case("repeats", "repeats a page")]
#[case("endless", "pages")]
#[case("million", "tools")]
#[case("large", "bytes")]
#[case("noisy", "handshake")]
#[case("frame", "handshake")]
#[case("version", "1999-01-01")]
#[tokio::test]
async fn a_list_out_of_bounds_is_refused_whole(#[case] mode: &str, #[case] why: &str) {
    let error = listed(mode).await.unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[tokio::test]
async fn a_server_that_exits_is_told_with_its_last_words() {
    let error = listed("exits").await.unwrap_err();
    assert!(error.contains("licence") && !error.contains('\u{1b}'), "{error}");
    assert!(
        error.contains("initialize response") && error.contains("discover response"),
        "{error}"
    );
}

// The clock advances while everything waits for the server, which never answers.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let error = listed("silent").await.unwrap_err();
    assert!(error.contains("did not end within"), "{error}");
}
