//! From the text of cases to the text of their answers.

use crate::input::Block;
use crate::numbers::{answer, Text, LARGEST, MOST_NUMBERS};
use crate::sort::sort;
use crate::Fault;

/// It keeps the memory of a case's vectors for the next.
#[derive(Default)]
pub struct Solver {
    first: Vec<u32>,
    second: Vec<u32>,
    spare: Vec<u32>,
}

impl Solver {
    /// Appends the answers of a block's cases.
    pub fn solve(&mut self, block: &Block, answers: &mut Vec<u8>) -> Result<(), Fault> {
        let mut text = Text(&block.text);
        for case in block.cases.clone() {
            let product = self.smallest_product(&mut text);
            let product = product
                .map_err(|complaint| Fault::Input(format!("case {case}: its {complaint}")))?;
            answer(answers, case, product);
        }
        Ok(())
    }

    fn smallest_product(&mut self, text: &mut Text) -> Result<i64, String> {
        let size = text
            .size()
            .ok_or_else(|| format!("size is not a whole number from 0 to {MOST_NUMBERS}"))?;
        for (name, vector) in [("first", &mut self.first), ("second", &mut self.second)] {
            text.vector(size, vector).ok_or_else(|| {
                let wanted = format!("{size} in number, each from -{LARGEST} to {LARGEST}");
                format!("{name} vector must be whole numbers, {wanted}, one space between two")
            })?;
            sort(vector, &mut self.spare);
        }
        Ok(scalar_product(&self.first, self.second.iter().rev()))
    }
}

fn scalar_product<'a>(one: &[u32], other: impl Iterator<Item = &'a u32>) -> i64 {
    let lowered = |&number: &u32| i64::from(number) - i64::from(LARGEST);
    one.iter()
        .zip(other)
        .map(|(one, other)| lowered(one) * lowered(other))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(text: &str, first: u64, cases: u64) -> Result<String, String> {
        let block = Block {
            text: text.as_bytes().to_vec(),
            cases: first..first + cases,
        };
        let mut answers = Vec::new();
        match Solver::default().solve(&block, &mut answers) {
            Ok(()) => Ok(String::from_utf8(answers).unwrap()),
            Err(Fault::Input(complaint)) => Err(complaint),
            Err(Fault::System(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn cases_are_answered_in_their_order() {
        let text = "3\n1 3 -5\n-2 4 1\n0\n\n\n1\n-100000\n100000\n2\n5 5\n5 5\n";
        let answers = "Case #7: -25\nCase #8: 0\nCase #9: -10000000000\nCase #10: 50\n";
        assert_eq!(solve(text, 7, 4).as_deref(), Ok(answers));
    }

    #[test]
    fn the_largest_case_fits() {
        let vector = |number| vec![number; MOST_NUMBERS].join(" ");
        let (up, down) = (vector("100000"), vector("-100000"));
        let text = format!("{MOST_NUMBERS}\n{up}\n{down}\n");
        let answer = "Case #1: -10000000000000000\n";
        assert_eq!(solve(&text, 1, 1).as_deref(), Ok(answer));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let vector = "vector must be whole numbers, 1 in number, each from -100000 to 100000, \
            one space between two";
        let told = |text| solve(text, 4, 1).unwrap_err();
        assert_eq!(
            told("x\n1\n1\n"),
            "case 4: its size is not a whole number from 0 to 1000000"
        );
        assert_eq!(told("1\nx\n1\n"), format!("case 4: its first {vector}"));
        assert_eq!(told("1\n1\n1 1\n"), format!("case 4: its second {vector}"));
    }
}
