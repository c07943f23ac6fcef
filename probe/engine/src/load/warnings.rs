//! Warnings about weak figures: why, and what to do. A closed list.

use super::engine::{Outcome, SLACK_NS};
use super::error::ErrorKind;
use super::plan::{Pacing, Plan, Protocol};
use super::record::{Record, Replies};
use serde::Serialize;
use wire::units::nanoseconds;

#[derive(Debug, Serialize)]
pub struct Warning {
    pub code: &'static str,
    pub text: String,
    pub remedy: &'static str,
}

/// The engine itself limits the figures.
pub const GENERATOR_BOUND: &str = "generator-bound";
/// A thread that is busy for more than this share of the time probably limits the load.
const BUSY_SHARE: f64 = 0.9;
/// An open loop whose schedule error is a larger share of the mean latency measures the engine.
const LATE_SHARE: f64 = 0.5;
/// A stream that is opened this much later than its ramp says still counts as opened in time.
const RAMP_GRAIN_NS: f64 = 1_000_000.0;
/// An open loop with a lower share of its requests answered was not the intended load.
const RATE_KEPT: f64 = 0.99;
/// A load of bursts whose requests are this share more or fewer than its rate has too few bursts.
const UNEVEN_SHARE: f64 = 0.05;
/// A stall in a closed loop: the maximum service time, and its ratio to the median.
const STALL_NS: u64 = 100_000_000;
const STALL_FACTOR: u64 = 20;
/// Behind its schedule by more than this, the engine did not get its CPU.
const LAG_NS: u64 = 20_000_000;
const LITTLE_SWEEPS: u64 = 20;
/// With fewer replies, neither a stall nor Little's law means anything.
const MIN_REPLIES: u64 = 1000;
/// Some of the ports that one source address has for one target.
const PORTS: u64 = 20_000;

