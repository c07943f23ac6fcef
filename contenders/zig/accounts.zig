//! The accounts: a concurrent function for each unit and each auditor, and a mutex for each account;
//! with sharing=one-lock one mutex for all of them.

const std = @import("std");
const shared = @import("shared.zig");
const Io = std.Io;

const opening_balance = 1000;
/// A unit reads the clock before and after one of so many transfers.
const timed = 16;
const places = 100;

const Settings = struct { accounts: u64, units: u64, transfers: u64, auditors: u64, every: u64, hot: u64, seed: u64, is_one_lock: bool };

const Account = struct { mutex: Io.Mutex = .init, balance: i64 = opening_balance };

/// The accounts, and how they are guarded: each by its own mutex, or all by that of the first.
const Bank = struct {
    accounts: []Account,
    is_one_lock: bool,

    /// A unit takes several mutexes in the order of the accounts, so that no two wait for each other.
    fn transfer(bank: Bank, io: Io, source: u64, target: u64, amount: i64) void {
        const first = &bank.accounts[if (bank.is_one_lock) 0 else @min(source, target)];
        const second = &bank.accounts[@max(source, target)];
        first.mutex.lockUncancelable(io);
        defer first.mutex.unlock(io);
        if (!bank.is_one_lock) second.mutex.lockUncancelable(io);
        defer if (!bank.is_one_lock) second.mutex.unlock(io);
        bank.accounts[source].balance -= amount;
        bank.accounts[target].balance += amount;
    }

    fn total(bank: Bank, io: Io) i64 {
        const guarded = bank.accounts[0..if (bank.is_one_lock) 1 else bank.accounts.len];
        for (guarded) |*account| account.mutex.lockUncancelable(io);
        defer for (guarded) |*account| account.mutex.unlock(io);
        var sum: i64 = 0;
        for (bank.accounts) |account| sum += account.balance;
        return sum;
    }
};

const Answers = Io.Queue(i64);

/// Adds up all accounts for each unit that asks. `first`, `last`: how many transfers had been counted at its audits.
const Auditor = struct {
    questions: Io.Queue(*Answers),
    audits: u64 = 0,
    wrong: u64 = 0,
    first: u64 = 0,
    last: u64 = 0,

    fn work(auditor: *Auditor, io: Io, bank: Bank, counted: *std.atomic.Value(u64)) void {
        // The queue is closed when all units have ended.
        while (auditor.questions.getOneUncancelable(io)) |answers| {
            const sum = bank.total(io);
            if (sum != opening_balance * @as(i64, @intCast(bank.accounts.len))) auditor.wrong += 1;
            auditor.last = counted.load(.monotonic);
            if (auditor.audits == 0) auditor.first = auditor.last;
            auditor.audits += 1;
            answers.putOneUncancelable(io, sum) catch unreachable;
        } else |_| {}
    }
};

/// The results of a unit.
const Unit = struct {
    made: u64 = 0,
    transfer_ns: []u64,
    audit_ns: []u64,

    /// Its transfers, and after so many of them it waits for an audit.
    fn work(
        unit: *Unit,
        io: Io,
        number: u64,
        settings: *const Settings,
        bank: Bank,
        auditors: []Auditor,
        counted: *std.atomic.Value(u64),
    ) void {
        var place: [1]i64 = undefined;
        var answers: Answers = .init(&place);
        var x = 1 + (settings.seed + number) % (shared.modulus - 1);
        while (unit.made < settings.transfers) {
            x = shared.factor * x % shared.modulus;
            const amount: i64 = @intCast(1 + x % 1000);
            const is_hot = x / 1000 % 100 < settings.hot;
            x = shared.factor * x % shared.modulus;
            const source = if (is_hot) 0 else x % settings.accounts;
            x = shared.factor * x % shared.modulus;
            var target = x % (settings.accounts - 1);
            if (target >= source) target += 1;
            if (unit.made % timed == 0) {
                const begin = shared.clock(io);
                bank.transfer(io, source, target, amount);
                unit.transfer_ns[unit.made / timed] = @intCast(shared.clock(io) - begin);
            } else {
                bank.transfer(io, source, target, amount);
            }
            unit.made += 1;
            if (unit.made % settings.every == 0) {
                _ = counted.fetchAdd(settings.every, .monotonic);
                const turn = unit.made / settings.every - 1;
                const begin = shared.clock(io);
                auditors[(number + turn) % auditors.len].questions.putOneUncancelable(io, &answers) catch unreachable;
                _ = answers.getOneUncancelable(io) catch unreachable;
                unit.audit_ns[turn] = @intCast(shared.clock(io) - begin);
            }
        }
    }
};

const Evidence = struct { folded: u64 = 0, made: u64 = 0, audits: u64 = 0, wrong: u64 = 0 };

