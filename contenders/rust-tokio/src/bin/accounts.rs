//! The accounts: a task for each unit and each auditor. A mutex of the standard library for each account guards its
//! balance; with `sharing=one-lock` one mutex guards all, and with `sharing=owner` a task has them.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rust_tokio::settings::Given;
use rust_tokio::{line_from_stdin, report, run};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;
const OPENING_BALANCE: i64 = 1000;
/// A unit reads the clock before and after one of so many transfers.
const TIMED: u64 = 16;

/// Shared by all units and auditors.
trait Bank: Clone + Send + Sync + 'static {
    fn new(accounts: usize) -> Self;
    fn transfer(
        &self,
        source: usize,
        target: usize,
        amount: i64,
    ) -> impl Future<Output = ()> + Send;
    /// A consistent copy, in the order of the accounts.
    fn balances(&self) -> impl Future<Output = Vec<i64>> + Send;
}

/// A unit takes several locks in the order of the accounts, so that no two wait for each other.
#[derive(Clone)]
struct LockForEach(Arc<[Mutex<i64>]>);

impl Bank for LockForEach {
    fn new(accounts: usize) -> Self {
        LockForEach((0..accounts).map(|_| Mutex::new(OPENING_BALANCE)).collect())
    }

    async fn transfer(&self, source: usize, target: usize, amount: i64) {
        let mut first = lock(&self.0[source.min(target)]);
        let mut second = lock(&self.0[source.max(target)]);
        let (from, to) = match source < target {
            true => (&mut first, &mut second),
            false => (&mut second, &mut first),
        };
        **from -= amount;
        **to += amount;
    }

    async fn balances(&self) -> Vec<i64> {
        let all: Vec<MutexGuard<'_, i64>> = self.0.iter().map(lock).collect();
        all.iter().map(|balance| **balance).collect()
    }
}

#[derive(Clone)]
struct OneLock(Arc<Mutex<Vec<i64>>>);

impl Bank for OneLock {
    fn new(accounts: usize) -> Self {
        OneLock(Arc::new(Mutex::new(vec![OPENING_BALANCE; accounts])))
    }

    async fn transfer(&self, source: usize, target: usize, amount: i64) {
        let mut balances = lock(&self.0);
        balances[source] -= amount;
        balances[target] += amount;
    }

    async fn balances(&self) -> Vec<i64> {
        lock(&self.0).clone()
    }
}

/// A request to the owner, and the place for its answer.
enum Request {
    Transfer(usize, usize, i64, oneshot::Sender<()>),
    Balances(oneshot::Sender<Vec<i64>>),
}

/// A task that alone has the balances. It ends when nobody can ask any more.
#[derive(Clone)]
struct Owner(mpsc::Sender<Request>);

impl Owner {
    async fn ask<A>(&self, request: impl FnOnce(oneshot::Sender<A>) -> Request) -> A {
        let (sender, answer) = oneshot::channel();
        let sent = self.0.send(request(sender)).await;
        assert!(sent.is_ok(), "the owner does not end before");
        answer.await.expect("the owner answers")
    }
}

impl Bank for Owner {
    fn new(accounts: usize) -> Self {
        let (sender, mut requests) = mpsc::channel(32);
        tokio::spawn(async move {
            let mut balances = vec![OPENING_BALANCE; accounts];
            while let Some(request) = requests.recv().await {
                match request {
                    Request::Transfer(source, target, amount, done) => {
                        balances[source] -= amount;
                        balances[target] += amount;
                        let _ = done.send(());
                    }
                    Request::Balances(answer) => {
                        let _ = answer.send(balances.clone());
                    }
                }
            }
        });
        Owner(sender)
    }

    async fn transfer(&self, source: usize, target: usize, amount: i64) {
        self.ask(|done| Request::Transfer(source, target, amount, done))
            .await;
    }

