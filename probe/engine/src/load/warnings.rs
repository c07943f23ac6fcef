//! Warnings about weak figures: why, and what to do. A closed list.

use super::engine::{Outcome, SLACK_NS};
use super::error::ErrorKind;
use super::plan::{Pacing, Plan, Protocol};
use super::record::Record;
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
/// A ramp is no finer than this: a stream that is opened so much later is opened in time.
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

pub fn warnings(plan: &Plan, outcome: &Outcome) -> Vec<Warning> {
    let record = &outcome.record;
    let replies = &record.replies;
    let seconds = outcome.seconds();
    let mut warnings = Vec::new();
    let mut warn = |code, text: String, remedy| warnings.push(Warning { code, text, remedy });
    let share = outcome.busy_share();
    if share > BUSY_SHARE {
        warn(
            GENERATOR_BOUND,
            format!(
                "a thread of the engine was busy for {:.0} % of the time: the engine may limit the figures",
                share * 100.0
            ),
            "give it more --threads, or CPUs of its own",
        );
    }
    let open_loop = plan.open_loop();
    let (error, latency) = (&record.schedule_error, &record.replies.latency);
    // The plan asked for the delays of the slack, so they are not the engine's.
    let slack_ns = match open_loop {
        true => plan.slack_s.map_or(SLACK_NS, nanoseconds),
        false => 0,
    };
    let of_slack = (slack_ns as f64).min(error.mean()) / latency.mean().max(1.0);
    let late_share = error.mean() / latency.mean().max(1.0) - of_slack;
    if open_loop && share <= BUSY_SHARE && late_share > LATE_SHARE {
        warn(
            GENERATOR_BOUND,
            format!("the engine's own delay is {:.0} % of the mean latency", late_share.min(1.0) * 100.0),
            "give it CPUs of its own, or a lower rate",
        );
    }
    let streams = plan.protocol == Protocol::Stream;
    let is_late = error.mean() > RAMP_GRAIN_NS.max(LATE_SHARE * record.lateness.mean());
    if streams && share <= BUSY_SHARE && is_late {
        warn(
            GENERATOR_BOUND,
            format!(
                "the engine was {:.1} ms behind its schedule on average, and messages came {:.1} ms late",
                error.mean() / 1e6,
                record.lateness.mean() / 1e6
            ),
            "give it CPUs of its own, or a slower --ramp",
        );
    }
    if of_slack > LATE_SHARE {
        warn(
            "slack",
            format!(
                "waiting to be sent with others is {:.0} % of the mean latency",
                of_slack.min(1.0) * 100.0
            ),
            "use a shorter --slack, or --slack 0",
        );
    }
    if open_loop && record.intended > 0 {
        // An answer that was not as expected came all the same: `errors` says so.
        let wrong = replies.errors.of(ErrorKind::Status) + replies.errors.of(ErrorKind::Content);
        let answered = record.answered(open_loop) + wrong as f64;
        let kept = answered / record.intended as f64;
        if kept < RATE_KEPT {
            warn(
                "rate-not-kept",
                format!("{:.1} % of the intended requests were answered in time", kept * 100.0),
                "use a lower rate, or more connections where queue times are long",
            );
        }
    }
    let largest_lag_ns = record.schedule_error.max();
    if (open_loop || streams) && largest_lag_ns > LAG_NS + slack_ns {
        let effect = match streams {
            true => "streams were opened later by that, or unstamped messages seem to be",
            false => "latencies include that",
        };
        warn(
            "lag",
            format!(
                "the engine itself was up to {:.0} ms behind its schedule: {effect}",
                largest_lag_ns as f64 / 1e6
            ),
            "give it CPUs of its own on a machine that does not stall, or compare --vs another server",
        );
    }
    if let Pacing::Constant { rate_per_s, burst } = plan.pacing {
        let due = outcome.per_s(record.intended as f64);
        let rate_per_s = plan.own_rate(rate_per_s);
        let is_uneven = (due - rate_per_s).abs() > UNEVEN_SHARE * rate_per_s;
        if burst > 1 && is_uneven && !outcome.interrupted {
            warn(
                "uneven-bursts",
                format!(
                    "{} requests were due in {seconds:.2} s, in bursts of {burst} that are {:.2} s apart: that is not the rate of {rate_per_s} per second",
                    record.intended,
                    burst as f64 / rate_per_s
                ),
                "use a duration of many bursts, or smaller bursts",
            );
        }
    }
    let service = &record.replies.service;
    // Requests whose clients hang up are in flight, and have no service time.
    let all_served = !streams && plan.patience_s.is_none();
    if record.sweeps >= LITTLE_SWEEPS && all_served && service.len() > 1000 {
        let expected = service.mean() * service.len() as f64 / outcome.duration_ns as f64;
        let measured = record.concurrency();
        if (measured - expected).abs() > 0.2 * expected.max(measured) + 1.0 {
            warn(
                "little",
                format!("{measured:.1} requests were in flight on average, but rate and service time make {expected:.1}"),
                "some replies are missing from the figures: check the errors",
            );
        }
    }
    if !open_loop && !streams && service.len() > 1000 {
        let (max, median) = (service.max(), service.quantile(0.5));
        if max > STALL_NS && max > median * STALL_FACTOR {
            warn(
                "closed-loop-stalls",
                format!("a reply took {:.0} ms: a closed loop hides such stalls, since it sends nothing meanwhile", max as f64 / 1e6),
                "measure latency with --rate",
            );
        }
    }
    if seconds < 1.0 {
        warn(
            "short-run",
            format!("the load lasted {seconds:.2} s"),
            "use a longer --duration or more --requests; of a load in blocks, fewer --blocks",
        );
    }
    let errors = replies.errors.total();
    if errors > 0 {
        warn(
            "errors",
            format!("errors: {errors}{}", left_out(record)),
            "check their kinds before the figures",
        );
    }
    if record.replies.unfinished > 0 {
        let unsent = match record.unsent {
            0 => String::new(),
            unsent => format!("; {unsent} of them were never sent"),
        };
        warn(
            "unfinished",
            format!(
                "{} of the intended requests had no answer at the end{unsent}{}",
                record.replies.unfinished,
                match open_loop {
                    true => "",
                    false => "; a closed loop's latencies leave them out",
                }
            ),
            "percentiles are lower bounds: use a lower rate or a longer run",
        );
    }
    if record.stream_waits > 0 {
        warn(
            "stream-limit",
            format!(
                "the server allows {} streams of HTTP/2 on a connection: {} requests waited for one; see `queue` for how long",
                record.layers.stream_limit, record.stream_waits
            ),
            "use fewer --streams, more --connections, or raise the server's limit",
        );
    }
    if let Some(http2) = plan.http2.filter(|_| record.layers.window_waits > 0) {
        warn(
            "window",
            format!(
                "the server filled the window of HTTP/2, {} bytes, in {} replies, and waited for more: the figures are also the engine's",
                http2.window_bytes, record.layers.window_waits
            ),
            "use a larger --window",
        );
    }
    let resumes = plan.tls.as_ref().is_some_and(|tls| tls.resume);
    if resumes && record.layers.resumed == 0 && record.opened > 0 {
        warn(
            "not-resumed",
            format!("none of {} sessions of TLS was resumed", record.opened),
            "add --close, so that there are later ones; else the server gives no tickets",
        );
    }
    let ports = 20_000 * plan.addresses.len() as u64;
    let wide = plan.unix.is_none() && plan.own_connections() as u64 <= 20_000;
    if wide && record.opened > ports {
        warn(
            "near-ports",
            format!(
                "{} connections in sequence were opened to {} addresses",
                record.opened,
                plan.addresses.len()
            ),
            "ports stay in TIME_WAIT for a minute after their use: use a shorter run, or more addresses",
        );
    }
    warnings
}

/// Which of the errors are in no latency.
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
    use crate::load::record::Replies;

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
