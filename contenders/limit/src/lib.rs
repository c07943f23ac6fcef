//! What the programs share: their arguments, their protocol lines, and the frame of the servers.
#![deny(unsafe_code)]

pub mod mailbox;
pub mod opaque;
pub mod poll;
pub mod report;
pub mod server;
pub mod settings;
pub mod slab;
