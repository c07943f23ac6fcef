//! The probe: carries out trials and loads. `trial` is what a trial without loads needs, `engine` the rest, `wire` what
//! both share.
#![deny(unsafe_code)]

pub mod engine;
pub mod trial;
pub mod wire;
