//! The recursion. As a plain function it takes twice as long here as in C, whose compilers inline some of its calls.

use limit::opaque::opaque;

/// The definition, with the calls of six levels in one body. Each is carried out: from plain numbers the compiler would
/// compute once what two calls have in common, and the contract excludes that.
pub fn fib(n: u64) -> u64 {
    six(n)
}

macro_rules! level {
    ($name:ident, $below:ident) => {
        #[inline(always)]
        fn $name(n: u64) -> u64 {
            let n = opaque(n);
            if n <= 2 {
                1
            } else {
                $below(n - 1) + $below(n - 2)
            }
        }
    };
}

level!(one, fib);
level!(two, one);
level!(three, two);
level!(four, three);
level!(five, four);
level!(six, five);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_its_definition() {
        assert_eq!((fib(1), fib(2)), (1, 1));
        assert!((3..30).all(|n| fib(n) == fib(n - 1) + fib(n - 2)));
        assert_eq!(fib(30), 832_040);
    }
}
