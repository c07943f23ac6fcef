use std::collections::VecDeque;
use std::time::Instant;

const PLACES: usize = 30;

#[derive(Clone)]
struct Unit {
    head: usize,
    length: usize,
    places: [i64; PLACES],
    ready: bool,
}

impl Unit {
    fn push(&mut self, value: i64) {
        let tail = self.head + self.length;
        self.places[if tail < PLACES { tail } else { tail - PLACES }] = value;
        self.length += 1;
    }

    fn pop(&mut self) -> i64 {
        let value = self.places[self.head];
        self.head = if self.head + 1 == PLACES { 0 } else { self.head + 1 };
        self.length -= 1;
        value
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|text| text.parse().unwrap()).collect();
    let (n, m) = (arguments[0], arguments[1]);
    let empty = Unit { head: 0, length: 0, places: [0; PLACES], ready: false };
    let mut units = vec![empty; n + 1];
    let mut ready = VecDeque::with_capacity(n + 1);
    let (mut unsent, mut checksum, mut order) = (m as i64, 0, 0);

    let start = Instant::now();
    ready.push_back(0);
    while let Some(i) = ready.pop_front() {
        units[i].ready = false;
        if i == n {
            while units[n].length > 0 {
                let value = units[n].pop();
                checksum += value;
                order = (31 * order + value) % 2147483647;
            }
        } else {
            let (before, after) = units.split_at_mut(i + 1);
            let (unit, next) = (&mut before[i], &mut after[0]);
            if i == 0 {
                while unsent > 0 && next.length < PLACES {
                    unsent -= 1;
                    next.push(unsent);
                }
            } else {
                while unit.length > 0 && next.length < PLACES {
                    let value = unit.pop();
                    next.push(value + i as i64);
                }
            }
            if next.length > 0 && !next.ready {
                next.ready = true;
                ready.push_back(i + 1);
            }
        }
        // Room has been made: who stands before may go on.
        if i > 0 {
            let previous = &mut units[i - 1];
            let waits = if i == 1 { unsent > 0 } else { previous.length > 0 };
            if waits && !previous.ready {
                previous.ready = true;
                ready.push_back(i - 1);
            }
        }
    }
    let elapsed = start.elapsed();
    assert!(order >= 0);
    println!("{} {}", elapsed.as_nanos(), checksum);
}
