//! Stands in for TLS in a build without it: no session exists.

use super::Fault;
use crate::load::plan::TlsPlan;
use std::convert::Infallible;

pub struct TlsConfig(Infallible);

impl TlsConfig {
    pub fn new(_: &TlsPlan, _: &[&[u8]]) -> Result<TlsConfig, String> {
        Err("load: tls: this build has none".into())
    }
}

pub struct TlsSession(Infallible);

impl TlsSession {
    pub fn new(config: &TlsConfig) -> Result<TlsSession, Fault> {
        match config.0 {}
    }
    pub fn is_handshaking(&self) -> bool {
        match self.0 {}
    }
    pub fn has_ended(&self) -> bool {
        match self.0 {}
    }
    pub fn protocol(&self) -> Option<&[u8]> {
        match self.0 {}
    }
    pub fn is_resumed(&self) -> bool {
        match self.0 {}
    }
    pub fn description(&self) -> String {
        match self.0 {}
    }
    pub fn decrypt(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), Fault> {
        match self.0 {}
    }
    pub fn encrypt(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), Fault> {
        match self.0 {}
    }
}
