//! One core: a loop needs no queue and no other thread.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use crate::input::{Block, Input};
use crate::solver::Solver;
use crate::{timed, Fault, Told, WRITE_BYTES};

pub fn run(mut input: Input) -> Result<Told, Fault> {
    let (mut block, mut answers) = (Block::new(), Vec::new());
    let mut solver = Solver::default();
    let mut out = BufWriter::with_capacity(WRITE_BYTES, io::stdout().lock());
    let (mut compute, mut write) = (Duration::ZERO, Duration::ZERO);
    while input.fill(&mut block)? {
        answers.clear();
        timed(&mut compute, || solver.solve(&block, &mut answers))?;
        timed(&mut write, || out.write_all(&answers))?;
    }
    timed(&mut write, || out.flush())?;
    Ok(Told {
        cases: input.cases,
        phases: vec![("read", input.busy), ("compute", compute), ("write", write)],
    })
}
