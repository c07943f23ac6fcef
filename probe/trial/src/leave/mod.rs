//! Counts and removes the files that a program leaves behind.

pub mod places;
pub mod removal;
pub mod shared_memory;
pub mod temporary;
