//! How a program starts.

pub mod clone;
pub mod launch;
pub mod launcher;
pub mod limits;
pub mod spawn;
pub mod spawn_step;