pub fn warnings(plan: &Plan, outcome: &Outcome) -> Vec<Warning> {
    let record = &outcome.record;
    let Replies { latency, service, errors, unfinished, .. } = &record.replies;
    let (seconds, share) = (outcome.seconds(), outcome.busy_share());
    let (open_loop, streams) = (plan.open_loop(), plan.protocol == Protocol::Stream);
    let error = &record.schedule_error;
    // The plan asked for the delays of the slack, so they are not the engine's.
    let slack_ns = if open_loop { plan.slack_s.map_or(SLACK_NS, nanoseconds) } else { 0 };
    let of_slack = (slack_ns as f64).min(error.mean()) / latency.mean().max(1.0);
    let late_share = error.mean() / latency.mean().max(1.0) - of_slack;
    let are_late = error.mean() > RAMP_GRAIN_NS.max(LATE_SHARE * record.lateness.mean());
    // An answer that was not as expected came all the same: `errors` says so.
    let wrong = errors.of(ErrorKind::Status) + errors.of(ErrorKind::Content);
    let kept = (record.answered(open_loop) + wrong as f64) / record.intended as f64;
    let stall_ns = STALL_NS.max(service.quantile(0.5) * STALL_FACTOR);
    let is_stalled = service.len() > MIN_REPLIES && service.max() > stall_ns;
    let effect = match streams {
        true => "it may have opened a stream, or read a message, that much too late",
        false => "latencies include that",
    };
    let unsent = match record.unsent {
        0 => String::new(),
        unsent => format!("; {unsent} of them were never sent"),
    };
    let left_out_here = if open_loop { "" } else { "; a closed loop's latencies leave them out" };
    let resumes = plan.tls.as_ref().is_some_and(|tls| tls.resume);
    let http2 = plan.http2.filter(|_| record.layers.window_waits > 0);
    let uploads = record.layers.upload_waits.min(errors.of(ErrorKind::Timeout));
    let addresses = plan.addresses.len() as u64;
    let is_wide = plan.unix.is_none() && plan.own_connections() as u64 <= PORTS;
    let all = [
        (
            GENERATOR_BOUND,
            "give it more --threads, or CPUs of its own",
            (share > BUSY_SHARE).then(|| {
                let percent = share * 100.0;
                format!("a thread of the engine was busy for {percent:.0} % of the time: the engine may limit the figures")
            }),
        ),
        (
            GENERATOR_BOUND,
            "give it CPUs of its own, or a lower rate",
            (open_loop && share <= BUSY_SHARE && late_share > LATE_SHARE).then(|| {
                format!("the engine's own delay is {:.0} % of the mean latency", late_share.min(1.0) * 100.0)
            }),
        ),
        (
            GENERATOR_BOUND,
            "give it CPUs of its own, or a slower --ramp",
            (streams && share <= BUSY_SHARE && are_late).then(|| {
                let [behind_ms, late_ms] = [error, &record.lateness].map(|times| times.mean() / 1e6);
                format!("the engine was {behind_ms:.1} ms behind its schedule on average, and messages came {late_ms:.1} ms late")
            }),
        ),
        (
            "slack",
            "use a shorter --slack, or --slack 0",
            (of_slack > LATE_SHARE).then(|| {
                let percent = of_slack.min(1.0) * 100.0;
                format!("waiting to be sent with others is {percent:.0} % of the mean latency")
            }),
        ),
        (
            "rate-not-kept",
            "use a lower rate, or more connections where queue times are long",
            (open_loop && kept < RATE_KEPT)
                .then(|| format!("{:.1} % of the intended requests were answered in time", kept * 100.0)),
        ),
        (
            "lag",
            "give it CPUs of its own on a machine that does not stall, or compare --vs another server",
            ((open_loop || streams) && error.max() > LAG_NS + slack_ns).then(|| {
                let lag_ms = error.max() as f64 / 1e6;
                format!("the engine itself was up to {lag_ms:.0} ms behind its schedule: {effect}")
            }),
        ),
        (
            "uneven-bursts",
            "use a duration of many bursts, or smaller bursts",
            uneven_bursts(plan, outcome),
        ),
        (
            "little",
            "some replies are missing from the figures: check the errors",
            missing_replies(plan, outcome),
        ),
        (
            "closed-loop-stalls",
            "measure latency with --rate",
            (!open_loop && !streams && is_stalled).then(|| {
                let stall_ms = service.max() as f64 / 1e6;
                format!("a reply took {stall_ms:.0} ms: a closed loop hides such stalls, since it sends nothing meanwhile")
            }),
        ),
        (
            "short-run",
            "use a longer --duration or more --requests; of a load in blocks, fewer --blocks",
            (seconds < 1.0).then(|| format!("the load lasted {seconds:.2} s")),
        ),
        (
            "errors",
            "check their kinds before the figures",
            (!errors.is_empty()).then(|| format!("errors: {}{}", errors.total(), left_out(record))),
        ),
        (
            "unfinished",
            "percentiles are lower bounds: use a lower rate or a longer run",
            (*unfinished > 0).then(|| {
                format!("{unfinished} of the intended requests had no answer at the end{unsent}{left_out_here}")
            }),
        ),
        (
            "stream-limit",
            "use fewer --streams, more --connections, or raise the server's limit",
            (record.stream_waits > 0).then(|| {
                let (limit, waits) = (record.layers.stream_limit, record.stream_waits);
                format!("the server allows {limit} streams of HTTP/2 on a connection: {waits} requests waited for one; see `queue` for how long")
            }),
        ),
        (
            "window",
            "use a larger --window",
            http2.map(|http2| {
                let (bytes, waits) = (http2.window_bytes, record.layers.window_waits);
                format!("the server filled the window of HTTP/2, {bytes} bytes, in {waits} replies, and waited for more: the figures are also the engine's")
            }),
        ),
        (
            "upload-window",
            "let the server read bodies sooner, or give larger windows",
            (uploads > 0).then(|| {
                format!("the server's window of HTTP/2 had no room for the rest of {uploads} request bodies when these timed out")
            }),
        ),
        (
            "not-resumed",
            match plan.request.as_ref().is_some_and(|request| request.close) {
                true => "let the server give tickets of sessions, or leave --tls-resume out",
                false => "add --close, so that there are later ones; else the server gives no tickets",
            },
            (resumes && record.layers.resumed == 0 && record.opened > 0)
                .then(|| format!("none of {} sessions of TLS was resumed", record.opened)),
        ),
        (
            "near-ports",
            "ports stay in TIME_WAIT for a minute after their use: use a shorter run, or more addresses",
            (is_wide && record.opened > PORTS * addresses).then(|| {
                format!("{} connections in sequence were opened to {addresses} addresses", record.opened)
            }),
        ),
    ];
    let found = all.into_iter();
    found.filter_map(|(code, remedy, text)| text.map(|text| Warning { code, text, remedy })).collect()
}

