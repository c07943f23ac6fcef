//! One trial: a program is started, measured, judged, and ended with all that it started.
#![deny(unsafe_code)]

pub mod inputs;
pub mod interference;
pub mod leave;
pub mod loads;
pub mod program;
pub mod reference;
pub mod run;
pub mod sample;
pub mod says;
pub mod service;
pub mod session;
pub mod start;
#[cfg(test)]
mod test_folder;
pub mod tree;
