//! The state of one connection.

use crate::load::decoder::ReplyState;
use std::ops::Range;

/// The state of a connection, and since when it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is not connected. Where each request has a connection of its own: from when on it could take one.
    Closed(u64),
    Connecting(u64),
    /// The socket is connected, and the layer above it shakes hands.
    Handshaking(u64),
    /// It waits for the connection of another slot.
    Joining(u64),
    /// It is connected, and could take a request.
    Free(u64),
    /// A reply is pending.
    Busy(Busy),
    /// Reset by a fault: not opened again.
    Removed,
}

/// The instants of a pending reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// When the request went to the kernel; until then, when the engine began with it.
    pub sent_ns: u64,
    /// The start of the time-out: the sending; for a stream, the arrival of its last bytes.
    pub active_ns: u64,
}

impl Busy {
    pub fn since(sent_ns: u64) -> Stage {
        let active_ns = sent_ns;
        Stage::Busy(Busy { sent_ns, active_ns })
    }
}

impl Default for Stage {
    fn default() -> Stage {
        Stage::Closed(0)
    }
}

impl Stage {
    /// When the present step of an opening began.
    pub fn opening_ns(self) -> Option<u64> {
        match self {
            Stage::Connecting(ns) | Stage::Handshaking(ns) | Stage::Joining(ns) => Some(ns),
            Stage::Closed(_) | Stage::Free(_) | Stage::Busy(_) | Stage::Removed => None,
        }
    }

    pub fn busy(self) -> Option<Busy> {
        match self {
            Stage::Busy(busy) => Some(busy),
            _ => None,
        }
    }
}

#[derive(Default)]
pub struct Connection {
    pub stage: Stage,
    /// How long the engine waited after a failure before it opened the connection again.
    pub pause: Range<u64>,
    /// It has answered a request, and could take another.
    pub has_answered: bool,
    /// It is in the list of free connections.
    pub is_listed: bool,
    /// Among the slots that share a connection, this one counts for it.
    pub is_counted: bool,
    /// The intended instant of a request that waits for the connect.
    pub pending_ns: Option<u64>,
    pub request: RequestProgress,
    pub stream: StreamProgress,
    pub reply: ReplyState,
}

/// The request that a connection was given last.
#[derive(Default)]
pub struct RequestProgress {
    /// Its number, and the number of its target.
    pub number: u64,
    pub target: usize,
    pub intended_ns: u64,
    /// Closed loop: its latency counts from its connect or, without one, from its sending.
    pub is_due_when_begun: bool,
    /// How long it waited for a free connection, or a free stream of HTTP/2.
    pub queued_ns: u64,
    /// From this instant on, only the engine delays the request.
    pub ready_ns: u64,
    /// How late the engine opened the connection of this request, or of this stream.
    pub open_late_ns: u64,
    /// Closed loop, of a sampled connection: when the kernel stamped the reply that this request follows.
    pub replied_ns: Option<u64>,
    /// How often in succession the server has declared that it had not processed it.
    pub refusals: usize,
    /// When the first byte of the reply arrived, or of a response before the final one.
    pub first_byte_ns: u64,
    /// The final reply has begun.
    pub answered: bool,
}

#[derive(Default)]
pub struct StreamProgress {
    /// A message has arrived, on this connection or an earlier one of its slot.
    pub fed: bool,
    /// The arrival of the bytes before the last ones.
    pub active_before_ns: u64,
    pub paused: bool,
    /// It has been paused: late messages are not the server's fault.
    pub was_paused: bool,
}

impl Connection {
    /// How much of a wait from `start_ns` to `end_ns` was the engine's own pause.
    pub fn paused_ns(&self, start_ns: u64, end_ns: u64) -> u64 {
        let end_ns = self.pause.end.min(end_ns);
        end_ns.saturating_sub(self.pause.start.max(start_ns))
    }
}
