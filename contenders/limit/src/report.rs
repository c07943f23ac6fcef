//! Protocol lines.

use std::io::{self, Write};

/// A line of the protocol: whoever reads it shall have it at once.
pub fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
