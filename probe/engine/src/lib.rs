//! Loads of servers, and upstreams of gateways.
#![deny(unsafe_code)]

pub mod io;
pub mod load;
pub mod load_runner;
pub mod remote;
pub mod stub;
pub mod work;

use trial::loads::Engine;

/// The engine, as the program has it.
pub const ENGINE: Engine =
    Engine { loads: |service| Ok(Box::new(load_runner::LoadRunner::parse(service)?)), run: work::run };
