<?php
// A queue between fibers: `get` waits for a value, `put` for a place. PHP's library has none.

declare(strict_types=1);

final class Channel
{
    private SplQueue $values;
    private ?Fiber $getter = null;
    private ?Fiber $putter = null;

    public function __construct(private int $capacity = PHP_INT_MAX)
    {
        $this->values = new SplQueue();
    }

    public function put(mixed $value): void
    {
        while (count($this->values) >= $this->capacity) {
            $this->putter = Fiber::getCurrent();
            Fiber::suspend();
        }
        $this->values->enqueue($value);
        if ($this->getter) {
            Loop::resume($this->getter);
            $this->getter = null;
        }
    }

    public function get(): mixed
    {
        while ($this->values->isEmpty()) {
            $this->getter = Fiber::getCurrent();
            Fiber::suspend();
        }
        $value = $this->values->dequeue();
        if ($this->putter) {
            Loop::resume($this->putter);
            $this->putter = null;
        }
        return $value;
    }
}
