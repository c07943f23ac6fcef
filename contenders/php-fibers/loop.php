<?php
// A loop for fibers: those that can go on, those that sleep, and those that wait for a stream. A fiber that waits
// suspends itself; the loop resumes it.

declare(strict_types=1);

final class Loop
{
    private static ?SplQueue $ready = null;
    private static ?SplPriorityQueue $sleeping = null;
    /** @var array<int, array{resource, Fiber}> */
    private static array $readers = [];
    /** @var array<int, array{resource, Fiber}> */
    private static array $writers = [];

    // Starts a fiber, which runs until it waits.
    public static function spawn(callable $function, mixed ...$arguments): void
    {
        (new Fiber($function))->start(...$arguments);
    }

    public static function resume(Fiber $fiber): void
    {
        self::$ready ??= new SplQueue();
        self::$ready->enqueue($fiber);
    }

    // Gives way to all others that can go on.
    public static function pause(): void
    {
        self::resume(Fiber::getCurrent());
        Fiber::suspend();
    }

    public static function sleepUntil(int $instant): void
    {
        self::$sleeping ??= new SplPriorityQueue();
        self::$sleeping->insert(Fiber::getCurrent(), -$instant);
        Fiber::suspend();
    }

    /** @param resource $stream */
    public static function waitToRead($stream): void
    {
        self::$readers[(int) $stream] = [$stream, Fiber::getCurrent()];
        Fiber::suspend();
    }

    /** @param resource $stream */
    public static function waitToWrite($stream): void
    {
        self::$writers[(int) $stream] = [$stream, Fiber::getCurrent()];
        Fiber::suspend();
    }

    // Until no fiber can go on any more.
    public static function run(): void
    {
        self::$ready ??= new SplQueue();
        self::$sleeping ??= new SplPriorityQueue();
        self::$sleeping->setExtractFlags(SplPriorityQueue::EXTR_BOTH);
        for (;;) {
            while (!self::$ready->isEmpty()) {
                self::$ready->dequeue()->resume();
            }
            $now = clock();
            while (!self::$sleeping->isEmpty() && -self::$sleeping->top()['priority'] <= $now) {
                self::$sleeping->extract()['data']->resume();
            }
            if (!self::$ready->isEmpty()) {
                continue;
            }
            $left = self::$sleeping->isEmpty() ? null : max(0, -self::$sleeping->top()['priority'] - clock());
            if (self::$readers || self::$writers) {
                self::select($left);
            } elseif ($left !== null) {
                time_nanosleep(intdiv($left, SECOND_NS), $left % SECOND_NS);
            } else {
                return;
            }
        }
    }

    private static function select(?int $left): void
    {
        $read = array_column(self::$readers, 0);
        $write = array_column(self::$writers, 0);
        $except = null;
        $microseconds = $left === null ? null : intdiv($left + 999, 1000);
        $seconds = $left === null ? null : intdiv($microseconds, 1_000_000);
        // A signal interrupts it.
        if (@stream_select($read, $write, $except, $seconds, $left === null ? null : $microseconds % 1_000_000) === false) {
            return;
        }
        foreach ([[$read, &self::$readers], [$write, &self::$writers]] as [$streams, &$waiting]) {
            foreach ($streams as $stream) {
                [, $fiber] = $waiting[(int) $stream];
                unset($waiting[(int) $stream]);
                self::$ready->enqueue($fiber);
            }
        }
    }
}