/// All units and auditors do their work; the evidence goes on.
fn once(
    io: Io,
    allocator: std.mem.Allocator,
    settings: *const Settings,
    hold: bool,
    units: []Unit,
    auditors: []Auditor,
    evidence: *Evidence,
) !void {
    const accounts = try allocator.alloc(Account, settings.accounts);
    for (accounts) |*account| account.* = .{};
    const bank: Bank = .{ .accounts = accounts, .is_one_lock = settings.is_one_lock };
    if (hold) {
        shared.report(io, "::await name=opened", .{});
        shared.lineFromStdin(io);
    }
    const begin = shared.clock(io);
    var counted: std.atomic.Value(u64) = .init(0);
    var auditing: Io.Group = .init;
    for (auditors) |*auditor| {
        auditor.* = .{ .questions = .init(try allocator.alloc(*Answers, places)) };
        try auditing.concurrent(io, Auditor.work, .{ auditor, io, bank, &counted });
    }
    var working: Io.Group = .init;
    for (units, 0..) |*unit, number| {
        unit.made = 0;
        try working.concurrent(io, Unit.work, .{ unit, io, number, settings, bank, auditors, &counted });
    }
    try working.await(io);
    for (auditors) |*auditor| auditor.questions.close(io);
    try auditing.await(io);
    shared.phase(io, "transfer", begin, shared.clock(io));

    for (accounts) |account| {
        const balance: u64 = @intCast(@mod(account.balance, shared.modulus));
        evidence.folded = (31 * evidence.folded + balance) % shared.modulus;
    }
    for (units) |unit| evidence.made += unit.made;
    for (auditors) |auditor| {
        evidence.audits += auditor.audits;
        evidence.wrong += auditor.wrong;
    }
}

/// The smallest of sorted times that so many percent do not exceed; 0 where there is none.
fn at(times: []const u64, percent: usize) u64 {
    return if (times.len == 0) 0 else times[(times.len * percent + 99) / 100 - 1];
}

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const allocator = init.arena.allocator();
    const given: shared.Given = try .read(init);
    const settings: Settings = .{
        .accounts = given.number("accounts", null, 2, 100_000),
        .units = given.number("units", null, 1, 10_000),
        .transfers = given.number("transfers", null, 1, 1_000_000),
        .auditors = given.number("auditors", null, 1, 1000),
        .every = given.number("every", null, 1, 1_000_000),
        .hot = given.number("hot", 0, 0, 100),
        .seed = given.number("seed", 0, 0, std.math.maxInt(u32)),
        .is_one_lock = std.mem.eql(u8, given.oneOf("sharing", &.{ "lock-for-each", "one-lock" }), "one-lock"),
    };
    const hold = given.flag("hold");
    const repeats = given.number("repeats", 1, 1, 3000);
    _ = given.number("cores", 1, 1, 1024); // Unused: the kernel spreads the threads.

    const per_unit = (settings.transfers + timed - 1) / timed;
    const asked = settings.transfers / settings.every;
    const transfer_ns = try allocator.alloc(u64, settings.units * per_unit);
    const audit_ns = try allocator.alloc(u64, settings.units * asked);
    const units = try allocator.alloc(Unit, settings.units);
    for (units, 0..) |*unit, i| unit.* = .{
        .transfer_ns = transfer_ns[i * per_unit ..][0..per_unit],
        .audit_ns = audit_ns[i * asked ..][0..asked],
    };
    const auditors = try allocator.alloc(Auditor, settings.auditors);
    var evidence: Evidence = .{};
    for (0..repeats) |repeat| {
        var arena: std.heap.ArenaAllocator = .init(std.heap.page_allocator);
        defer arena.deinit();
        once(io, arena.allocator(), &settings, hold and repeat == 0, units, auditors, &evidence) catch |failure| {
            // At once: threads that have started still use the accounts.
            std.debug.print("no more threads or memory: {t}\n", .{failure});
            std.process.exit(1);
        };
    }
    std.mem.sort(u64, transfer_ns, {}, std.sort.asc(u64));
    std.mem.sort(u64, audit_ns, {}, std.sort.asc(u64));
    var seen: Io.Writer.Allocating = .init(allocator);
    for ([_][]const u8{ "first", "last" }) |name| {
        try seen.writer.print(" {s}=", .{name});
        for (auditors, 0..) |auditor, i| {
            if (i > 0) try seen.writer.writeByte(',');
            try seen.writer.print("{d}", .{if (name[0] == 'f') auditor.first else auditor.last});
        }
    }
    for ([_][]const u8{ "transfer", "audit" }, [_][]const u64{ transfer_ns, audit_ns }) |name, times| {
        try seen.writer.print(" {0s}_p50_ns={1d} {0s}_p99_ns={2d} {0s}_max_ns={3d}", .{ name, at(times, 50), at(times, 99), at(times, 100) });
    }
    const line = try std.fmt.allocPrint(allocator, "::result balances={d} transfers={d} audits={d} wrong={d}{s}\n", .{
        evidence.folded, evidence.made, evidence.audits, evidence.wrong, seen.written(),
    });
    try Io.File.stdout().writeStreamingAll(io, line);
}