/// Bursts are so large that a load of few of them does not have the rate that was asked for.
fn uneven_bursts(plan: &Plan, outcome: &Outcome) -> Option<String> {
    let Pacing::Constant { rate_per_s, burst: burst @ 2.. } = plan.pacing else { return None };
    let (rate_per_s, intended) = (plan.own_rate(rate_per_s), outcome.record.intended);
    let off_per_s = (outcome.per_s(intended as f64) - rate_per_s).abs();
    let (seconds, apart_s) = (outcome.seconds(), burst as f64 / rate_per_s);
    (off_per_s > UNEVEN_SHARE * rate_per_s && !outcome.interrupted).then(|| {
        format!("{intended} requests were due in {seconds:.2} s, in bursts of {burst} that are {apart_s:.2} s apart: that is not the rate of {rate_per_s} per second")
    })
}

/// Little's law: rate and service time say how many requests are in flight.
fn missing_replies(plan: &Plan, outcome: &Outcome) -> Option<String> {
    let (record, service) = (&outcome.record, &outcome.record.replies.service);
    // Requests whose clients hang up are in flight, and have no service time.
    let all_served = plan.protocol != Protocol::Stream && plan.patience_s.is_none();
    let expected = service.mean() * service.len() as f64 / outcome.duration_ns as f64;
    let measured = record.concurrency();
    let differ = (measured - expected).abs() > 0.2 * expected.max(measured) + 1.0;
    (record.sweeps >= LITTLE_SWEEPS && all_served && service.len() > MIN_REPLIES && differ).then(|| {
        format!(
            "{measured:.1} requests were in flight on average, but rate and service time make {expected:.1}"
        )
    })
}

