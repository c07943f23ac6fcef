//! Records of engines on other machines: any bytes are a record or an error; a record that is accepted can be merged and
//! summarised, and is the same when it is sent again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::record::Record;

fuzz_target!(|data: &[u8]| {
    let Ok(record) = serde_json::from_slice::<Record>(data) else { return };
    let mut merged = Record::default();
    merged.merge(&record);
    for (_, histogram) in merged.histograms() {
        let median = histogram.quantile(0.5);
        assert!((histogram.min()..=histogram.max()).contains(&median));
        assert!(histogram.mean() >= 0.0 && histogram.stdev() >= 0.0);
    }
    let sent = serde_json::to_string(&merged).expect("keys of records are text");
    let again: Record = serde_json::from_str(&sent).expect("what was sent is valid");
    assert_eq!(serde_json::to_string(&again).expect("as before"), sent);
});
