//! The nats-server that tests start.

use std::time::Duration;

use runtime::testing::NatsServer;

#[tokio::test]
async fn a_server_is_found_started_killed_and_started_again_in_its_place() {
    let mut server =
        NatsServer::start_with(&["max_payload: 2MB"], &["sync_interval: always"]).await;
    let url = server.url().to_owned();
    let client = async_nats::connect(&url).await.unwrap();
    assert_eq!(client.server_info().max_payload, 2 * 1024 * 1024);
    server.kill9();
    assert_eq!(server.id(), None);
    server.restart().await;
    assert_eq!(server.url(), url);
    async_nats::connect(&url).await.unwrap();
    server.stop();
    let silent = async_nats::ConnectOptions::new().connection_timeout(Duration::from_millis(200));
    assert!(silent.connect(&url).await.is_err());
    server.cont();
    async_nats::connect(&url).await.unwrap();
    server.shut_down().await;
    assert!(async_nats::connect(&url).await.is_err());
    let store = server.store_dir();
    drop(server);
    assert!(!store.exists());
}
