//! Requests that are no trials: a load by itself, and the merge of several engines' records.

use crate::load::plan::Plan;
use crate::{from_json, load};
use serde::de::IgnoredAny;
use serde::Deserialize;
use std::os::unix::io::OwnedFd;
use wire::requests::Requests;
use wire::writer::{ReaderGone, Writer};

#[derive(Debug)]
pub enum Work {
    Load(Box<Plan>),
    Merge(Box<Merge>),
}

/// The engines' records of a load, this many, follow the request, one a line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The load that the engines had parts of.
    pub load: Plan,
    pub records: usize,
}

impl Work {
    pub fn parse(line: &[u8]) -> Result<Work, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Request {
            #[serde(rename = "version")]
            _version: IgnoredAny,
            load: Option<Box<Plan>>,
            merge: Option<Box<Merge>>,
        }
        let request: Request = from_json(line)?;
        match (request.load, request.merge) {
            (Some(load), None) => {
                load.check()?;
                Ok(Work::Load(load))
            }
            (None, Some(merge)) => {
                merge.load.check()?;
                match merge.load.part {
                    None => Ok(Work::Merge(merge)),
                    Some(_) => Err("merge: leave `part` out: the load is the whole one".into()),
                }
            }
            _ => Err("ask for one of load and merge".into()),
        }
    }
}

/// The outer error is why the work could not begin.
pub fn run(
    line: &[u8],
    signals: &OwnedFd,
    requests: &mut Requests,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    match Work::parse(line)? {
        Work::Load(plan) => load::run(*plan, signals, requests, writer),
        Work::Merge(merge) => load::merge(&merge.load, merge.records, signals, requests, writer),
    }
}