    async fn balances(&self) -> Vec<i64> {
        self.ask(Request::Balances).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with a lock")
}

struct Problem {
    accounts: usize,
    units: u64,
    transfers: u64,
    auditors: usize,
    every: u64,
    hot: u64,
    seed: u64,
    repeats: u64,
    hold: bool,
}

fn main() {
    let given = Given::read();
    let problem = Problem {
        accounts: given.whole_number("accounts", 2, 100_000) as usize,
        units: given.whole_number("units", 1, 10_000),
        transfers: given.whole_number("transfers", 1, 1_000_000),
        auditors: given.whole_number("auditors", 1, 1000) as usize,
        every: given.whole_number("every", 1, 1_000_000),
        hot: given.whole_number_or("hot", 0, 100, 0),
        seed: given.whole_number_or("seed", 0, u32::MAX.into(), 0),
        repeats: given.repeats(),
        hold: given.flag("hold"),
    };
    let cores = given.cores();
    match given.one_of("sharing", &["lock-for-each", "one-lock", "owner"]) {
        "one-lock" => run(cores, all::<OneLock>(problem)),
        "owner" => run(cores, all::<Owner>(problem)),
        _ => run(cores, all::<LockForEach>(problem)),
    }
}

async fn all<B: Bank>(problem: Problem) {
    let problem = Arc::new(problem);
    let (mut folded, mut made, mut audits, mut wrong) = (0, 0, 0, 0);
    let mut last = None;
    for time in 0..problem.repeats {
        let bank = B::new(problem.accounts);
        if problem.hold && time == 0 {
            report(format_args!("::await name=opened"));
            line_from_stdin().await;
        }
        let begin = Instant::now();
        let (units, auditors) = once(&problem, &bank).await;
        report(format_args!(
            "::phase name=transfer ns={}",
            begin.elapsed().as_nanos()
        ));
        for balance in bank.balances().await {
            folded = (31 * folded + balance.rem_euclid(MODULUS as i64) as u64) % MODULUS;
        }
        made += units.iter().map(|unit| unit.made).sum::<u64>();
        audits += auditors.iter().map(|auditor| auditor.audits).sum::<u64>();
        wrong += auditors.iter().map(|auditor| auditor.wrong).sum::<u64>();
        last = Some((units, auditors));
    }
    let (units, auditors) = last.expect("one repeat at least");
    report(format_args!(
        "::result balances={folded} transfers={made} audits={audits} wrong={wrong} first={} last={} {} {}",
        joined(auditors.iter().map(|auditor| auditor.first)),
        joined(auditors.iter().map(|auditor| auditor.last)),
        percentiles("transfer", units.iter().flat_map(|unit| &unit.transfer_ns)),
        percentiles("audit", units.iter().flat_map(|unit| &unit.audit_ns)),
    ));
}

async fn once<B: Bank>(problem: &Arc<Problem>, bank: &B) -> (Vec<Unit>, Vec<Auditor>) {
    let counted = Arc::new(AtomicU64::new(0));
    let mut asking = Vec::new();
    let mut auditing = Vec::new();
    for _ in 0..problem.auditors {
        let (sender, questions) = mpsc::channel(32);
        asking.push(sender);
        let auditor = audit(problem.accounts, bank.clone(), questions, counted.clone());
        auditing.push(tokio::spawn(auditor));
    }
    let working: Vec<JoinHandle<Unit>> = (0..problem.units)
        .map(|unit| {
            let shared = (bank.clone(), asking.clone(), counted.clone());
            tokio::spawn(work(unit, problem.clone(), shared))
        })
        .collect();
    drop(asking);
    (joined_all(working).await, joined_all(auditing).await)
}

async fn joined_all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.expect("no task panics"));
    }
    results
}

/// An auditor's observations. `first`, `last`: how many transfers had been counted.
#[derive(Default)]
struct Auditor {
    audits: u64,
    wrong: u64,
    first: u64,
    last: u64,
}

/// Adds up all accounts for each unit that asks.
async fn audit<B: Bank>(
    accounts: usize,
    bank: B,
    mut questions: mpsc::Receiver<oneshot::Sender<i64>>,
    counted: Arc<AtomicU64>,
) -> Auditor {
    let mut seen = Auditor::default();
    while let Some(answer) = questions.recv().await {
        let total: i64 = bank.balances().await.iter().sum();
        seen.wrong += u64::from(total != accounts as i64 * OPENING_BALANCE);
        seen.last = counted.load(Ordering::Relaxed);
        if seen.audits == 0 {
            seen.first = seen.last;
        }
        seen.audits += 1;
        let _ = answer.send(total);
    }
    seen
}

#[derive(Default)]
struct Unit {
    made: u64,
    transfer_ns: Vec<u64>,
    audit_ns: Vec<u64>,
}

type Shared<B> = (B, Vec<mpsc::Sender<oneshot::Sender<i64>>>, Arc<AtomicU64>);

async fn work<B: Bank>(
    number: u64,
    problem: Arc<Problem>,
    (bank, auditors, counted): Shared<B>,
) -> Unit {
    let mut unit = Unit::default();
    let accounts = problem.accounts as u64;
    let mut x = 1 + (problem.seed + number) % (MODULUS - 1);
    let mut draw = || {
        x = FACTOR * x % MODULUS;
        x
    };
    let mut turn = number as usize;
    while unit.made < problem.transfers {
        let (drawn, source, target) = (draw(), draw(), draw());
        let source = match drawn / 1000 % 100 < problem.hot {
            true => 0,
            false => source % accounts,
        };
        let target = target % (accounts - 1);
        let target = target + u64::from(target >= source);
        let amount = 1 + (drawn % 1000) as i64;
        if unit.made % TIMED == 0 {
            let begin = Instant::now();
            bank.transfer(source as usize, target as usize, amount)
                .await;
            unit.transfer_ns.push(begin.elapsed().as_nanos() as u64);
        } else {
            bank.transfer(source as usize, target as usize, amount)
                .await;
        }
        unit.made += 1;
        if unit.made % problem.every == 0 {
            counted.fetch_add(problem.every, Ordering::Relaxed);
            let begin = Instant::now();
            let (sender, answer) = oneshot::channel();
            let sent = auditors[turn % auditors.len()].send(sender).await;
            assert!(sent.is_ok(), "auditors end last");
            answer.await.expect("auditors answer");
            unit.audit_ns.push(begin.elapsed().as_nanos() as u64);
            turn += 1;
        }
    }
    unit
}

fn joined(numbers: impl Iterator<Item = u64>) -> String {
    let texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
    texts.join(",")
}

/// The smallest times that so many percent do not exceed; 0 where there is none.
fn percentiles<'a>(name: &str, times_ns: impl Iterator<Item = &'a u64>) -> String {
    let mut times_ns: Vec<u64> = times_ns.copied().collect();
    times_ns.sort_unstable();
    let at = |percent: usize| match times_ns.len() {
        0 => 0,
        many => times_ns[(many * percent).div_ceil(100) - 1],
    };
    format!(
        "{name}_p50_ns={} {name}_p99_ns={} {name}_max_ns={}",
        at(50),
        at(99),
        at(100)
    )
}
