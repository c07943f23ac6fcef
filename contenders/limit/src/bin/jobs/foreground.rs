//! What the main thread does meanwhile: it beats, and gathers the answers.

use std::thread;
use std::time::{Duration, Instant};

use crate::background::Background;
use crate::heartbeat::Heartbeat;
use crate::job::order;

pub struct Gathered {
    pub answers: usize,
    pub order: u64,
    pub beats: u64,
    pub gap: Duration,
    /// When the last answer was there.
    pub ended: Instant,
}

/// Gathers all answers in the order of the jobs. It looks for them when a beat is due and
/// when the last is there: to be woken for each would cost more than a job.
pub fn gather(background: &Background, submitted: Instant) -> Gathered {
    let mut heartbeat = Heartbeat::new(submitted);
    let (mut answers, mut evidence) = (0, 0);
    loop {
        // Asked before it looks: an answer that came in between is not missed.
        let finished = background.is_finished();
        while let Some(answer) = background.answer(answers) {
            evidence = order(evidence, answer);
            answers += 1;
        }
        let now = Instant::now();
        if finished {
            heartbeat.end(now);
            return Gathered {
                answers,
                order: evidence,
                beats: heartbeat.beats,
                gap: heartbeat.gap,
                ended: now,
            };
        }
        heartbeat.beat_if_due(now);
        thread::park_timeout(heartbeat.rest(now));
    }
}
