//! The background jobs: W concurrent functions take them from a queue; a second queue has the answers.

const std = @import("std");
const shared = @import("shared.zig");
const Io = std.Io;

const times_alone = 5;
const beat_ns = 10 * std.time.ns_per_ms;

const Kind = enum { sleep, cpu, noop };
const Job = struct { number: usize, x: u64 };
const Answer = struct { number: usize, value: u64, unit: usize, begin: i96, end: i96 };

const Settings = struct {
    jobs: usize,
    kind: Kind,
    duration_ns: i96,
    rounds: u64,
    workers: usize,
    trace: bool,
    seed: u64,
};

const Evidence = struct { order: u64 = 0, beats: u64 = 0 };

/// The other work: a beat that is due 10 ms after the one before.
const Heart = struct {
    last: i96,
    gap: i96 = 0,
    beats: u64 = 0,

    fn beat(heart: *Heart, io: Io) Io.Cancelable!void {
        while (true) {
            try shared.sleepUntil(io, heart.last + beat_ns);
            heart.lookBack(shared.clock(io));
            heart.beats += 1;
        }
    }

    fn lookBack(heart: *Heart, now: i96) void {
        heart.gap = @max(heart.gap, now - heart.last);
        heart.last = now;
    }
};

fn worker(io: Io, settings: *const Settings, unit: usize, jobs: *Io.Queue(Job), answers: *Io.Queue(Answer)) Io.Cancelable!void {
    while (true) {
        const job = jobs.getOne(io) catch |err| switch (err) {
            error.Closed => return,
            error.Canceled => |e| return e,
        };
        const begin = shared.clock(io);
        if (settings.kind == .sleep) try shared.sleepUntil(io, begin + settings.duration_ns);
        const value = advance(job.x, if (settings.kind == .cpu) settings.rounds else 1);
        const answer: Answer = .{ .number = job.number, .value = value, .unit = unit, .begin = begin, .end = shared.clock(io) };
        answers.putOneUncancelable(io, answer) catch unreachable;
    }
}

/// All jobs, once; the evidence goes on.
fn inBackground(io: Io, allocator: std.mem.Allocator, settings: *const Settings, hold: bool, evidence: *Evidence) !void {
    const start = shared.clock(io);
    var jobs: Io.Queue(Job) = .init(try allocator.alloc(Job, settings.jobs));
    var queue: Io.Queue(Answer) = .init(try allocator.alloc(Answer, settings.jobs));
    var workers: Io.Group = .init;
    for (0..settings.workers) |unit| {
        try workers.concurrent(io, worker, .{ io, settings, unit, &jobs, &queue });
    }
    for (0..settings.jobs) |number| {
        jobs.putOneUncancelable(io, .{ .number = number, .x = first(settings.seed, number) }) catch unreachable;
    }
    jobs.close(io);
    const submitted = shared.clock(io);
    shared.phase(io, "submit", start, submitted);
    var heart: Heart = .{ .last = submitted };
    var beats = try io.concurrent(Heart.beat, .{ &heart, io });
    if (hold) {
        shared.report(io, "::await name=submitted", .{});
        shared.lineFromStdin(io);
    }
    const answers = try allocator.alloc(Answer, settings.jobs);
    for (answers) |_| {
        const answer = queue.getOneUncancelable(io) catch unreachable;
        answers[answer.number] = answer;
    }
    const end = shared.clock(io);
    beats.cancel(io) catch {};
    shared.phase(io, "makespan", start, end);
    try workers.await(io);
    if (end > heart.last) heart.lookBack(end);

    shared.phase(io, "gap", 0, heart.gap);
    evidence.beats += heart.beats;
    for (answers) |answer| {
        evidence.order = (31 * evidence.order + answer.value) % shared.modulus;
        if (settings.trace) {
            shared.report(io, "::span unit={d} begin={d} end={d}", .{ answer.unit, answer.begin - start, answer.end - start });
        }
    }
}

/// The number that job i begins with.
fn first(seed: u64, i: u64) u64 {
    return 1 + (seed + i) % (shared.modulus - 1);
}

fn advance(number: u64, rounds: u64) u64 {
    var x = number;
    for (0..rounds) |_| x = shared.factor * x % shared.modulus;
    return x;
}

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const given: shared.Given = try .read(init);
    const kind = given.needed("kind", given.text("kind") orelse "", &.{ "sleep", "cpu", "noop" });
    const settings: Settings = .{
        .jobs = given.number("jobs", null, 1, 1_000_000),
        .kind = std.meta.stringToEnum(Kind, kind).?,
        .duration_ns = given.number("duration_ms", 1000, 0, 3_600_000) * std.time.ns_per_ms,
        .rounds = given.number("rounds", 1_000_000, 1, 1_000_000_000),
        .workers = given.number("workers", null, 1, 1024),
        .trace = given.flag("trace"),
        .seed = given.number("seed", 0, 0, std.math.maxInt(u32)),
    };
    const hold = given.flag("hold");
    const repeats = given.number("repeats", 1, 1, 3000);
    _ = given.number("cores", 1, 1, 1024); // Unused: W says how many threads there are.

    // Each begins with the answer of the one before.
    var last = first(settings.seed, 0);
    if (settings.kind == .cpu) {
        for (0..times_alone) |_| {
            const start = shared.clock(io);
            last = advance(last, settings.rounds);
            // Without it the compiler may compute it after the clock was read.
            std.mem.doNotOptimizeAway(last);
            shared.phase(io, "alone", start, shared.clock(io));
        }
    }
    var evidence: Evidence = .{};
    for (0..repeats) |repeat| {
        var arena: std.heap.ArenaAllocator = .init(std.heap.page_allocator);
        defer arena.deinit();
        try inBackground(io, arena.allocator(), &settings, hold and repeat == 0, &evidence);
    }
    shared.report(io, "::result answers={d} order={d} beats={d} alone={d}", .{
        repeats * settings.jobs, evidence.order, evidence.beats, last,
    });
}
