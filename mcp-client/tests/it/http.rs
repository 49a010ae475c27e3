//! Servers over HTTP that lead a client elsewhere.

use callboard_mcp_client::{Launch, probe, settings::Server};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
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

#[rstest]
#[case(400)]
#[case(404)]
#[case(405)]
#[case(500)]
#[tokio::test]
async fn a_server_that_refuses_all_but_the_handshake_is_listed(#[case] status: u16) {
    let site = MockServer::start().await;
    let answer = move |request: &Request| {
        let message: Value = request.body_json().unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "older", "version": "1"},
            }),
            Some("tools/list") => {
                json!({"tools": [{"name": "act", "inputSchema": {"type": "object"}}]})
            }
            Some("notifications/initialized") => return ResponseTemplate::new(202),
            _ => return ResponseTemplate::new(status).set_body_string("No such thing."),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        ResponseTemplate::new(200).set_body_json(answer)
    };
    Mock::given(any()).respond_with(answer).mount(&site).await;
    let server = server(&site.uri());
    let launch = Launch::of(&name(), &server).unwrap();
    let probed = probe(&name(), &server, &launch).await.unwrap();
    assert_eq!(probed.tools[0].spec.name.as_str(), "odd__act");
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
