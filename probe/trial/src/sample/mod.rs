//! Samples of the processes and of the host.

pub mod budget;
pub mod counters;
pub mod high_water;
pub mod host;
pub mod sampler;
pub mod sampling;
pub mod threads;
