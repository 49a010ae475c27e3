//! A client of the plain NATS protocol, so that a test can send what no client library would, and
//! sees at once whether the server forbids it. It contains only what these tests need.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::Arc,
};

use broker::testing::wait::PATIENCE;
use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};

/// A received message.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) subject: String,
    pub(super) payload: String,
}

/// The kind of a line from the server.
enum Said {
    Pong,
    Complaint(String),
    /// Another line, such as a message.
    More,
}

/// A connection.
pub(super) struct Wire {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    heard: Vec<Message>,
    subscriptions: usize,
}

impl Wire {
    /// Connects as the user of a seed.
    pub(super) fn connect(port: u16, ca: &[u8], seed: &str) -> Result<Self, String> {
        let keys = KeyPair::from_seed(seed.trim()).unwrap();
        Self::connect_with(port, ca, |nonce| {
            let sig = BASE64URL_NOPAD.encode(&keys.sign(nonce.as_bytes()).unwrap());
            json!({"nkey": keys.public_key(), "sig": sig})
        })
    }

    /// Connects with the credentials that `prove` returns for a nonce.
    pub(super) fn connect_with(
        port: u16,
        ca: &[u8],
        prove: impl FnOnce(&str) -> Value,
    ) -> Result<Self, String> {
        let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
        plain.set_read_timeout(Some(PATIENCE)).unwrap();
        let greeting = line(&mut plain);
        let info: Value = serde_json::from_str(greeting.strip_prefix("INFO ").unwrap()).unwrap();
        assert_eq!(info["tls_required"], true, "{info}");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca).unwrap()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(tls, plain);
        let mut connect = prove(info["nonce"].as_str().unwrap());
        for (key, value) in [("verbose", false), ("pedantic", false), ("headers", true)] {
            connect[key] = json!(value);
        }
        connect["lang"] = json!("test");
        connect["protocol"] = json!(1);
        connect["no_responders"] = json!(true);
        write!(stream, "CONNECT {connect}\r\nPING\r\n").map_err(|e| e.to_string())?;
        let mut wire = Self { stream: BufReader::new(stream), heard: Vec::new(), subscriptions: 0 };
        match wire.until_pong()?.first() {
            Some(error) => Err(error.clone()),
            None => Ok(wire),
        }
    }

    /// Returns whether the server allows a message to a subject.
    pub(super) fn may_publish(&mut self, subject: &str) -> bool {
        self.publish(subject, None, &[], "{}").is_empty()
    }

    /// Returns whether the server allows a subscription to a subject.
    pub(super) fn may_subscribe(&mut self, subject: &str) -> bool {
        self.subscribe(subject).is_empty()
    }

    /// Subscribes, and returns the server's errors.
    pub(super) fn subscribe(&mut self, subject: &str) -> Vec<String> {
        self.subscriptions += 1;
        let id = self.subscriptions;
        self.send(format!("SUB {subject} {id}\r\n").as_bytes())
    }

    /// Publishes, and returns the server's errors.
    pub(super) fn publish(
        &mut self,
        subject: &str,
        reply: Option<&str>,
        headers: &[(&str, &str)],
        payload: &str,
    ) -> Vec<String> {
        let reply = reply.map(|reply| format!("{reply} ")).unwrap_or_default();
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("NATS/1.0\r\n{lines}\r\n");
        let (head_bytes, bytes) = (head.len(), head.len() + payload.len());
        let message = format!("HPUB {subject} {reply}{head_bytes} {bytes}\r\n{head}{payload}\r\n");
        self.send(message.as_bytes())
    }

    /// Sends a request, and waits for the first answer.
    pub(super) fn request(
        &mut self,
        inbox: &str,
        subject: &str,
        headers: &[(&str, &str)],
        payload: &str,
    ) -> Message {
        let reply = format!("{inbox}.{}", self.subscriptions + 1);
        assert_eq!(self.subscribe(&reply), Vec::<String>::new());
        let complaints = self.publish(subject, Some(&reply), headers, payload);
        assert_eq!(complaints, Vec::<String>::new(), "{subject}");
        self.next(&reply)
    }

    /// Returns the next message on a subject.
    pub(super) fn next(&mut self, subject: &str) -> Message {
        loop {
            if let Some(at) = self.heard.iter().position(|message| message.subject == subject) {
                return self.heard.remove(at);
            }
            self.read().unwrap_or_else(|why| panic!("nothing comes on {subject}: {why}"));
        }
    }

    fn send(&mut self, what: &[u8]) -> Vec<String> {
        let stream = self.stream.get_mut();
        stream.write_all(what).and_then(|()| stream.write_all(b"PING\r\n")).unwrap();
        stream.flush().unwrap();
        self.until_pong().unwrap()
    }

    /// Reads up to the answer to a ping. The server's errors arrive before it.
    fn until_pong(&mut self) -> Result<Vec<String>, String> {
        let mut complaints = Vec::new();
        loop {
            match self.read().map_err(|why| complaint(&complaints, &why))? {
                Said::Pong => return Ok(complaints),
                Said::Complaint(line) => complaints.push(line),
                Said::More => {}
            }
        }
    }

    /// Reads the next line of the server. Messages are kept.
    fn read(&mut self) -> Result<Said, String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
            return Err("the server hung up".to_owned());
        }
        let line = line.trim_end();
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "PONG" => return Ok(Said::Pong),
            "PING" => self.stream.get_mut().write_all(b"PONG\r\n").unwrap(),
            "-ERR" => return Ok(Said::Complaint(line.to_owned())),
            "MSG" | "HMSG" => self.message(&words),
            "INFO" | "+OK" => {}
            other => panic!("{other} is not expected"),
        }
        Ok(Said::More)
    }

    fn message(&mut self, words: &[&str]) {
        let bytes: usize = words[words.len() - 1].parse().unwrap();
        // HMSG has the size of the headers before the total.
        let head: usize = match words[0] {
            "HMSG" => words[words.len() - 2].parse().unwrap(),
            _ => 0,
        };
        let mut payload = vec![0; bytes + 2];
        self.stream.read_exact(&mut payload).unwrap();
        self.heard.push(Message {
            subject: words[1].to_owned(),
            payload: String::from_utf8_lossy(&payload[head..bytes]).into_owned(),
        });
    }
}

fn complaint(complaints: &[String], otherwise: &str) -> String {
    complaints.first().map_or_else(|| otherwise.to_owned(), Clone::clone)
}

/// Reads one line byte by byte, because the bytes after it belong to TLS.
fn line(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}
