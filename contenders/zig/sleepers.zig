//! The sleepers: a concurrent function for each, and a queue to the one that collects.

const std = @import("std");
const shared = @import("shared.zig");
const Io = std.Io;

const reports_most = 10;

/// A task hands over its number and its lateness.
const Wake = struct { number: u64, late: i96 };
const Wakes = Io.Queue(Wake);

/// How many have not begun yet, and the event that all have.
const Start = struct {
    missing: std.atomic.Value(usize),
    all: Io.Event = .unset,
};

fn sleeper(io: Io, number: u64, instant: i96, start: *Start, wakes: *Wakes) Io.Cancelable!void {
    if (start.missing.fetchSub(1, .acq_rel) == 1) start.all.set(io);
    try shared.sleepUntil(io, instant);
    wakes.putOneUncancelable(io, .{ .number = number, .late = shared.clock(io) - instant }) catch unreachable;
}

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const given: shared.Given = try .read(init);
    const tasks: usize = given.number("tasks", null, 1, 1_000_000);
    const seconds = given.number("seconds", null, 2, 3600);
    const seed = given.number("seed", 0, 0, std.math.maxInt(u32));
    const hold = given.flag("hold");
    _ = given.number("cores", 1, 1, 1024); // Unused: the kernel schedules the threads.

    const begin = shared.clock(io);
    const last_second = begin + (seconds - 1) * std.time.ns_per_s;
    var wakes: Wakes = .init(try init.gpa.alloc(Wake, tasks));
    var start: Start = .{ .missing = .init(tasks) };
    var sleepers: Io.Group = .init;
    var number = 1 + seed % (shared.modulus - 1);
    for (0..tasks) |_| {
        number = shared.factor * number % shared.modulus;
        const instant = last_second + number * std.time.ns_per_s / shared.modulus;
        try sleepers.concurrent(io, sleeper, .{ io, number, instant, &start, &wakes });
    }
    try start.all.wait(io);
    shared.phase(io, "start", begin, shared.clock(io));
    if (hold) {
        shared.report(io, "::await name=started", .{});
        shared.lineFromStdin(io);
    }

    const numbers = try init.gpa.alloc(u64, tasks);
    const late = try init.gpa.alloc(i96, tasks);
    const reports = @min(reports_most, tasks);
    for (0..tasks) |i| {
        const wake = wakes.getOneUncancelable(io) catch unreachable;
        numbers[i] = wake.number;
        late[i] = wake.late;
        if ((i + 1) * reports / tasks > i * reports / tasks) shared.phase(io, "wake", begin, shared.clock(io));
    }
    try sleepers.await(io);
    std.mem.sort(u64, numbers, {}, std.sort.asc(u64));
    std.mem.sort(i96, late, {}, std.sort.asc(i96));
    var sum: u64 = 0;
    var order: u64 = 0;
    for (numbers) |each| {
        sum += each;
        order = (31 * order + each) % shared.modulus;
    }
    shared.report(io, "::result sum={d} order={d} late_p50_ns={d} late_p99_ns={d} late_max_ns={d}", .{
        sum, order, percentile(late, 50), percentile(late, 99), percentile(late, 100),
    });
}

/// The smallest lateness that so many percent do not exceed.
fn percentile(late: []const i96, percent: usize) i96 {
    return late[(late.len * percent + 99) / 100 - 1];
}
