//! Where a program may leave files, counted and removed.

pub mod places;
pub mod removal;
pub mod shared_memory;
pub mod temporary;
