//! The floor for accounts: nothing is shared. Each thread makes the transfers of its units in balances of its
//! own; an account's balance is the sum over all threads, and an audit stops them between two transfers.
#![forbid(unsafe_code)]

mod bank;

use std::io;
use std::process::exit;
use std::thread;
use std::time::Instant;

use limit::report;
use limit::settings::{self, Given};

use bank::{Bank, Seat};

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;
/// A unit reads the clock before and after one of so many transfers.
const TIMED: u64 = 16;

struct Settings {
    accounts: usize,
    units: u64,
    transfers: u64,
    auditors: usize,
    every: u64,
    hot: u64,
    seed: u64,
    cores: usize,
    hold: bool,
    repeats: u64,
}

/// A unit's generator and its place in the work.
struct Unit {
    drawn: u64,
    made: u64,
    turn: usize,
}

/// The results of a thread's units.
#[derive(Default)]
struct Times {
    made: u64,
    transfer_ns: Vec<u64>,
    audit_ns: Vec<u64>,
}

fn main() {
    let settings = settings::read("accounts", settings);
    if let Err(error) = run(&settings) {
        eprintln!("accounts: {error}");
        exit(1);
    }
}

fn settings(given: &Given) -> Result<Settings, String> {
    Ok(Settings {
        accounts: given.whole_number("accounts", 2, 100_000)? as usize,
        units: given.whole_number("units", 1, 10_000)?,
        transfers: given.whole_number("transfers", 1, 1_000_000)?,
        auditors: given.whole_number("auditors", 1, 1000)? as usize,
        every: given.whole_number("every", 1, 1_000_000)?,
        hot: given.whole_number_or("hot", 0, 100, 0)?,
        seed: given.whole_number_or("seed", 0, u64::from(u32::MAX), 0)?,
        cores: given.cores()?,
        hold: given.one_of("hold", ["0", "1"])? == "1",
        repeats: given.repeats()?,
    })
}

fn run(settings: &Settings) -> io::Result<()> {
    let (mut folded, mut made, mut audits, mut wrong) = (0, 0, 0, 0);
    let mut last = None;
    for time in 0..settings.repeats {
        let bank = Bank::new(settings.accounts, settings.auditors, settings.cores);
        if settings.hold && time == 0 {
            report::line("::await name=opened")?;
            io::stdin().read_line(&mut String::new())?;
        }
        let begin = Instant::now();
        let times = all_units(settings, &bank);
        report::line(&format!("::phase name=transfer ns={}", ns_since(begin)))?;
        let (balances, auditors) = bank.closed();
        folded = balances.fold(folded, |folded, balance| {
            (31 * folded + balance.rem_euclid(MODULUS as i64) as u64) % MODULUS
        });
        made += times.made;
        audits += auditors.iter().map(|auditor| auditor.audits).sum::<u64>();
        wrong += auditors.iter().map(|auditor| auditor.wrong).sum::<u64>();
        last = Some((times, auditors));
    }
    let (times, auditors) = last.expect("one repeat at least");
    let joined = |counts: Vec<u64>| {
        let texts: Vec<String> = counts.iter().map(u64::to_string).collect();
        texts.join(",")
    };
    report::line(&format!(
        "::result balances={folded} transfers={made} audits={audits} wrong={wrong} first={} last={} {} {}",
        joined(auditors.iter().map(|auditor| auditor.first).collect()),
        joined(auditors.iter().map(|auditor| auditor.last).collect()),
        percentiles("transfer", times.transfer_ns),
        percentiles("audit", times.audit_ns),
    ))
}

/// Every thread has one of so many units.
fn all_units(settings: &Settings, bank: &Bank) -> Times {
    let own = |thread: u64| {
        let units = (thread..settings.units).step_by(settings.cores);
        let units = units.map(|unit| Unit {
            drawn: 1 + (settings.seed + unit) % (MODULUS - 1),
            made: 0,
            turn: unit as usize,
        });
        work(settings, units.collect(), bank.seat(thread as usize))
    };
    let own = &own;
    thread::scope(|scope| {
        let others: Vec<_> = (1..settings.cores as u64)
            .map(|thread| scope.spawn(move || own(thread)))
            .collect();
        let mut times = own(0);
        for other in others {
            let more = other.join().expect("no thread panics");
            times.made += more.made;
            times.transfer_ns.extend(more.transfer_ns);
            times.audit_ns.extend(more.audit_ns);
        }
        times
    })
}

/// The units take turns: a turn ends with an audit, or with the unit's last transfer.
fn work(settings: &Settings, mut units: Vec<Unit>, seat: Seat) -> Times {
    let mut times = Times::default();
    while !units.is_empty() {
        for unit in &mut units {
            for _ in 0..settings.every.min(settings.transfers - unit.made) {
                transfer(settings, unit, &seat, &mut times);
            }
            if unit.made % settings.every == 0 {
                let begin = Instant::now();
                seat.audit(unit.turn % settings.auditors, settings.every);
                times.audit_ns.push(ns_since(begin));
                unit.turn += 1;
            }
        }
        units.retain(|unit| {
            let goes_on = unit.made < settings.transfers;
            times.made += if goes_on { 0 } else { unit.made };
            goes_on
        });
    }
    times
}

#[inline(always)]
fn transfer(settings: &Settings, unit: &mut Unit, seat: &Seat, times: &mut Times) {
    let mut draw = || {
        unit.drawn = FACTOR * unit.drawn % MODULUS;
        unit.drawn
    };
    // A division of 32 bits takes less time.
    let (number, source, target) = (draw() as u32, draw() as u32, draw() as u32);
    let accounts = settings.accounts as u32;
    let source = match number / 1000 % 100 < settings.hot as u32 {
        true => 0,
        false => source % accounts,
    };
    let target = target % (accounts - 1);
    let target = target + u32::from(target >= source);
    let amount = 1 + i64::from(number % 1000);
    if unit.made % TIMED == 0 {
        let begin = Instant::now();
        seat.transfer(source as usize, target as usize, amount);
        times.transfer_ns.push(ns_since(begin));
    } else {
        seat.transfer(source as usize, target as usize, amount);
    }
    unit.made += 1;
}

/// The smallest times that so many percent do not exceed; 0 where there is none.
fn percentiles(name: &str, mut times_ns: Vec<u64>) -> String {
    times_ns.sort_unstable();
    let at = |percent: usize| match times_ns.len() {
        0 => 0,
        many => times_ns[(many * percent + 99) / 100 - 1],
    };
    format!(
        "{name}_p50_ns={} {name}_p99_ns={} {name}_max_ns={}",
        at(50),
        at(99),
        at(100)
    )
}

fn ns_since(begin: Instant) -> u64 {
    begin.elapsed().as_nanos() as u64
}
