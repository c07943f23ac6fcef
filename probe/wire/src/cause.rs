//! Why a trial ended.

#[derive(Debug, PartialEq, Eq)]
pub enum Cause {
    /// The program ended by itself.
    Exited,
    NotStarted(String),
    Interrupted(String),
    TimedOut(String),
    OutOfMemory(String),
    Flooded(String),
    NeverReady(String),
    WrongEvidence(String),
    LoadFailed(String),
}
