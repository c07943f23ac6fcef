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
    /// The server asks for a certificate of the client, and got none that it accepts.
    ClientCertificate,
    /// The reply was complete before all of the request was sent.
    EarlyReply,
    /// The server closed a connection that it had kept, and nothing came of a request that must not be sent twice.
    ReuseClosed,
    /// The client hung up, as the plan says: the answer did not come in time.
    HungUp,
}

/// What an error is to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The server answered something else than it was asked for.
    WrongAnswer,
    /// A request without an answer: its time is in no figure, or is a lower bound of one that timed out.
    Unanswered,
    /// What the plan is for.
    Planned,
}

impl ErrorKind {
    /// All kinds, in the order of the variants.
    pub const ALL: [ErrorKind; 28] = {
        use ErrorKind::*;
        [
            ConnectRefused,
            ConnectTimeout,
            ConnectFailed,
            PortsExhausted,
            DescriptorsExhausted,
            Send,
            Reset,
            ClosedEarly,
            Ended,
            Truncated,
            Timeout,
            Protocol,
            Tls,
            Http2,
            TooLarge,
            Unsolicited,
            Status,
            Content,
            Certificate,
            HandshakeTimeout,
            NoHttp2,
            Upgrade,
            StreamReset,
            GoAway,
            ClientCertificate,
            EarlyReply,
            ReuseClosed,
            HungUp,
        ]
    };

    /// Whether a request that fails so was given up: its latency is at least the time until then. The latency of one
    /// that fails in another way is not known.
    pub fn is_timeout(self) -> bool {
        use ErrorKind::*;
        matches!(self, Timeout | ConnectTimeout | HandshakeTimeout)
    }

    pub fn judgement(self) -> Judgement {
        use ErrorKind::*;
        match self {
            Protocol | Tls | Http2 | TooLarge | Unsolicited | Status | Content | NoHttp2
            | Upgrade | EarlyReply => Judgement::WrongAnswer,
            ConnectRefused | ConnectTimeout | ConnectFailed | PortsExhausted
            | DescriptorsExhausted | Send | Reset | ClosedEarly | Ended | Truncated | Timeout
            | Certificate | HandshakeTimeout | StreamReset | GoAway | ClientCertificate
            | ReuseClosed => Judgement::Unanswered,
            HungUp => Judgement::Planned,
        }
    }

    /// The names in messages, in the order of the variants.
    pub const NAMES: [&'static str; 28] = [
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
        "certificate",
        "handshake-timeout",
        "no-http2",
        "upgrade",
        "stream-reset",
        "goaway",
        "client-certificate",
        "early-reply",
        "reuse-closed",
        "hung-up",
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_variants() {
        for (place, (kind, name)) in ErrorKind::ALL.iter().zip(ErrorKind::NAMES).enumerate() {
            assert_eq!(*kind as usize, place);
            assert_eq!(format!("{kind:?}").to_lowercase(), name.replace('-', ""));
        }
    }
}
