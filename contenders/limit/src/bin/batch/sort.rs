//! Sorting of a vector's numbers.

/// Numbers that are sorted have at most so many bits: 0 … 200,000.
const BITS: u32 = 18;
const DIGIT_BITS: u32 = BITS / 2;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Fewer numbers are sorted sooner by comparing them than the digits' counts are added up.
const FEW: usize = 80;

/// A radix sort, by the lower digit, then the upper one. The numbers are below 2^18; `spare`
/// is memory, which is kept from one vector to the next.
pub fn sort(numbers: &mut [u32], spare: &mut Vec<u32>) {
    if numbers.len() < FEW {
        return numbers.sort_unstable();
    }
    spare.resize(numbers.len(), 0);
    let (mut lower, mut upper) = ([0; DIGITS], [0; DIGITS]);
    for &number in &*numbers {
        lower[low(number)] += 1;
        upper[high(number)] += 1;
    }
    counts_to_places(&mut lower);
    counts_to_places(&mut upper);
    deal(numbers, spare, &mut lower, low);
    deal(spare, numbers, &mut upper, high);
}

#[inline]
fn low(number: u32) -> usize {
    number as usize % DIGITS
}

#[inline]
fn high(number: u32) -> usize {
    (number >> DIGIT_BITS) as usize % DIGITS
}

/// From how often a digit occurs to the place of the first number that has it.
fn counts_to_places(counts: &mut [u32; DIGITS]) {
    let mut place = 0;
    for count in counts {
        let next = place + *count;
        *count = place;
        place = next;
    }
}

#[inline]
fn deal(from: &[u32], to: &mut [u32], places: &mut [u32; DIGITS], digit: fn(u32) -> usize) {
    for &number in from {
        let place = &mut places[digit(number)];
        to[*place as usize] = number;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_library_does() {
        let mut state = 1;
        let mut random = || {
            state = state * 48271 % 2_147_483_647_u64;
            state as u32
        };
        let mut spare = Vec::new();
        for size in [0, 1, 2, FEW - 1, FEW, FEW + 1, 5000, 200] {
            for different in [1, 2, 1000, 200_001, 1 << BITS] {
                let mut numbers: Vec<u32> = (0..size).map(|_| random() % different).collect();
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                sort(&mut numbers, &mut spare);
                assert_eq!(numbers, sorted);
            }
        }
    }
}
