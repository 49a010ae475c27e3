//! Tests of hostile clients that speak HTTP/2: their frames are written by hand.

use std::sync::Arc;

use broker::testing::wait::soon;
use callboard_tests::company::{Company, Process};
use rstest::rstest;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    SCRIPT, address,
    tls::{renew, serve, trusting},
};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Frames that a client sends, or would like to.
const FLOOD: u32 = 20_000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The headers of a request, without compression.
fn head(address: &str) -> Vec<u8> {
    // `:method GET`, `:scheme https`, and the literal values of `:path` and `:authority`.
    let literal = |name: u8, value: &str| {
        [&[name, u8::try_from(value.len()).unwrap()][..], value.as_bytes()].concat()
    };
    [vec![0x82, 0x87], literal(0x04, "/v1/about"), literal(0x01, address)].concat()
}

/// A gateway with TLS.
struct Stage {
    _dir: TempDir,
    cert: Vec<u8>,
    address: String,
    gateway: Process,
    _company: Company,
}

impl Stage {
    async fn start() -> Self {
        // Fails only when another provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let cert = renew(dir.path());
        let mut company = Company::start(SCRIPT).await;
        let gateway = serve(&mut company, dir.path());
        let address = address(&gateway).await;
        Self { _dir: dir, cert, address, gateway, _company: company }
    }

    /// Opens a connection, with the preface of HTTP/2.
    async fn connect(&self) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&self.cert).unwrap()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let mut stream = connected.await.unwrap();
        let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(SETTINGS, 0, 0, &[])];
        stream.write_all(&preface.concat()).await.unwrap();
        stream
    }

    async fn answers_others(&mut self) {
        let about = format!("https://{}/v1/about", self.address);
        let answer = soon("an answer to others", trusting(&self.cert).get(&about).send()).await;
        assert_eq!(answer.unwrap().status().as_u16(), 200);
        assert!(self.gateway.is_running());
    }
}

/// Returns the error code of the frame with which the server ends the connection. `None` if it ends
/// without one.
async fn ended(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        soon("the end of the connection", stream.read_exact(&mut head)).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        soon("a frame", stream.read_exact(&mut payload)).await.ok()?;
        if head[3] == GOAWAY {
            return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
        }
    }
}

/// The n-th frames of a client.
fn flood(how: &str, n: u32, address: &str) -> Vec<u8> {
    let stream = 2 * n + 1;
    match how {
        "resets" => {
            let opened = frame(HEADERS, END_STREAM | END_HEADERS, stream, &head(address));
            [opened, frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat()
        }
        // A header of 16 KiB in each frame, and no last one.
        "continuations" => {
            let value = [&[0x00, 1, b'x', 0x7f, 0x81, 0x7f][..], &[b'x'; 16_256]].concat();
            match n {
                0 => frame(HEADERS, END_STREAM, 1, &head(address)),
                _ => frame(CONTINUATION, 0, 1, &value),
            }
        }
        "windows" => frame(8, 0, 0, &0x7fff_ffff_u32.to_be_bytes()),
        _ => unreachable!("{how}"),
    }
}

#[rstest]
#[case::that_resets_what_it_opens("resets")]
#[case::whose_headers_never_end("continuations")]
#[case::whose_window_overflows("windows")]
#[tokio::test(flavor = "multi_thread")]
async fn a_client_loses_its_connection(#[case] how: &str) {
    let mut stage = Stage::start().await;
    let (mut reader, mut writer) = tokio::io::split(stage.connect().await);
    let address = stage.address.clone();
    let how = how.to_owned();
    let sent = tokio::spawn(async move {
        for n in 0..FLOOD {
            if writer.write_all(&flood(&how, n, &address)).await.is_err() {
                break;
            }
        }
    });
    let code = ended(&mut reader).await;
    assert_ne!(code, Some(0), "it is an error");
    stage.answers_others().await;
    sent.abort();
}

#[rstest]
#[case::settings(frame(SETTINGS, 0, 0, &[]))]
#[case::pings(frame(PING, 0, 0, &[0; 8]))]
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_floods_and_does_not_read_takes_nothing_from_others(#[case] one: Vec<u8>) {
    let mut stage = Stage::start().await;
    let mut connections = Vec::new();
    for _ in 0..4 {
        let mut stream = stage.connect().await;
        let flood = one.repeat(100);
        connections.push(tokio::spawn(async move {
            for _ in 0..FLOOD {
                if stream.write_all(&flood).await.is_err() {
                    break;
                }
            }
        }));
    }
    for _ in 0..20 {
        stage.answers_others().await;
    }
    // The server stops reading what it cannot answer, and closes the connection.
    for connection in connections {
        soon("the end of a flood", connection).await.unwrap();
    }
    stage.answers_others().await;
}
