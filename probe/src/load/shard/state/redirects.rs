//! Redirects within the server: the request goes on, to another path, on this connection or on a new one. Its latency
//! ends with the final reply, and the time-out is for each reply.

use super::{Instants, Shard};
use crate::io::{Next, Slot};
use crate::load::error::ErrorKind;
use crate::load::redirect::{Origin, Redirect, MAX_REDIRECTS};
use crate::load::shard::connection::{Hop, Stage};

impl Shard {
    /// A reply is complete, and is a redirect. `keep`: the connection can be used again.
    pub fn redirected(
        &mut self,
        slot: Slot,
        at: Instants,
        redirect: &Redirect,
        keep: bool,
    ) -> Next {
        let Some(request) = &self.config.plan.request else {
            return self.complete(slot, at, Err(ErrorKind::RedirectInvalid), keep);
        };
        let origin = Origin {
            host: request.host(),
            secure: self.config.plan.tls.is_some(),
        };
        let connection = &mut self.connections[slot];
        let last = connection.hop.take();
        let count = last.as_ref().map_or(0, |hop| hop.count) + 1;
        let path = match redirect.target(&connection.path, origin) {
            Ok(path) if count <= MAX_REDIRECTS => path,
            Ok(_) => return self.complete(slot, at, Err(ErrorKind::RedirectLimit), keep),
            Err(kind) => return self.complete(slot, at, Err(kind), keep),
        };
        let as_get = last.is_some_and(|hop| hop.as_get) || redirect.becomes_get(&request.method);
        connection.path = path;
        connection.hop = Some(Box::new(Hop { count, as_get }));
        self.in_flight -= 1;
        if keep {
            return self.send_redirected(slot, at.now);
        }
        let connection = &mut self.connections[slot];
        connection.pending_ns = Some(connection.intended_ns);
        connection.stage = Stage::Closed;
        self.disown(slot);
        if !self.stopping {
            self.dialer.enqueue(slot);
        }
        Next::Close
    }

    /// Sends a request to where it was redirected.
    pub fn send_redirected(&mut self, slot: Slot, now: u64) -> Next {
        let id = self.config.connection_id(slot);
        let connection = &mut self.connections[slot];
        let as_get = connection.hop.as_ref().is_some_and(|hop| hop.as_get);
        let number = connection.number;
        let bytes = self
            .codec
            .encode_redirected(&connection.path, as_get, id, number);
        connection.stage = Stage::Busy;
        connection.since_ns = now;
        connection.decoder = self.codec.decoder(&bytes, now);
        self.in_flight += 1;
        self.recorder.record.bytes_out += bytes.len() as u64;
        Next::Send(bytes)
    }
}
