//! The calls of a gateway to its upstreams, for kind=io and mixed.

use limit::slab::Key;

use super::{Gateway, Kind, Peer, Piece, Unit};
use crate::call::{Call, Outcome, Owner};

/// The status of an upstream that fails.
pub(super) const FAILED: u16 = 400;

impl Gateway {
    /// Calls an upstream, on an idle connection where there is one.
    pub(super) fn call(&mut self, number: usize, owner: Owner, id: Option<&[u8]>) {
        while let Some(key) = self.idle[number].pop() {
            let upstream = match &self.kind {
                Kind::Io { upstreams, .. } => &upstreams[number],
                Kind::Cpu(_) => return,
            };
            let begun = match self.peers.get(key) {
                Some(Peer::Call(call)) => call.again(upstream, owner, id, &self.poll, key),
                _ => continue,
            };
            if begun.is_ok() {
                return self.note_call(owner, number, key);
            }
            self.peers.remove(key);
        }
        if let Kind::Io { upstreams, .. } = &self.kind {
            let mut request = Vec::new();
            upstreams[number].write_request(id, &mut request);
            self.connect(number, owner, request);
        }
    }

    fn connect(&mut self, number: usize, owner: Owner, request: Vec<u8>) {
        let upstream = match &self.kind {
            Kind::Io { upstreams, .. } => &upstreams[number],
            Kind::Cpu(_) => return,
        };
        let call = match Call::new(upstream, number, owner, request) {
            Ok(call) => call,
            Err(_) => return self.called(owner, FAILED),
        };
        let key = self.peers.insert(Peer::Call(call));
        let registered = match self.peers.get(key) {
            Some(Peer::Call(call)) => call.register(&self.poll, key),
            _ => return,
        };
        if registered.is_err() {
            self.peers.remove(key);
            return self.called(owner, FAILED);
        }
        self.note_call(owner, number, key);
    }

    fn note_call(&mut self, owner: Owner, number: usize, key: Key) {
        if let Some(answer) = self.answer(owner) {
            answer.calls[number] = Some(key);
        }
    }

    pub(super) fn follow(&mut self, key: Key, owner: Owner, outcome: Outcome) {
        let status = match outcome {
            Outcome::Pending => return,
            Outcome::Done { status, keep } => {
                if !keep {
                    self.peers.remove(key);
                } else if let Some(Peer::Call(call)) = self.peers.get(key) {
                    call.owner = None;
                    self.idle[call.upstream].push(key);
                }
                status
            }
            Outcome::Failed => {
                self.peers.remove(key);
                FAILED
            }
            Outcome::Stale => {
                if let Some(Peer::Call(call)) = self.peers.remove(key) {
                    self.connect(call.upstream, owner, call.into_request());
                }
                return;
            }
        };
        self.called(owner, status);
    }

    /// A call has come to its end.
    pub(super) fn called(&mut self, owner: Owner, status: u16) {
        let sum = match self.kind {
            Kind::Io { sum, .. } => sum,
            Kind::Cpu(_) => None,
        };
        let status = Some(status);
        match sum {
            None => self.found.push_back((owner, Piece { status, sum: None })),
            Some(sum) => self.deal(Unit {
                thread: self.this,
                owner,
                sum,
                status,
            }),
        }
    }

    /// Closes the connections of calls that are still this owner's, and says how
    /// many there were.
    pub(super) fn abandon(&mut self, calls: &[Option<Key>], owner: Owner) -> usize {
        let mut abandoned = 0;
        for key in calls.iter().flatten() {
            if let Some(Peer::Call(call)) = self.peers.get(*key) {
                if call.owner == Some(owner) {
                    self.peers.remove(*key);
                    abandoned += 1;
                }
            }
        }
        abandoned
    }
}
