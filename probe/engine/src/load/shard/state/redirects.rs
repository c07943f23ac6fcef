//! Redirects within the server: the request goes on, to another path, on this connection or on a new one. Its latency
//! ends with the final reply, and the time-out is for each reply.

use super::{Instants, Shard};
use crate::io::{Next, Slot};
use crate::load::cookies::Source;
use crate::load::error::ErrorKind;
use crate::load::http_request::RedirectedRequest;
use crate::load::redirect::{Origin, Redirect, MAX_REDIRECTS};
use crate::load::shard::connection::Hop;

impl Shard {
    /// A reply is complete, and is a redirect. `keep`: the connection can be used again.
    pub(super) fn redirected(
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
        for field in &redirect.cookies {
            let source = Source {
                host: origin.host,
                secure: origin.secure,
                target: &connection.path,
            };
            connection.cookies.set(field, source);
        }
        let last = connection.hop.take();
        let count = last.map_or(0, |hop| hop.count) + 1;
        let path = match redirect.target(&connection.path, origin) {
            Ok(path) if count <= MAX_REDIRECTS => path,
            Ok(_) => return self.complete(slot, at, Err(ErrorKind::RedirectLimit), keep),
            Err(kind) => return self.complete(slot, at, Err(kind), keep),
        };
        let as_get = last.is_some_and(|hop| hop.as_get) || redirect.becomes_get(&request.method);
        connection.path = path;
        connection.hop = Some(Hop { count, as_get });
        if keep {
            self.in_flight -= 1;
            return self.send_redirected(slot, at.now);
        }
        self.send_later(slot, at.now);
        Next::Close
    }

    /// Sends a request to where it was redirected.
    pub(super) fn send_redirected(&mut self, slot: Slot, now: u64) -> Next {
        let id = self.config.connection_id(slot);
        let connection = &mut self.connections[slot];
        let as_get = connection.hop.is_some_and(|hop| hop.as_get);
        let hop = RedirectedRequest {
            path: &connection.path,
            as_get,
            cookies: &connection.cookies,
        };
        let bytes = self.encoder.encode_redirected(hop, id, connection.number);
        self.send(slot, bytes, now, now)
    }
}
