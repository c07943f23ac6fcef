//! Loads of servers, and upstreams of gateways.
#![deny(unsafe_code)]

pub mod io;
pub mod load;
pub mod load_runner;
pub mod remote;
pub mod stub;
pub mod work;

use serde::de::DeserializeOwned;
use trial::loads::Engine;

/// The engine, as the program has it.
pub const ENGINE: Engine =
    Engine { loads: |service| Ok(Box::new(load_runner::LoadRunner::parse(service)?)), run: work::run };

/// A value from its JSON. The error is one line, though keys that it names are the text's.
pub(crate) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| error.to_string().replace(['\n', '\r'], " "))
}
