//! The nats-server child process.

use std::time::Duration;

use broker::testing::NatsServer;

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

#[tokio::test]
async fn the_server_of_a_parent_that_was_killed_is_ended_and_another_takes_its_place() {
    use broker::nats_server::{Child, ChildOptions, find};
    let dir = tempfile::tempdir().unwrap();
    let options = ChildOptions { store_dir: dir.path().to_owned(), ..ChildOptions::default() };
    let first = Child::start(&options).await.unwrap();
    let port = first.port();
    drop(first);
    // The shell starts the server and exits at once.
    let program = find().unwrap().path;
    let config = dir.path().join("nats-server.conf");
    let start =
        format!("{} --config {} > /dev/null 2>&1 & echo $!", program.display(), config.display());
    let shell = std::process::Command::new("sh").arg("-c").arg(start).output().unwrap();
    let orphan = String::from_utf8_lossy(&shell.stdout).trim().to_owned();
    std::fs::write(dir.path().join("nats-server.pid"), format!("{orphan} 2147483646")).unwrap();
    let client = async_nats::ConnectOptions::new().retry_on_initial_connect();
    let client = client.connect(format!("nats://127.0.0.1:{port}")).await.unwrap();
    client.flush().await.unwrap();

    let second = Child::start(&ChildOptions { port, ..options.clone() }).await.unwrap();
    assert_ne!(second.id().to_string(), orphan);
    assert!(!std::path::Path::new(&format!("/proc/{orphan}/exe")).exists(), "the orphan has ended");
    // A server whose parent is alive is not an orphan.
    assert!(Child::start(&ChildOptions { port, ..options }).await.is_err());
}

#[tokio::test]
async fn a_server_may_keep_its_name_when_it_starts_again() {
    use broker::nats_server::{Child, ChildOptions};
    for keeps_name in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let store_dir = dir.path().to_owned();
        let options = ChildOptions { store_dir, keeps_name, ..ChildOptions::default() };
        let mut names = Vec::new();
        for _ in 0..2 {
            let server = Child::start(&options).await.unwrap();
            let client = async_nats::connect(server.url()).await.unwrap();
            names.push(client.server_info().server_name);
        }
        assert_eq!(names[0] == names[1], keeps_name);
    }
}
