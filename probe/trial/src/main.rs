//! `ringside-probe-trial` carries out trials without loads; it is built in a fraction of the time of `ringside-probe`.

use std::process::ExitCode;

fn main() -> ExitCode {
    trial::program::main("ringside-probe-trial", None)
}
