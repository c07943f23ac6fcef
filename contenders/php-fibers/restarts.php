<?php
// The restarts: a fiber for each unit. An exception that leaves a unit's code ends its fiber, which tells the collector,
// and that starts another one.

declare(strict_types=1);

require __DIR__ . '/settings.php';
require __DIR__ . '/loop.php';
require __DIR__ . '/channel.php';

const FACTOR = 48271;

final class Failure extends Exception
{
}

// A unit. It runs up to its first message when its fiber is started.
function serve(int $unit, Channel $inbox, Channel $events): never
{
    $born = clock();
    $handled = $folded = 0;
    for (;;) {
        [$number, $fails] = $inbox->get();
        if ($fails) {
            throw new Failure('a message that makes its unit fail');
        }
        $handled++;
        $folded = (31 * $folded + $number) % MODULUS;
        $events->put([$unit, $handled, $folded, $born]);
    }
}

// The queue of a new unit. As a future of amphp's does, its fiber hands on what its function threw.
function start(int $unit, Channel $events): Channel
{
    $inbox = new Channel();
    Loop::spawn(function () use ($unit, $inbox, $events): void {
        try {
            serve($unit, $inbox, $events);
        } catch (Failure) {
            $events->put([$unit, null]);
        }
    });
    return $inbox;
}

// What the collector knows of its units: each one's next message, its answers and failures.
final class Books
{
    public int $open = 0; // units with messages left
    private bool $isFailing = false;
    /** @var array<array{number: int, left: int, folded: int, sent: int, failed: int}> */
    private array $units = [];
    private int $answers = 0;
    private int $failures = 0;
    private int $fresh = 0;
    /** @var array<string, int[]> */
    private array $times = ['answer' => [], 'recovery' => [], 'calm' => []];

    public function __construct(private int $messages, private int $failingBelow, int $units, int $seed)
    {
        for ($unit = 0; $unit < $units; $unit++) {
            // `failed`: when the message was sent that made it fail; 0 when it has answered since.
            $number = 1 + ($seed + $unit) % (MODULUS - 1);
            $this->units[] = ['number' => $number, 'left' => 0, 'folded' => 0, 'sent' => 0, 'failed' => 0];
        }
    }

    public function begin(bool $isFailing): void
    {
        $this->isFailing = $isFailing;
        $this->times[$isFailing ? 'answer' : 'calm'] = [];
        $this->open = count($this->units);
        foreach ($this->units as &$unit) {
            $unit['left'] = $this->messages;
        }
    }

    // The unit's next message, which is sent now.
    public function message(int $index): array
    {
        $unit = &$this->units[$index];
        $number = $unit['number'] = FACTOR * $unit['number'] % MODULUS;
        $unit['left']--;
        $fails = $this->isFailing && $number < $this->failingBelow && $unit['left'] > 0 && $unit['failed'] === 0;
        $unit['sent'] = clock();
        return [$number, $fails];
    }

    public function failed(int $index): void
    {
        $this->failures++;
        $this->units[$index]['failed'] = $this->units[$index]['sent'];
    }

    // Takes an answer, and returns whether the unit has another message.
    public function answered(int $index, int $handled, int $folded, int $born): bool
    {
        $now = clock();
        $unit = &$this->units[$index];
        if ($unit['failed'] > 0) {
            $this->fresh += $born >= $unit['failed'] ? 1 : 0;
            $this->times['recovery'][] = $now - $unit['failed'];
            $unit['failed'] = 0;
        } else {
            $this->times[$this->isFailing ? 'answer' : 'calm'][] = $now - $unit['sent'];
        }
        $this->answers++;
        $unit['folded'] = (31 * $unit['folded'] + $folded + $handled) % MODULUS;
        if ($unit['left'] === 0) {
            $this->open--;
        }
        return $unit['left'] > 0;
    }

    public function report(): void
    {
        $order = array_reduce($this->units, fn (int $order, array $unit): int => (31 * $order + $unit['folded']) % MODULUS, 0);
        $times = implode(' ', array_map(percentiles(...), array_keys($this->times), $this->times));
        report("::result answers=$this->answers failures=$this->failures fresh=$this->fresh order=$order $times");
    }
}

// The smallest times that so many percent do not exceed; 0 where there is none.
function percentiles(string $name, array $times): string
{
    $times = $times ?: [0];
    sort($times);
    [$half, $most, $all] = array_map(fn (int $percent): int => $times[intdiv(count($times) * $percent + 99, 100) - 1], [50, 99, 100]);
    return "{$name}_p50_ns=$half {$name}_p99_ns=$most {$name}_max_ns=$all";
}

function collect(Books $books, Channel $events, array $inboxes): void
{
    foreach (['warm', 'failing', 'calm'] as $pass) {
        $begin = clock();
        $books->begin($pass === 'failing');
        foreach ($inboxes as $unit => $inbox) {
            $inbox->put($books->message($unit));
        }
        while ($books->open > 0) {
            $event = $events->get();
            $unit = $event[0];
            if ($event[1] === null) {
                $books->failed($unit);
                $inboxes[$unit] = start($unit, $events);
            } elseif (!$books->answered(...$event)) {
                continue;
            }
            $inboxes[$unit]->put($books->message($unit));
        }
        phase($pass, clock() - $begin);
    }
    $books->report();
}

$units = wholeNumber('units', null, 1, 100_000);
$messages = wholeNumber('messages', null, 2, 1_000_000);
$every = wholeNumber('every', null, 2, 1_000_000);
$seed = wholeNumber('seed', '0', 0, 4_294_967_295);
wholeNumber('cores', '1', 1, 1024); // Unused: there is one thread.

$begin = clock();
$events = new Channel();
$inboxes = [];
for ($unit = 0; $unit < $units; $unit++) {
    $inboxes[] = start($unit, $events);
}
phase('start', clock() - $begin);
$books = new Books($messages, intdiv(MODULUS, $every), $units, $seed);
Loop::spawn(collect(...), $books, $events, $inboxes);
Loop::run();
