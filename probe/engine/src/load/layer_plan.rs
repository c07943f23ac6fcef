//! The keys of a plan for what is between the sockets and the requests.

use serde::Deserialize;

/// The key `tls` of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsPlan {
    /// The host, to which the certificate must belong.
    pub server_name: String,
    /// A file of certificates (PEM) that are trusted in place of the system's.
    pub cacert: Option<String>,
    /// Files (PEM) with the client's certificate, and those that vouch for it, and with its key.
    pub cert: Option<String>,
    pub key: Option<String>,
    /// Any certificate is accepted.
    #[serde(default)]
    pub insecure: bool,
}

/// The key `http2` of a plan.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http2Plan {
    /// Requests in flight on one connection.
    pub streams: usize,
}
