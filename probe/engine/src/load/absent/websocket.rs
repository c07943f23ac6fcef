//! Stands in for WebSockets in a build without them: no session exists.

use super::handler::{End, LayeredHandler};
use crate::io::{Arrival, Handler, Slot};
use crate::load::plan::Plan;
use std::convert::Infallible;

pub struct WebSocketPlan(Infallible);

impl WebSocketPlan {
    pub fn new(_: &Plan) -> Result<Option<WebSocketPlan>, String> {
        Ok(None)
    }
}

pub struct WebSocket(Infallible);

impl WebSocket {
    pub fn begin(plan: &WebSocketPlan, _: u64, _: &mut Vec<u8>) -> WebSocket {
        match plan.0 {}
    }
    pub fn send(&self, _: &[u8], _: &mut Vec<u8>) -> bool {
        match self.0 {}
    }
}

impl<H: Handler> LayeredHandler<'_, H> {
    pub fn messages(
        &mut self,
        _: Slot,
        session: &mut WebSocket,
        _: &[u8],
        _: Arrival,
        _: &mut Vec<u8>,
    ) -> Result<(), End> {
        match session.0 {}
    }
}
