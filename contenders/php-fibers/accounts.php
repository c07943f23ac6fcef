<?php
// The accounts: a fiber for each unit and each auditor. A fiber that does not suspend itself is not interrupted, so a
// transfer needs no lock.

declare(strict_types=1);

require __DIR__ . '/settings.php';
require __DIR__ . '/loop.php';
require __DIR__ . '/channel.php';

const FACTOR = 48271;
const OPENING_BALANCE = 1000;
// A unit reads the clock before and after one of so many transfers.
const TIMED = 16;

final class Bank
{
    /** @var int[] */
    private array $balances;

    public function __construct(int $accounts)
    {
        $this->balances = array_fill(0, $accounts, OPENING_BALANCE);
    }

    public function transfer(int $source, int $target, int $amount): void
    {
        $this->balances[$source] -= $amount;
        $this->balances[$target] += $amount;
    }

    /** @return int[] a copy: arrays are values */
    public function balances(): array
    {
        return $this->balances;
    }
}

// The records of units in one repeat.
final class Books
{
    public int $counted = 0;
    public int $finished = 0;
    /** @var int[] */
    public array $transferNs = [];
    /** @var int[] */
    public array $auditNs = [];
}

// Adds up all accounts for each unit that asks.
final class Auditor
{
    public int $audits = 0;
    public int $wrong = 0;
    // How many transfers had been counted at the first audit, and at the last.
    public int $first = 0;
    public int $last = 0;
    public Channel $questions;

    public function __construct()
    {
        $this->questions = new Channel();
    }

    public function work(Bank $bank, Books $books): void
    {
        while ($answer = $this->questions->get()) {
            $balances = $bank->balances();
            $total = array_sum($balances);
            $this->wrong += $total === count($balances) * OPENING_BALANCE ? 0 : 1;
            $this->last = $books->counted;
            if ($this->audits++ === 0) {
                $this->first = $this->last;
            }
            $answer->put($total);
        }
    }
}

final class Problem
{
    public function __construct(
        public readonly int $accounts,
        public readonly int $units,
        public readonly int $transfers,
        public readonly int $auditors,
        public readonly int $every,
        public readonly int $hot,
        public readonly int $seed,
    ) {
    }

    // A unit makes its transfers. After every so many of them it waits for an audit.
    public function work(int $unit, Bank $bank, Books $books, array $auditors): void
    {
        $x = 1 + ($this->seed + $unit) % (MODULUS - 1);
        $answer = new Channel();
        for ($made = 0, $turn = $unit; $made < $this->transfers;) {
            $x = FACTOR * $x % MODULUS;
            $amount = 1 + $x % 1000;
            $isHot = intdiv($x, 1000) % 100 < $this->hot;
            $x = FACTOR * $x % MODULUS;
            $source = $isHot ? 0 : $x % $this->accounts;
            $x = FACTOR * $x % MODULUS;
            $target = $x % ($this->accounts - 1);
            $target += $target >= $source ? 1 : 0;
            if ($made % TIMED === 0) {
                $begin = clock();
                $bank->transfer($source, $target, $amount);
                $books->transferNs[] = clock() - $begin;
            } else {
                $bank->transfer($source, $target, $amount);
            }
            $books->finished++;
            if (++$made % $this->every === 0) {
                $books->counted += $this->every;
                $begin = clock();
                $auditors[$turn++ % $this->auditors]->questions->put($answer);
                $answer->get();
                $books->auditNs[] = clock() - $begin;
            } else {
                Loop::pause();
            }
        }
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

$problem = new Problem(
    wholeNumber('accounts', null, 2, 100_000),
    wholeNumber('units', null, 1, 10_000),
    wholeNumber('transfers', null, 1, 1_000_000),
    wholeNumber('auditors', null, 1, 1000),
    wholeNumber('every', null, 1, 1_000_000),
    wholeNumber('hot', '0', 0, 100),
    wholeNumber('seed', '0', 0, 4_294_967_295),
);
$hold = oneOf('hold', '0', '0', '1') === '1';
$repeats = wholeNumber('repeats', '1', 1, 3000);
wholeNumber('cores', '1', 1, 1024); // Unused: there is one thread.

$folded = $finished = $audits = $wrong = 0;
for ($time = 1; $time <= $repeats; $time++) {
    $bank = new Bank($problem->accounts);
    if ($hold && $time === 1) {
        report('::await name=opened');
        fgets(STDIN);
    }
    $begin = clock();
    $books = new Books();
    $auditors = [];
    for ($i = 0; $i < $problem->auditors; $i++) {
        $auditors[] = $auditor = new Auditor();
        Loop::spawn($auditor->work(...), $bank, $books);
    }
    for ($unit = 0; $unit < $problem->units; $unit++) {
        Loop::spawn($problem->work(...), $unit, $bank, $books, $auditors);
    }
    Loop::run();
    foreach ($auditors as $auditor) {
        $auditor->questions->put(null);
    }
    Loop::run();
    phase('transfer', clock() - $begin);
    foreach ($bank->balances() as $balance) {
        $folded = (31 * $folded + ($balance % MODULUS + MODULUS) % MODULUS) % MODULUS;
    }
    $finished += $books->finished;
    $audits += array_sum(array_column($auditors, 'audits'));
    $wrong += array_sum(array_column($auditors, 'wrong'));
}
$first = implode(',', array_column($auditors, 'first'));
$last = implode(',', array_column($auditors, 'last'));
$times = percentiles('transfer', $books->transferNs) . ' ' . percentiles('audit', $books->auditNs);
report("::result balances=$folded transfers=$finished audits=$audits wrong=$wrong first=$first last=$last $times");
