//! The ring: a concurrent function for each unit, a queue between neighbours.

const std = @import("std");
const shared = @import("shared.zig");
const Io = std.Io;
const Queue = Io.Queue(u64);

const own_capacity = 32;

/// Lines of the trace, collected into blocks.
const Trace = struct {
    mutex: Io.Mutex = .init,
    writer: Io.File.Writer,

    fn print(trace: ?*Trace, io: Io, comptime format: []const u8, arguments: anytype) void {
        const out = trace orelse return;
        out.mutex.lockUncancelable(io);
        defer out.mutex.unlock(io);
        out.writer.interface.print(format ++ "\n", arguments) catch std.process.exit(1);
    }
};

/// Unit N's result over all values, including those of earlier rings.
const Evidence = struct { checksum: u64 = 0, order: u64 = 0, end: i96 = 0 };

const Ring = struct {
    nodes: u64,
    messages: u64,
    capacity: usize,
    token: bool,
    trace: ?*Trace,

    fn once(ring: Ring, io: Io, allocator: std.mem.Allocator, hold: bool, evidence: *Evidence) !void {
        var start = shared.clock(io);
        const queues = try allocator.alloc(Queue, ring.nodes);
        for (queues) |*queue| queue.* = .init(try allocator.alloc(u64, ring.capacity));
        var arrivals: [1]u64 = undefined;
        var arrived: Queue = .init(&arrivals);
        var units: Io.Group = .init;
        for (1..ring.nodes) |i| {
            try units.concurrent(io, relay, .{ io, i, &queues[i - 1], &queues[i], ring.trace });
        }
        const answers = if (ring.token) &arrived else null;
        try units.concurrent(io, lastUnit, .{ io, ring.nodes, &queues[ring.nodes - 1], answers, ring.trace, evidence });
        shared.phase(io, "spawn", start, shared.clock(io));
        if (hold) {
            shared.report(io, "::await name=spawned", .{});
            shared.lineFromStdin(io);
        }

        start = shared.clock(io);
        var r = ring.messages;
        while (r > 0) {
            r -= 1;
            queues[0].putOneUncancelable(io, r) catch unreachable;
            if (ring.token) _ = arrived.getOneUncancelable(io) catch unreachable;
        }
        try units.await(io);
        shared.phase(io, "relay", start, evidence.end);
        if (ring.trace) |trace| try trace.writer.interface.flush();
    }
};

/// Unit i, one of 1 … N-1. No queue is ever closed.
fn relay(io: Io, i: u64, inbox: *Queue, outbox: *Queue, trace: ?*Trace) void {
    const last = terminator(i);
    while (true) {
        const value = inbox.getOneUncancelable(io) catch unreachable;
        if (trace != null) {
            const id = std.Thread.getCurrentId();
            if (value > last) {
                Trace.print(trace, io, ": Proc: {d}, Seq#: {d}, Msg#: {d} ..", .{ id, i, value - last });
            } else {
                Trace.print(trace, io, "* Proc: {d}, Seq#: {d}, Msg#: terminate!", .{ id, i });
            }
        }
        outbox.putOneUncancelable(io, value + i) catch unreachable;
        if (value == last) return;
    }
}

fn lastUnit(io: Io, n: u64, inbox: *Queue, arrived: ?*Queue, trace: ?*Trace, evidence: *Evidence) void {
    const last = terminator(n);
    while (true) {
        const value = inbox.getOneUncancelable(io) catch unreachable;
        evidence.checksum += value;
        evidence.order = (31 * evidence.order + value) % shared.modulus;
        if (trace != null) {
            const id = std.Thread.getCurrentId();
            if (value > last) {
                Trace.print(trace, io, "> Proc: {d}, Seq#: {d}, Msg#: {d} ..", .{ id, n, value - last });
            } else {
                Trace.print(trace, io, "@ Proc: {d}, Seq#: {d}, ring terminated.", .{ id, n });
            }
        }
        if (arrived) |answers| answers.putOneUncancelable(io, value) catch unreachable;
        if (value == last) break;
    }
    evidence.end = shared.clock(io);
}

/// Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
fn terminator(i: u64) u64 {
    return i * (i - 1) / 2;
}

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const given: shared.Given = try .read(init);
    var buffer: [64 * 1024]u8 = undefined;
    var trace: Trace = .{ .writer = Io.File.stdout().writerStreaming(io, &buffer) };
    const capacity = given.oneOf("capacity", &.{ "own", "0", "1", "30", "1000" });
    const ring: Ring = .{
        .nodes = given.number("nodes", null, 2, 1_000_000_000),
        .messages = given.number("messages", null, 1, 1_000_000_000),
        .capacity = std.fmt.parseInt(usize, capacity, 10) catch own_capacity,
        .token = std.mem.eql(u8, given.oneOf("mode", &.{ "pipelined", "token" }), "token"),
        .trace = if (given.flag("trace")) &trace else null,
    };
    const hold = given.flag("hold");
    _ = given.number("cores", 1, 1, 1024); // Unused: the kernel schedules the threads.
    var evidence: Evidence = .{};
    for (0..given.number("repeats", 1, 1, 3000)) |repeat| {
        var arena: std.heap.ArenaAllocator = .init(std.heap.page_allocator);
        defer arena.deinit();
        try ring.once(io, arena.allocator(), hold and repeat == 0, &evidence);
    }
    shared.report(io, "::result checksum={d} order={d}", .{ evidence.checksum, evidence.order });
}
