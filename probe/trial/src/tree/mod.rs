//! The processes of a trial: who they are, where they live, and their end.

pub mod cgroup;
pub mod listener;
pub mod namespace;
pub mod processes;
pub mod procfs;
pub mod supervise;
