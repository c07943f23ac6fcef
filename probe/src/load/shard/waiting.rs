//! Between one thing that is due and the next.

use super::alarm::Alarm;
use super::Shard;
use crate::clock::now_ns;
use crate::io::Io;
use std::io;
use std::time::Duration;

/// With so many streams, once all are open, chunks are read together, once in so long: to wake for each would
/// cost more than all else. A lateness can be too large by that.
const LULL_STREAMS: usize = 2000;
const LULL_NS: u64 = 500_000;
/// A look that takes longer was cut off by somebody else: no more of it counts as waiting.
const MOST_LOOK_NS: u64 = 10_000;

impl Shard {
    /// One turn of the back-end, which ends when something comes, and else at an instant.
    pub(super) fn wait_until<I: Io>(
        &mut self,
        wake: u64,
        alarm: &mut Alarm,
        io: &mut I,
    ) -> io::Result<()> {
        let mut begun = now_ns();
        if self.takes_lulls() {
            let lull = wake.min(self.heard_ns + LULL_NS).saturating_sub(begun);
            if lull > 0 {
                std::thread::sleep(Duration::from_nanos(lull));
                begun = now_ns();
            }
        }
        let wait = alarm.wait(wake.saturating_sub(begun));
        if wait.is_zero() && begun < wake {
            return self.look_until(wake, begun, io);
        }
        let heard = self.heard_ns;
        io.turn(wait, self)?;
        let mut now = now_ns();
        let woken = if self.heard_ns == heard {
            now
        } else {
            self.heard_ns
        };
        let took = woken.saturating_sub(begun);
        // Something came before; what comes after the time was over came while the wake was late.
        if wait.is_zero() || took < wait.as_nanos() as u64 {
            return Ok(());
        }
        alarm.rang(wait, took);
        let rang = now;
        while now < wake && alarm.is_near(wake - now) {
            std::hint::spin_loop();
            now = now_ns();
        }
        self.looked_ns += now - rang;
        Ok(())
    }

    /// What is due next is nearer than a sleep is long: looks whether something came, again and again. Takes all of
    /// a CPU, and yet is waiting.
    fn look_until<I: Io>(&mut self, wake: u64, mut begun: u64, io: &mut I) -> io::Result<()> {
        let heard = self.heard_ns;
        while begun < wake {
            io.turn(Duration::ZERO, self)?;
            if self.heard_ns != heard {
                break;
            }
            let now = now_ns();
            self.looked_ns += (now - begun).min(MOST_LOOK_NS);
            begun = now;
        }
        Ok(())
    }

    /// Whether there is nothing to do but to read many streams.
    fn takes_lulls(&self) -> bool {
        self.exchange.streams()
            && self.connections.len() >= LULL_STREAMS
            && self.connecting == 0
            && self.ramp.peek().is_none()
    }
}
