//! Things by a number that epoll can carry. A number is never used again, so that
//! an event of something that has gone finds nothing.

pub type Key = u64;

pub struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slab<T> {
    pub const fn new() -> Self {
        Slab {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    pub fn insert(&mut self, value: T) -> Key {
        let index = self.free.pop().unwrap_or(self.places.len() as u32);
        if index as usize == self.places.len() {
            self.places.push(Place {
                generation: 0,
                value: None,
            });
        }
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        u64::from(place.generation) << 32 | u64::from(index)
    }

    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key as u32 as usize)?;
        match u64::from(place.generation) == key >> 32 {
            true => place.value.as_mut(),
            false => None,
        }
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let place = &mut self.places[key as u32 as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key as u32);
        place.value.take()
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_good_until_its_value_is_removed() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), Some('a'));
        let c = slab.insert('c');
        assert_eq!(slab.get(a), None);
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.get(b), Some(&mut 'b'));
        assert_eq!(a as u32, c as u32);
        assert_eq!(slab.get(c), Some(&mut 'c'));
        assert_eq!(slab.get(77), None);
    }
}
