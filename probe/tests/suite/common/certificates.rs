//! Certificates, made by openssl for this run of the tests.
#![allow(dead_code)]

use super::server::Server;
use super::Folder;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

/// A connection of a server inside TLS.
pub type Secure = StreamOwned<ServerConnection, TcpStream>;

static FOLDER: OnceLock<Folder> = OnceLock::new();

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder);
    let done = command.stdout(Stdio::null()).output().unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A file of an authority, `ca.pem`, and of its servers: `good`, `expired`, `other` (for another host); `own` has signed
/// itself. Each has a key.
pub fn file(name: &str) -> String {
    let folder = FOLDER.get_or_init(|| {
        let folder = Folder::new();
        let path = folder.path();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(path, &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 9 -subj /CN=authority"));
        openssl(path, &format!(
            "req -x509 {key} -keyout own.key -out own.pem -days 9 -subj /CN=own -addext subjectAltName=DNS:localhost"
        ));
        for (name, hosts, days) in [
            ("good", "DNS:localhost,IP:127.0.0.1", 9),
            ("expired", "DNS:localhost", 0),
            ("other", "DNS:elsewhere.test", 9),
        ] {
            std::fs::write(path.join("extension"), format!("subjectAltName={hosts}\n")).unwrap();
            openssl(path, &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            openssl(path, &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} -extfile extension -out {name}.pem"
            ));
        }
        // A certificate for no days ends in the second of its birth.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        folder
    });
    folder.path().join(name).display().to_string()
}

/// A server inside TLS. `protocols`: what it speaks, by ALPN.
pub fn serve(
    certificate: &str,
    protocols: &[&str],
    serve: impl Fn(Secure, u64) + Send + Sync + 'static,
) -> Server {
    let chain = CertificateDer::pem_file_iter(file(&format!("{certificate}.pem")));
    let chain = chain.unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file(&format!("{certificate}.key"))).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let config = Arc::new(config);
    Server::start(move |stream, number| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(StreamOwned::new(connection, stream), number);
    })
}
