//! Loads of servers, and upstreams of gateways.

pub mod io;
pub mod load;
pub mod load_runner;
pub mod remote;
pub mod stub;
