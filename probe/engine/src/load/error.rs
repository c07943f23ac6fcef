//! Kinds of errors of a load, and their counts.

use serde::{Deserialize, Serialize};

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

/// How many errors of each kind there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCounts([u64; ErrorKind::ALL.len()]);

impl ErrorCounts {
    pub fn add(&mut self, kind: ErrorKind, count: u64) {
        self.0[kind as usize] += count;
    }

    pub fn merge(&mut self, other: &ErrorCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    pub fn of(&self, kind: ErrorKind) -> u64 {
        self.0[kind as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn occurred(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        ErrorKind::ALL.iter().copied().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// Makes the kinds from a table: variant, name in messages, judgement.
macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $judgement:ident;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)*
        }

        impl ErrorKind {
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// Its name in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)*
                }
            }

            pub fn judgement(self) -> Judgement {
                match self {
                    $(ErrorKind::$kind => Judgement::$judgement,)*
                }
            }
        }
    };
}

error_kinds! {
    ConnectRefused, "connect-refused", Unanswered;
    ConnectTimeout, "connect-timeout", Unanswered;
    ConnectFailed, "connect-failed", Unanswered;
    PortsExhausted, "ports-exhausted", Unanswered;
    DescriptorsExhausted, "descriptors-exhausted", Unanswered;
    Send, "send", Unanswered;
    Reset, "reset", Unanswered;
    ClosedEarly, "closed-early", Unanswered;
    /// A response that was to be held open is complete.
    Ended, "ended", Unanswered;
    Truncated, "truncated", Unanswered;
    Timeout, "timeout", Unanswered;
    Protocol, "protocol", WrongAnswer;
    /// The server sent a TLS record in place of HTTP, or broke the rules of TLS.
    Tls, "tls", WrongAnswer;
    /// The server probably sent an HTTP/2 frame.
    Http2, "http2", WrongAnswer;
    TooLarge, "too-large", WrongAnswer;
    Unsolicited, "unsolicited", WrongAnswer;
    Status, "status", WrongAnswer;
    Content, "content", WrongAnswer;
    /// The server's certificate is not accepted.
    Certificate, "certificate", Unanswered;
    /// A handshake above the socket took too long.
    HandshakeTimeout, "handshake-timeout", Unanswered;
    /// The server does not choose HTTP/2.
    NoHttp2, "no-http2", WrongAnswer;
    /// The proxy does not lead on to the server.
    Proxy, "proxy", Unanswered;
    /// The server does not make the connection a WebSocket.
    Upgrade, "upgrade", WrongAnswer;
    /// The server reset a stream.
    StreamReset, "stream-reset", Unanswered;
    /// The server ended an HTTP/2 connection with an error, or again and again before it processed a request.
    GoAway, "goaway", Unanswered;
    /// The server asks for a certificate of the client, and got none that it accepts.
    ClientCertificate, "client-certificate", Unanswered;
    /// The reply was complete before all of the request was sent.
    EarlyReply, "early-reply", WrongAnswer;
    /// The client hung up, as the plan says: the answer did not come in time.
    HungUp, "hung-up", Planned;
}

impl ErrorKind {
    /// Whether a request that fails so was given up: its latency is at least the time until then. The latency of one
    /// that fails in another way is not known.
    pub fn is_timeout(self) -> bool {
        use ErrorKind::*;
        matches!(self, Timeout | ConnectTimeout | HandshakeTimeout)
    }
}
