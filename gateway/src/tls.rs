//! TLS of the gateway's listener, from files.

use std::{path::Path, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::settings::Tls;

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
    let wrong = |file: &Path, why: &dyn ToString| TlsError {
        file: file.display().to_string(),
        why: why.to_string(),
    };
    let read = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
    let chain: Vec<_> = read.map_err(|why| wrong(cert, &why))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|why| wrong(key, &why))?;
    let provider = Arc::new(ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|why| wrong(cert, &why))?.with_no_client_auth();
    let mut config = config.with_single_cert(chain, secret).map_err(|why| wrong(cert, &why))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}
