//! How a program starts.

// In children of the probe.
#[allow(unsafe_code)]
mod child;
pub mod inherited;
pub mod launch;
pub mod launcher;
