//! Kinds of errors of a load.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    ConnectRefused,
    ConnectTimeout,
    ConnectFailed,
    PortsExhausted,
    DescriptorsExhausted,
    Send,
    Reset,
    ClosedEarly,
    /// A response that was to be held open is complete.
    Ended,
    Truncated,
    Timeout,
    Protocol,
    /// The server sent a TLS record in place of HTTP, or broke the rules of TLS.
    Tls,
    /// The server probably sent an HTTP/2 frame.
    Http2,
    TooLarge,
    Unsolicited,
    Status,
    Content,
    /// A redirect to another host, port or scheme.
    RedirectElsewhere,
    /// More redirects of one request than are followed.
    RedirectLimit,
    /// A redirect without a usable target.
    RedirectInvalid,
    /// The server's certificate is not accepted.
    Certificate,
    /// A handshake above the socket took too long.
    HandshakeTimeout,
    /// The server does not choose HTTP/2.
    NoHttp2,
    /// The server does not make the connection a WebSocket.
    Upgrade,
    /// The server reset a stream.
    StreamReset,
    /// The server ended an HTTP/2 connection with an error, or again and again before it processed a request.
    GoAway,
}

impl ErrorKind {
    /// The names in messages, in the order of the variants.
    pub const NAMES: [&'static str; 27] = [
        "connect-refused",
        "connect-timeout",
        "connect-failed",
        "ports-exhausted",
        "descriptors-exhausted",
        "send",
        "reset",
        "closed-early",
        "ended",
        "truncated",
        "timeout",
        "protocol",
        "tls",
        "http2",
        "too-large",
        "unsolicited",
        "status",
        "content",
        "redirect-elsewhere",
        "redirect-limit",
        "redirect-invalid",
        "certificate",
        "handshake-timeout",
        "no-http2",
        "upgrade",
        "stream-reset",
        "goaway",
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_variants() {
        for (kind, name) in [
            (ErrorKind::ConnectRefused, "connect-refused"),
            (ErrorKind::Ended, "ended"),
            (ErrorKind::Timeout, "timeout"),
            (ErrorKind::Content, "content"),
            (ErrorKind::RedirectInvalid, "redirect-invalid"),
            (ErrorKind::GoAway, "goaway"),
        ] {
            assert_eq!(ErrorKind::NAMES[kind as usize], name);
        }
    }
}
