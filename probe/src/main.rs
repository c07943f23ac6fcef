//! `ringside-probe` carries out trials, loads and upstreams.

use std::process::ExitCode;

fn main() -> ExitCode {
    trial::program::main("ringside-probe", Some(&engine::ENGINE))
}
