//! Tests of the listener with TLS.

use std::{path::Path, process::Command};

use broker::testing::wait::eventually;
use callboard_tests::company::{Company, Process};
use reqwest::{Certificate, Client, Version};

use super::{SCRIPT, address};

/// Writes a new certificate and its key into a directory, and returns the certificate.
pub(super) fn renew(dir: &Path) -> Vec<u8> {
    // An authority is no certificate of a server, so the defaults of openssl do not serve.
    let config = dir.join("openssl.cnf");
    let text = "[req]\nprompt = no\ndistinguished_name = name\nx509_extensions = server\n\
                [name]\nCN = localhost\n\
                [server]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = IP:127.0.0.1\n";
    std::fs::write(&config, text).unwrap();
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    made.args(["-nodes", "-days", "2"]).arg("-config").arg(&config);
    made.arg("-out").arg(dir.join("cert.pem")).arg("-keyout").arg(dir.join("key.pem"));
    let made = made.output().expect("openssl is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::read(dir.join("cert.pem")).unwrap()
}

/// A client that trusts this certificate alone, and keeps no connection.
pub(super) fn trusting(cert: &[u8]) -> Client {
    let root = Certificate::from_pem(cert).unwrap();
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0);
    client.tls_certs_only([root]).build().unwrap()
}

/// Starts a gateway with the certificate of a directory.
pub(super) fn serve(company: &mut Company, dir: &Path) -> Process {
    let file = |name: &str| dir.join(name).display().to_string();
    company.set("GATEWAY__LISTEN", "127.0.0.1:0");
    company.set("GATEWAY__TLS__CERT_FILE", &file("cert.pem"));
    company.set("GATEWAY__TLS__KEY_FILE", &file("key.pem"));
    company.serve("gateway", "gateway")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_a_certificate_speaks_http_2_over_tls_and_takes_a_renewed_one() {
    let dir = tempfile::tempdir().unwrap();
    let first = renew(dir.path());
    let mut company = Company::start(SCRIPT).await;
    let gateway = serve(&mut company, dir.path());
    let address = address(&gateway).await;
    // Fails only when another provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let page = format!("https://{address}/v1/about");
    let http = trusting(&first);
    let answer = http.get(&page).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
    let root = Certificate::from_pem(&first).unwrap();
    let old = Client::builder().no_proxy().http1_only().tls_certs_only([root]).build().unwrap();
    let answer = old.get(&page).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_11));
    assert!(http.get(format!("http://{address}/v1/about")).send().await.is_err());
    let stranger = Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    assert!(stranger.get(&page).send().await.is_err());

    std::fs::write(dir.path().join("key.pem"), "half of a key").unwrap();
    eventually("a look at the files", async || {
        let served = http.get(&page).send().await.map(|answer| answer.status());
        assert!(served.is_ok(), "the old certificate serves on: {served:?}");
        match gateway.logged() {
            logged if logged.contains("cannot be used") => Ok(()),
            logged => Err(logged),
        }
    })
    .await;
    let second = trusting(&renew(dir.path()));
    eventually("the new certificate", async || {
        second.get(&page).send().await.map_err(|error| format!("{error:?}"))
    })
    .await;
    let before = trusting(&first).get(&page).send().await;
    assert!(before.is_err(), "the old certificate is gone");
}
