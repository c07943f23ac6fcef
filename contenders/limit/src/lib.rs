//! What the programs share: their arguments, and the frame of the two servers.
#![deny(unsafe_code)]

pub mod mailbox;
pub mod poll;
pub mod server;
pub mod settings;
pub mod slab;
