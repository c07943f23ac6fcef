//! A program's output, and the verdict on it.

pub mod evidence;
pub mod pipe;
pub mod protocol_line;
pub mod stdout;
pub mod verdict;
