//! Stands in for HTTP/2 in a build without it: no session exists.

use super::handler::{End, LayeredHandler};
use super::link::{ConnectionIndex, Lane};
use super::Fault;
use crate::io::{Arrival, Handler, Slot};
use crate::load::plan::Http2Plan;
use std::convert::Infallible;
use std::rc::Rc;

pub struct Http2(Infallible);

impl Http2 {
    pub fn feed(&mut self, _: &[u8]) -> Result<(), Fault> {
        match self.0 {}
    }
    pub fn send(&mut self, _: Lane, _: Http2Request) -> bool {
        match self.0 {}
    }
    pub fn cancel(&mut self, _: Lane) {
        match self.0 {}
    }
    pub fn hold(&mut self) {
        match self.0 {}
    }
    pub fn release(&mut self) -> bool {
        match self.0 {}
    }
    pub fn is_leaving(&self) -> bool {
        match self.0 {}
    }
}

pub struct Http2Request;

pub struct Http2Requests;

impl Http2Requests {
    pub fn new(_secure: bool) -> Http2Requests {
        Http2Requests
    }
    pub fn prepare(&mut self, _: &Rc<[u8]>) -> Result<Http2Request, Fault> {
        Ok(Http2Request)
    }
}

impl<H: Handler> LayeredHandler<'_, H> {
    pub fn begin_http2(
        &mut self,
        _: Http2Plan,
        _: ConnectionIndex,
        _: Slot,
        _: &mut Vec<u8>,
    ) -> Result<(), End> {
        Err(End::Closed)
    }
    pub fn streams(
        &mut self,
        _: ConnectionIndex,
        session: &mut Http2,
        _: Arrival,
        _: &mut Vec<u8>,
    ) -> Result<(), End> {
        match session.0 {}
    }
}
