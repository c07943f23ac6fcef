//! The main thread's work meanwhile: it beats, and gathers the answers.

use std::thread;
use std::time::{Duration, Instant};

use crate::background::Background;
use crate::heartbeat::Heartbeat;
use crate::job::order;

/// All answers and beats so far.
#[derive(Default)]
pub struct Evidence {
    pub answers: usize,
    pub order: u64,
    pub beats: u64,
}

/// Gathers all answers in the order of the jobs. It looks for them when a beat is due and
/// when the last is there: to be woken for each would cost more than a job. Gives when the
/// last was there, and the longest time between two beats.
pub fn gather(
    background: &Background,
    submitted: Instant,
    evidence: &mut Evidence,
) -> (Instant, Duration) {
    let mut heartbeat = Heartbeat::new(submitted);
    let mut answers = 0;
    loop {
        // Asked before it looks: an answer that came in between is not missed.
        let finished = background.is_finished();
        while let Some(answer) = background.answer(answers) {
            evidence.order = order(evidence.order, answer);
            answers += 1;
        }
        let now = Instant::now();
        if finished {
            heartbeat.end(now);
            evidence.answers += answers;
            evidence.beats += heartbeat.beats;
            return (now, heartbeat.gap);
        }
        heartbeat.beat_if_due(now);
        thread::park_timeout(heartbeat.rest(now));
    }
}
