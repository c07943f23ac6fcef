//! Stands in for patterns in a build without them: no reply is compared with one.

use std::convert::Infallible;

#[derive(Clone, Debug)]
pub struct Pattern(Infallible);

impl Pattern {
    pub fn new(_: &str) -> Result<Pattern, String> {
        Err("this build has no patterns".into())
    }
    pub fn text(&self) -> &str {
        match self.0 {}
    }
    pub fn is_match(&self, _: &str) -> bool {
        match self.0 {}
    }
}
