//! Servers over HTTP that lead a client elsewhere.

use callboard_mcp_client::{Launch, probe, settings::Server};
use rstest::rstest;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, path},
};

use crate::stage::name;

fn server(url: &str) -> Server {
    toml::from_str(&format!("url = '{url}'\nallow_private = true\nheaders = {{ X-Key = 'k' }}"))
        .unwrap()
}

async fn refused(url: &str) -> String {
    let server = server(url);
    let launch = Launch::of(&name(), &server).unwrap();
    probe(&name(), &server, &launch).await.unwrap_err().to_string()
}

#[rstest]
#[case(ResponseTemplate::new(302))]
#[case(ResponseTemplate::new(307))]
#[tokio::test]
async fn no_redirect_is_followed(#[case] redirect: ResponseTemplate) {
    let (first, second) = (MockServer::start().await, MockServer::start().await);
    let to = format!("{}/elsewhere", second.uri());
    let answer = redirect.insert_header("location", to.as_str());
    Mock::given(path("/mcp")).respond_with(answer).mount(&first).await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).expect(0).mount(&second).await;
    refused(&format!("{}/mcp", first.uri())).await;
    // The requests are checked when the servers are dropped.
}

#[tokio::test]
async fn a_challenge_is_an_error_and_its_addresses_are_not_fetched() {
    let (first, second) = (MockServer::start().await, MockServer::start().await);
    let challenge = format!("Bearer resource_metadata=\"{}/meta\"", second.uri());
    let answer = ResponseTemplate::new(401).insert_header("www-authenticate", challenge.as_str());
    Mock::given(any()).respond_with(answer).mount(&first).await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).expect(0).mount(&second).await;
    refused(&format!("{}/mcp", first.uri())).await;
}

#[tokio::test]
async fn a_private_address_needs_the_operators_word() {
    let server: Server = toml::from_str("url = 'https://127.0.0.1:1/mcp'").unwrap();
    let launch = Launch::of(&name(), &server).unwrap();
    let error = probe(&name(), &server, &launch).await.unwrap_err().to_string();
    assert!(error.contains("not a public address"), "{error}");
}
