//! TLS of the gateway's listener, from files. A renewed certificate is taken without a restart.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use runtime::http;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::settings::Tls;

/// Shortest time between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The reason why the files of TLS cannot be used. It never repeats their content.
#[derive(Debug, thiserror::Error)]
#[error("gateway.tls: {file}: {why}")]
pub struct TlsError {
    file: String,
    why: String,
}

/// Reads the certificate and its key; `None` where TLS is not configured.
pub(crate) fn config(tls: &Tls) -> Result<Option<Arc<ServerConfig>>, TlsError> {
    let Some((cert, key)) = tls.files() else { return Ok(None) };
    let provider = Arc::new(ring::default_provider());
    let files = Files { cert: cert.to_owned(), key: key.to_owned() };
    let changed = files.changed();
    let pair = files.read(&provider)?;
    let held = Held { pair, changed, looked: Instant::now() };
    let resolver = Renewed { files, provider: Arc::clone(&provider), held: Mutex::new(held) };
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|why| wrong(cert, &why))?.with_no_client_auth();
    let mut config = config.with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![http::H2.to_vec(), b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}

fn wrong(file: &Path, why: &dyn ToString) -> TlsError {
    TlsError { file: file.display().to_string(), why: why.to_string() }
}

#[derive(Debug)]
struct Files {
    cert: PathBuf,
    key: PathBuf,
}

/// Times of the last changes of both files; `None` where that is unknown.
type Changed = [Option<SystemTime>; 2];

impl Files {
    fn changed(&self) -> Changed {
        [&self.cert, &self.key].map(|file| file.metadata().and_then(|it| it.modified()).ok())
    }

    /// Reads both files. A key of another certificate is refused.
    fn read(&self, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, TlsError> {
        let read = CertificateDer::pem_file_iter(&self.cert).and_then(Iterator::collect);
        let chain: Vec<_> = read.map_err(|why| wrong(&self.cert, &why))?;
        let secret =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|why| wrong(&self.key, &why))?;
        let pair = CertifiedKey::from_der(chain, secret, provider);
        Ok(Arc::new(pair.map_err(|why| wrong(&self.cert, &why))?))
    }
}

/// The certificate that the files have now. Files that cannot be used change nothing: the last
/// certificate serves until they can.
#[derive(Debug)]
struct Renewed {
    files: Files,
    provider: Arc<CryptoProvider>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    pair: Arc<CertifiedKey>,
    changed: Changed,
    looked: Instant,
}

impl ResolvesServerCert for Renewed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.looked.elapsed() < LOOK_EVERY {
            return Some(Arc::clone(&held.pair));
        }
        held.looked = Instant::now();
        let changed = self.files.changed();
        if changed != held.changed {
            match self.files.read(&self.provider) {
                Ok(pair) => {
                    tracing::info!("the gateway has a new certificate");
                    held.pair = pair;
                }
                Err(error) => tracing::error!(%error, "the new certificate cannot be used"),
            }
            held.changed = changed;
        }
        Some(Arc::clone(&held.pair))
    }
}
