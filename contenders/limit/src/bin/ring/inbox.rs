//! A unit's queue.

/// Places in a queue: with the two counters a unit then takes 256 bytes, four
/// cache lines.
pub const PLACES: usize = 30;

/// A first-in, first-out queue of bounded length, inside the unit itself.
pub struct Inbox {
    head: u32,
    length: u32,
    places: [i64; PLACES],
}

impl Inbox {
    pub fn new() -> Self {
        Inbox {
            head: 0,
            length: 0,
            places: [0; PLACES],
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.length as usize
    }

    #[inline]
    pub fn room(&self) -> usize {
        PLACES - self.len()
    }

    /// The caller has checked that there is room.
    #[inline]
    pub fn push(&mut self, value: i64) {
        let tail = wrap(self.head as usize + self.length as usize);
        self.places[tail] = value;
        self.length += 1;
    }

    /// Moves so many messages to another queue, each with `add` added. The caller has checked that they are
    /// there, and that there is room.
    #[inline]
    pub fn move_to(&mut self, other: &mut Inbox, count: usize, add: i64) {
        let mut from = self.head as usize;
        let mut to = wrap(other.head as usize + other.len());
        for _ in 0..count {
            other.places[to] = self.places[from] + add;
            from = wrap(from + 1);
            to = wrap(to + 1);
        }
        self.head = from as u32;
        self.length -= count as u32;
        other.length += count as u32;
    }

    /// The caller has checked that there is a message.
    #[inline]
    pub fn pop(&mut self) -> i64 {
        let value = self.places[self.head as usize];
        self.head = wrap(self.head as usize + 1) as u32;
        self.length -= 1;
        value
    }
}

#[inline]
fn wrap(place: usize) -> usize {
    if place >= PLACES {
        place - PLACES
    } else {
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_move_from_queue_to_queue() {
        let (mut one, mut other) = (Inbox::new(), Inbox::new());
        let (mut sent, mut received) = (0, 0);
        for burst in (1..=PLACES).cycle().take(200) {
            for _ in 0..burst {
                one.push(sent);
                sent += 1;
            }
            one.move_to(&mut other, burst / 2, 100);
            one.move_to(&mut other, burst - burst / 2, 100);
            assert!(one.is_empty());
            while !other.is_empty() {
                assert_eq!(other.pop(), received + 100);
                received += 1;
            }
        }
        assert_eq!(sent, received);
    }

    #[test]
    fn values_leave_in_the_order_in_which_they_came() {
        let mut inbox = Inbox::new();
        let (mut sent, mut received) = (0, 0);
        for burst in (1..=PLACES).cycle().take(200) {
            for _ in 0..burst {
                inbox.push(sent);
                sent += 1;
            }
            assert_eq!((inbox.len(), inbox.room()), (burst, PLACES - burst));
            while !inbox.is_empty() {
                assert_eq!(inbox.pop(), received);
                received += 1;
            }
            assert!(inbox.is_empty());
        }
        assert_eq!(sent, received);
    }
}
