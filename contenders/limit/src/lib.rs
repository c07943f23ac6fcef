//! Shared by the programs: their arguments, their protocol lines, and the frame of the servers.
#![deny(unsafe_code)]

#[cfg(feature = "server")]
pub mod mailbox;
pub mod opaque;
#[cfg(feature = "server")]
pub mod poll;
pub mod report;
#[cfg(feature = "server")]
pub mod server;
pub mod settings;
pub mod slab;
