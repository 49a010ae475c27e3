//! Tests of the listener with TLS.

use std::process::Command;

use callboard_tests::company::Company;
use reqwest::{Certificate, Client};

use super::{SCRIPT, address};

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_a_certificate_speaks_tls_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    // An authority is no certificate of a server, so the defaults of openssl do not serve.
    let config = dir.path().join("openssl.cnf");
    let text = "[req]\nprompt = no\ndistinguished_name = name\nx509_extensions = server\n\
                [name]\nCN = localhost\n\
                [server]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = IP:127.0.0.1\n";
    std::fs::write(&config, text).unwrap();
    made.args(["-nodes", "-days", "2"]).arg("-config").arg(&config);
    made.arg("-out").arg(&cert).arg("-keyout").arg(&key);
    let made = made.output().expect("openssl is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut company = Company::start(SCRIPT).await;
    company.set("GATEWAY__LISTEN", "127.0.0.1:0");
    company.set("GATEWAY__TLS__CERT_FILE", &cert.display().to_string());
    company.set("GATEWAY__TLS__KEY_FILE", &key.display().to_string());
    let gateway = company.serve("gateway", "gateway");
    let address = address(&gateway).await;
    // Fails only when another provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = Certificate::from_pem(&std::fs::read(&cert).unwrap()).unwrap();
    let http = Client::builder().no_proxy().tls_certs_only([root]).build().unwrap();
    let about = http.get(format!("https://{address}/v1/about")).send().await.unwrap();
    assert_eq!(about.status(), 200);
    assert!(http.get(format!("http://{address}/v1/about")).send().await.is_err());
    let stranger = Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    assert!(stranger.get(format!("https://{address}/v1/about")).send().await.is_err());
}
