//! The fibonacci service: a concurrent function for each connection reads, computes and writes.

const std = @import("std");
const shared = @import("shared.zig");
const Io = std.Io;
const net = Io.net;

const most = 90;
const longest = 100; // bytes of a line, its newline included
const pause_ns = 100 * std.time.ns_per_ms;

fn fib(n: u64) u64 {
    return if (n <= 2) 1 else fib(n - 1) + fib(n - 2);
}

/// Nothing where the line is no request.
fn answer(line: []const u8) ?u64 {
    for (line) |character| {
        if (!std.ascii.isDigit(character)) return null;
    }
    const n = std.fmt.parseInt(u64, line, 10) catch return null;
    return if (n >= 1 and n <= most) fib(n) else null;
}

/// Answers one client's requests until it closes.
fn converse(io: Io, stream: net.Stream) Io.Cancelable!void {
    defer stream.close(io);
    noDelay(stream);
    var input: [longest]u8 = undefined;
    var output: [4096]u8 = undefined;
    var reader = stream.reader(io, &input);
    var writer = stream.writer(io, &output);
    const out = &writer.interface;
    while (reader.interface.takeDelimiterInclusive('\n')) |line| {
        if (answer(line[0 .. line.len - 1])) |value| {
            out.print("{d}\n", .{value}) catch return;
        } else {
            out.print("error: a whole number from 1 to {d} is needed\n", .{most}) catch return;
        }
        // Answers to requests that came together leave together.
        if (std.mem.indexOfScalar(u8, reader.interface.buffered(), '\n') == null) out.flush() catch return;
    } else |err| if (err == error.StreamTooLong) {
        out.print("error: a line has at most {d} bytes\n", .{longest}) catch return;
        out.flush() catch return;
    }
}

fn noDelay(stream: net.Stream) void {
    const on: c_int = 1;
    std.posix.setsockopt(stream.socket.handle, std.posix.IPPROTO.TCP, std.posix.TCP.NODELAY, std.mem.asBytes(&on)) catch {};
}

fn endWithStdin(io: Io) void {
    var buffer: [4096]u8 = undefined;
    while (Io.File.stdin().readStreaming(io, &.{&buffer})) |size| {
        if (size == 0) break;
    } else |_| {}
    std.process.exit(0);
}

fn endNow(_: std.posix.SIG) callconv(.c) void {
    std.process.exit(0);
}

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const given: shared.Given = try .read(init);
    const host = given.text("host") orelse "127.0.0.1";
    const port: u16 = @intCast(given.number("port", 0, 0, 65535));
    _ = given.number("cores", 1, 1, 1024); // Unused: the kernel schedules the threads.
    std.posix.sigaction(.TERM, &.{ .handler = .{ .handler = endNow }, .mask = std.posix.sigemptyset(), .flags = 0 }, null);

    const address = net.IpAddress.parseIp4(host, port) catch given.fail("host must be an IPv4 address, not {s}", .{host});
    var server = address.listen(io, .{ .kernel_backlog = 4096, .reuse_address = false }) catch
        given.fail("port must be one that is free on {s}, not {d}", .{ host, port });
    var stdin = try io.concurrent(endWithStdin, .{io});
    defer stdin.cancel(io);
    shared.report(io, "::ready port={d}", .{server.socket.address.getPort()});
    var connections: Io.Group = .init;
    while (true) {
        const stream = server.accept(io) catch {
            // Out of descriptors: some will be free later.
            try shared.sleepUntil(io, shared.clock(io) + pause_ns);
            continue;
        };
        connections.concurrent(io, converse, .{ io, stream }) catch stream.close(io);
    }
}
