//! Requests: any bytes are a request or an error of one line; what is accepted can be carried out without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::body::BodyCheck;
use engine::load::pacer::Pacer;
use engine::load::plan::Plan;
use engine::load::sequence::StreamFormat;
use engine::load_runner::LoadRunner;
use engine::work::Work as EngineWork;
use wire::request::Work;

/// Instants are in order, and a request has bytes whatever its numbers are.
fn try_load(plan: &Plan) {
    let last_shard = plan.threads - 1;
    let share = plan.partition(last_shard);
    let mut pacer = Pacer::new(&plan.pacing, share, plan.duration_ns(), plan.requests);
    let mut last = 0;
    for at in std::iter::from_fn(|| pacer.take()).take(100) {
        assert!(at >= last, "{at} after {last}");
        last = at;
    }
    if let Some(request) = &plan.request {
        let template = request.template(plan.templates.as_ref()).expect("the plan was checked");
        for target in 0..template.targets() {
            assert!(!template.bytes(target, u64::MAX, u64::MAX).is_empty());
        }
    }
    let _ = BodyCheck::new(&plan.expect).expect("the plan was checked");
    let _ = StreamFormat::new(&plan.stream);
    for connection in 1..=100 {
        assert!(!(plan.stream.pauses(connection) && plan.stream.resets(connection)));
    }
}

fn try_stub(plan: &engine::stub::StubPlan) {
    let mut random = fastrand::Rng::with_seed(plan.seed);
    for upstream in &plan.upstreams {
        // At most an hour.
        assert!(upstream.draw_ns(&mut random) <= 3_600_000_000_000);
    }
}

fn one_line(why: &str) {
    assert!(!why.contains(&['\n', '\r'][..]), "{why:?}");
}

fuzz_target!(|data: &[u8]| {
    match Work::parse(data) {
        Err(why) => one_line(&why),
        Ok(Work::Engine) => match EngineWork::parse(data) {
            Err(why) => one_line(&why),
            Ok(EngineWork::Load(plan)) => try_load(&plan),
            Ok(EngineWork::Merge(merge)) => try_load(&merge.load),
        },
        Ok(Work::Trial(request)) => {
            let _ = request.sample_interval();
            match request.service.as_ref().map(LoadRunner::parse) {
                None => {}
                Some(Err(why)) => one_line(&why),
                Some(Ok(loads)) => {
                    let anywhere = ([127, 0, 0, 1], 1).into();
                    let plans = loads.steps.iter().flat_map(|step| &step.loads);
                    plans.for_each(|load| try_load(&load.plan.at(anywhere)));
                    loads.stub_plan.iter().for_each(try_stub);
                }
            }
        }
    }
});
