//! What all parts of the probe share: requests and messages, clocks, signals, affinity.
#![deny(unsafe_code)]

pub mod clock;
pub mod json;
pub mod messages;
pub mod os;
pub mod pin;
pub mod request;
pub mod requests;
pub mod sys;
pub mod text;
pub mod units;
pub mod writer;
