//! Balances in as many parts as there are threads, and audits over all of them.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::yield_now;

const OPENING_BALANCE: i64 = 1000;
/// So many looks at the other threads before the kernel may let them run.
const LOOKS: u32 = 1000;

/// An auditor's observations. `first`, `last`: how many transfers had been counted.
#[derive(Clone, Default)]
pub struct Auditor {
    pub audits: u64,
    pub wrong: u64,
    pub first: u64,
    pub last: u64,
}

pub struct Bank {
    /// Only its own thread writes a part, so no instruction is one that locks.
    parts: Vec<Vec<AtomicI64>>,
    /// The thread that has the auditors makes an audit; no unit begins to transfer again meanwhile.
    auditors: Mutex<Vec<Auditor>>,
    pausing: AtomicBool,
    /// Threads that make no transfer, until they have had `auditors`.
    stopped: AtomicUsize,
    counted: AtomicU64,
}

/// A thread's place at the bank. It has stopped for good when it is dropped.
pub struct Seat<'a> {
    bank: &'a Bank,
    own: &'a [AtomicI64],
}

impl Bank {
    pub fn new(accounts: usize, auditors: usize, threads: usize) -> Self {
        let part = |balance| (0..accounts).map(|_| AtomicI64::new(balance)).collect();
        let opening = |thread| if thread == 0 { OPENING_BALANCE } else { 0 };
        Bank {
            parts: (0..threads).map(|thread| part(opening(thread))).collect(),
            auditors: Mutex::new(vec![Auditor::default(); auditors]),
            pausing: AtomicBool::new(false),
            stopped: AtomicUsize::new(0),
            counted: AtomicU64::new(0),
        }
    }

    pub fn seat(&self, thread: usize) -> Seat<'_> {
        Seat {
            bank: self,
            own: &self.parts[thread],
        }
    }

    /// The final balances, and what the auditors saw.
    pub fn closed(&self) -> (impl Iterator<Item = i64> + '_, Vec<Auditor>) {
        let auditors = self.auditors.lock().expect("no thread panics").clone();
        let balances = (0..self.parts[0].len()).map(|account| self.balance(account));
        (balances, auditors)
    }

    fn balance(&self, account: usize) -> i64 {
        let parts = self.parts.iter();
        parts
            .map(|part| part[account].load(Ordering::Relaxed))
            .sum()
    }

    /// Stops until no audit is made.
    fn stop(&self) -> MutexGuard<'_, Vec<Auditor>> {
        self.stopped.fetch_add(1, Ordering::Release);
        let auditors = self.auditors.lock().expect("no thread panics");
        self.stopped.fetch_sub(1, Ordering::Relaxed);
        auditors
    }
}

impl Seat<'_> {
    #[inline(always)]
    pub fn transfer(&self, source: usize, target: usize, amount: i64) {
        if self.bank.pausing.load(Ordering::Relaxed) {
            drop(self.bank.stop());
        }
        add(&self.own[source], -amount);
        add(&self.own[target], amount);
    }

    /// An audit by that auditor, after so many more transfers.
    #[inline(never)]
    pub fn audit(&self, auditor: usize, transfers: u64) {
        let bank = self.bank;
        bank.counted.fetch_add(transfers, Ordering::Relaxed);
        let mut auditors = bank.stop();
        bank.pausing.store(true, Ordering::Relaxed);
        let mut looks = 0;
        while bank.stopped.load(Ordering::Acquire) + 1 < bank.parts.len() {
            looks += 1;
            if looks % LOOKS == 0 {
                yield_now();
            }
            spin_loop();
        }
        let accounts = bank.parts[0].len();
        let total: i64 = (0..accounts).map(|account| bank.balance(account)).sum();
        bank.pausing.store(false, Ordering::Relaxed);
        let seen = &mut auditors[auditor];
        seen.last = bank.counted.load(Ordering::Relaxed);
        if seen.audits == 0 {
            seen.first = seen.last;
        }
        seen.audits += 1;
        seen.wrong += u64::from(total != accounts as i64 * OPENING_BALANCE);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.bank.stopped.fetch_add(1, Ordering::Release);
    }
}

#[inline(always)]
fn add(balance: &AtomicI64, amount: i64) {
    balance.store(balance.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}
