//! One trial: a program is started, measured, judged, and ended with all that it started.

pub mod inputs;
pub mod interference;
pub mod leave;
pub mod reference;
pub mod run;
pub mod sample;
pub mod says;
pub mod service;
pub mod session;
pub mod start;
pub mod tree;
#[cfg(test)]
mod test_folder;