/// The errors that no latency contains.
fn left_out(record: &Record) -> String {
    let errors = record.replies.errors.iter();
    let (given_up, others): (Vec<_>, Vec<_>) = errors.partition(|(kind, _)| kind.is_timeout());
    let mut text = String::new();
    if !given_up.is_empty() {
        text += "; requests that timed out count in latencies with their age";
    }
    if !others.is_empty() {
        let others = others.iter().map(|(kind, count)| format!("{count} {kind}"));
        text += "; latencies leave out ";
        text += &others.collect::<Vec<_>>().join(", ");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(requests: u64) -> Replies {
        Replies { requests, ..Replies::default() }
    }

    fn codes(pacing: &str, record: Record) -> Vec<&'static str> {
        codes_of(&format!(r#""protocol": "tcp", "line": "1", "pacing": {pacing}"#), record)
    }

    fn codes_of(plan: &str, record: Record) -> Vec<&'static str> {
        let plan = format!(r#"{{"addresses": ["127.0.0.1:1"], "duration_s": 2, {plan}}}"#);
        let outcome = Outcome { record, duration_ns: 2_000_000_000, ..Outcome::default() };
        let plan = serde_json::from_str(&plan).unwrap();
        let warnings = warnings(&plan, &outcome);
        warnings.iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn reasons_of_warnings() {
        let open = r#"{"kind": "constant", "rate_per_s": 5}, "slack_s": 0"#;
        let closed = r#"{"kind": "closed"}"#;
        let fine = || Record { intended: 10, replies: answered(10), ..Record::default() };
        assert!(codes(open, fine()).is_empty());
        let burst = |size| format!(r#"{{"kind": "constant", "rate_per_s": 5, "burst": {size}}}"#);
        assert!(codes(&burst(10), fine()).is_empty());
        let one = || Record { intended: 20, replies: answered(20), ..Record::default() };
        assert_eq!(codes(&burst(20), one()), ["uneven-bursts"]);
        let late = || {
            let mut record = fine();
            record.schedule_error.add(LAG_NS + 1);
            record
        };
        assert_eq!(codes(open, late()), ["generator-bound", "lag"]);
        assert!(codes(closed, late()).is_empty());
        let slow = || {
            let mut record = late();
            record.replies.latency.add(3 * LAG_NS);
            record
        };
        assert_eq!(codes(open, slow()), ["lag"]);
        // The slack is no delay of the engine's, but may be most of a latency.
        let slack = r#"{"kind": "constant", "rate_per_s": 5}, "slack_s": 0.05"#;
        let half = |latency_ns| {
            let mut record = fine();
            record.schedule_error.add(50_000_000);
            record.replies.latency.add(latency_ns);
            record
        };
        assert_eq!(codes(slack, half(90_000_000)), ["slack"]);
        assert!(codes(slack, half(110_000_000)).is_empty());
        assert_eq!(codes(open, half(90_000_000)), ["generator-bound", "lag"]);
        let later = || {
            let mut record = half(150_000_000);
            record.schedule_error.add(220_000_000);
            record
        };
        assert_eq!(codes(slack, later()), ["generator-bound", "lag"]);
        let busy = Record { max_thread_cpu_ns: 1_900_000_000, max_thread_busy_ns: 1_900_000_000, ..fine() };
        assert_eq!(codes(closed, busy), ["generator-bound"]);
        let polling =
            Record { max_thread_cpu_ns: 2_000_000_000, max_thread_busy_ns: 1_000_000_000, ..fine() };
        assert!(codes(open, polling).is_empty());
        let half = Record { replies: Replies { unfinished: 5, ..answered(5) }, ..fine() };
        assert_eq!(codes(open, half), ["rate-not-kept", "unfinished"]);
        let mut missed = Record { replies: answered(5), ..fine() };
        missed.replies.errors.add(ErrorKind::Status, 5);
        assert_eq!(codes(open, missed), ["errors"]);
        let mut failed = Record::default();
        failed.replies.errors.add(ErrorKind::ConnectTimeout, 3);
        let aged = "; requests that timed out count in latencies with their age";
        assert_eq!(left_out(&failed), aged);
        failed.replies.errors.add(ErrorKind::Reset, 2);
        failed.replies.errors.add(ErrorKind::Truncated, 1);
        assert_eq!(left_out(&failed), format!("{aged}; latencies leave out 2 reset, 1 truncated"));
        let many = Record { opened: 20_001, ..fine() };
        assert_eq!(codes(closed, many), ["near-ports"]);
    }

    #[test]
    fn streams_have_a_schedule_too() {
        let codes = |errors_ns: &[u64], late_ns: u64, busy_ns: u64| {
            let mut record =
                Record { max_thread_cpu_ns: busy_ns, max_thread_busy_ns: busy_ns, ..Record::default() };
            errors_ns.iter().for_each(|&ns| record.schedule_error.add(ns));
            record.lateness.add(late_ns);
            codes_of(r#""protocol": "stream""#, record)
        };
        let ms = 1_000_000;
        // A wake-up takes this long; messages are late by even less.
        assert!(codes(&[900_000], 20_000, 0).is_empty());
        assert_eq!(codes(&[2 * ms], 20_000, 0), ["generator-bound"]);
        assert!(codes(&[2 * ms], 5 * ms, 0).is_empty());
        assert_eq!(codes(&[0, 9 * ms], 5 * ms, 0), ["generator-bound"]);
        assert_eq!(codes(&[0, 21 * ms], 50 * ms, 0), ["lag"]);
        assert_eq!(codes(&[0], 5 * ms, 1900 * ms), ["generator-bound"]);
        let both = codes(&[21 * ms], 5 * ms, 1900 * ms);
        assert_eq!(both, ["generator-bound", "lag"]);
    }
}
