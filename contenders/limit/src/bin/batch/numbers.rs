//! Numbers are made of text here, and answers made into text.

/// A vector's numbers are from -LARGEST to LARGEST.
pub const LARGEST: u32 = 100_000;
/// A vector has at most so many numbers.
pub const MOST_NUMBERS: usize = 1_000_000;
/// A number has at most so many bytes, with its sign and what stands after it.
pub const MOST_BYTES: usize = 8;

/// Text that is taken apart from its front. Nothing is given where it is not as it must be.
pub struct Text<'a>(pub &'a [u8]);

impl Text<'_> {
    /// A case's size, on a line of its own.
    pub fn size(&mut self) -> Option<usize> {
        let size = self.digits()? as usize;
        self.skip(b'\n')?;
        (size <= MOST_NUMBERS).then_some(size)
    }

    /// A line with so many numbers, one space between two. A number is raised by LARGEST, so
    /// that none is negative.
    pub fn vector(&mut self, size: usize, raised: &mut Vec<u32>) -> Option<()> {
        raised.clear();
        for place in 1..=size {
            raised.push(self.number()?);
            self.skip(if place < size { b' ' } else { b'\n' })?;
        }
        match size {
            0 => self.skip(b'\n'),
            _ => Some(()),
        }
    }

    #[inline]
    fn number(&mut self) -> Option<u32> {
        // Signs come as chance will have it: nothing is done for one that could be guessed wrong.
        let negative = *self.0.first()? == b'-';
        self.0 = &self.0[usize::from(negative)..];
        let magnitude = self.digits().filter(|&magnitude| magnitude <= LARGEST)?;
        Some(match negative {
            true => LARGEST - magnitude,
            false => LARGEST + magnitude,
        })
    }

    /// Up to seven digits.
    #[inline]
    fn digits(&mut self) -> Option<u32> {
        let (mut value, mut length) = (0, 0);
        for byte in self.0.iter().take(MOST_BYTES - 1) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = 10 * value + u32::from(digit);
            length += 1;
        }
        self.0 = &self.0[length..];
        (length > 0).then_some(value)
    }

    #[inline]
    fn skip(&mut self, wanted: u8) -> Option<()> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        (first == wanted).then_some(())
    }
}

/// `Case #i: y`
pub fn answer(out: &mut Vec<u8>, case: u64, answer: i64) {
    out.extend_from_slice(b"Case #");
    decimal(out, case);
    out.extend_from_slice(if answer < 0 { b": -" } else { b": " });
    decimal(out, answer.unsigned_abs());
    out.push(b'\n');
}

fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(size: usize, line: &str) -> Option<Vec<i64>> {
        let (mut text, mut raised) = (Text(line.as_bytes()), vec![9, 9]);
        text.vector(size, &mut raised)?;
        assert_eq!(text.0, b"");
        let lowered = |number| i64::from(number) - i64::from(LARGEST);
        Some(raised.into_iter().map(lowered).collect())
    }

    #[test]
    fn vectors_are_read() {
        assert_eq!(vector(0, "\n"), Some(vec![]));
        assert_eq!(vector(1, "7\n"), Some(vec![7]));
        assert_eq!(
            vector(4, "-100000 100000 0 -1\n"),
            Some(vec![-100_000, 100_000, 0, -1])
        );
    }

    #[test]
    fn what_is_no_vector_is_none() {
        for line in [
            "",
            "\n",
            "1\n",
            "1 \n",
            "1 2",
            "1 2 3\n",
            "1 2 \n",
            "1  2\n",
            " 1 2\n",
            "1\n2\n",
            "1 x\n",
            "1 -\n",
            "1 --2\n",
            "1 +2\n",
            "1 2.0\n",
            "1 2\r\n",
            "1\t2\n",
            "1 100001\n",
            "1 -100001\n",
            "1 1000000\n",
            "1 10000000\n",
            "1 18446744073709551616\n",
            "1 ٣\n",
        ] {
            assert_eq!(vector(2, line), None, "{line:?}");
        }
        assert_eq!(vector(0, "1\n"), None);
        assert_eq!(vector(0, ""), None);
    }

    #[test]
    fn sizes_are_read() {
        let size = |line: &str| Text(line.as_bytes()).size();
        assert_eq!(size("0\n"), Some(0));
        assert_eq!(size("1000000\n"), Some(MOST_NUMBERS));
        for line in [
            "",
            "\n",
            "1",
            "-1\n",
            "1000001\n",
            "10000000\n",
            "1 \n",
            "a\n",
        ] {
            assert_eq!(size(line), None, "{line:?}");
        }
    }

    #[test]
    fn answers_are_written() {
        let mut out = Vec::new();
        for (case, y) in [(1, 0), (10, -25), (u64::MAX, i64::MIN), (99, i64::MAX)] {
            answer(&mut out, case, y);
            let line = format!("Case #{case}: {y}\n");
            assert_eq!(std::str::from_utf8(&out), Ok(line.as_str()));
            out.clear();
        }
    }
}
