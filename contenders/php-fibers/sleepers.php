<?php
// The sleepers: a fiber for each, and a queue to the one that collects.

declare(strict_types=1);

require __DIR__ . '/settings.php';
require __DIR__ . '/loop.php';
require __DIR__ . '/channel.php';

const FACTOR = 48271;
const REPORTS = 10;

function sleeper(int $number, int $instant, Channel $numbers): void
{
    Loop::sleepUntil($instant);
    $numbers->put([$number, clock() - $instant]);
}

function collect(int $tasks, int $begin, Channel $numbers): void
{
    $reports = min(REPORTS, $tasks);
    $came = $late = [];
    for ($i = 1; $i <= $tasks; $i++) {
        [$came[], $late[]] = $numbers->get();
        if (intdiv($i * $reports, $tasks) > intdiv(($i - 1) * $reports, $tasks)) {
            phase('wake', clock() - $begin);
        }
    }
    sort($came);
    sort($late);
    $order = array_reduce($came, fn (int $order, int $number): int => (31 * $order + $number) % MODULUS, 0);
    // The smallest lateness that so many percent do not exceed.
    [$half, $most, $all] = array_map(fn (int $percent): int => $late[intdiv($tasks * $percent + 99, 100) - 1], [50, 99, 100]);
    report('::result sum=' . array_sum($came) . " order=$order late_p50_ns=$half late_p99_ns=$most late_max_ns=$all");
}

$tasks = wholeNumber('tasks', null, 1, 1_000_000);
$seconds = wholeNumber('seconds', null, 2, 3600);
$seed = wholeNumber('seed', '0', 0, 4_294_967_295);
$hold = oneOf('hold', '0', '0', '1') === '1';
wholeNumber('cores', '1', 1, 1024); // Unused: there is one thread.

$begin = clock();
$lastSecond = $begin + ($seconds - 1) * SECOND_NS;
$numbers = new Channel();
$number = 1 + $seed % (MODULUS - 1);
for ($i = 0; $i < $tasks; $i++) {
    $number = FACTOR * $number % MODULUS;
    Loop::spawn(sleeper(...), $number, $lastSecond + intdiv($number * SECOND_NS, MODULUS), $numbers);
}
// A fiber runs up to its sleep when it is started.
phase('start', clock() - $begin);
Loop::spawn(function () use ($hold, $tasks, $begin, $numbers): void {
    if ($hold) {
        report('::await name=started');
        Loop::waitToRead(STDIN);
        fgets(STDIN);
    }
    collect($tasks, $begin, $numbers);
});
Loop::run();
