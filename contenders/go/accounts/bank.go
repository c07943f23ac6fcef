package main

import "sync"

const openingBalance = 1000

// bank is what all units and auditors share.
type bank interface {
	// client is what one goroutine uses of it.
	client() client
	close()
}

// client has the two operations. balances makes a consistent copy, in the order
// of the accounts.
type client interface {
	transfer(source, target int, amount int64)
	balances(into []int64)
}

type account struct {
	sync.Mutex
	balance int64
}

// lockForEach has a mutex for each account. Who needs several takes them in the
// order of the accounts, so that no two wait for each other.
type lockForEach []account

func newLockForEach(accounts int) lockForEach {
	b := make(lockForEach, accounts)
	for i := range b {
		b[i].balance = openingBalance
	}
	return b
}

func (b lockForEach) client() client { return b }
func (b lockForEach) close()         {}

func (b lockForEach) transfer(source, target int, amount int64) {
	first, second := &b[min(source, target)], &b[max(source, target)]
	first.Lock()
	defer first.Unlock()
	second.Lock()
	defer second.Unlock()
	b[source].balance -= amount
	b[target].balance += amount
}

func (b lockForEach) balances(into []int64) {
	for i := range b {
		b[i].Lock()
	}
	for i := range b {
		into[i] = b[i].balance
	}
	for i := range b {
		b[i].Unlock()
	}
}

// oneLock has one mutex for all accounts.
type oneLock struct {
	sync.Mutex
	accounts []int64
}

func newOneLock(accounts int) *oneLock {
	return &oneLock{accounts: opened(accounts)}
}

func (b *oneLock) client() client { return b }
func (b *oneLock) close()         {}

func (b *oneLock) transfer(source, target int, amount int64) {
	b.Lock()
	defer b.Unlock()
	b.accounts[source] -= amount
	b.accounts[target] += amount
}

func (b *oneLock) balances(into []int64) {
	b.Lock()
	defer b.Unlock()
	copy(into, b.accounts)
}

// owner is a goroutine that alone has the accounts. Others send it what they
// want, and wait until it is done.
type owner chan request

// request is a transfer, or with a slice the wish for all balances.
type request struct {
	source, target int
	amount         int64
	into           []int64
	done           chan struct{}
}

func newOwner(accounts int) owner {
	requests := make(owner)
	go func() {
		accounts := opened(accounts)
		for r := range requests {
			if r.into != nil {
				copy(r.into, accounts)
			} else {
				accounts[r.source] -= r.amount
				accounts[r.target] += r.amount
			}
			r.done <- struct{}{}
		}
	}()
	return requests
}

func (o owner) client() client { return &correspondent{o, make(chan struct{})} }
func (o owner) close()         { close(o) }

// correspondent is a goroutine that asks the owner, and its channel for answers.
type correspondent struct {
	owner owner
	done  chan struct{}
}

func (c *correspondent) ask(r request) {
	r.done = c.done
	c.owner <- r
	<-c.done
}

func (c *correspondent) transfer(source, target int, amount int64) {
	c.ask(request{source: source, target: target, amount: amount})
}

func (c *correspondent) balances(into []int64) { c.ask(request{into: into}) }

// coordinator is a goroutine that puts transfers and audits in an order, and hands
// each on to the goroutines of the accounts that it is about. A channel keeps its
// order, so every account gets an audit after the transfers before it and before
// those that come later.
type coordinator chan order

// order is a transfer, or the wish for all balances. Accounts answer the channel.
type order struct {
	source, target int
	amount         int64
	answers        chan<- holding
	isAudit        bool
}

// step is what an account adds, 0 for an audit, before it answers.
type step struct {
	amount  int64
	answers chan<- holding
}

// holding is the answer of an account.
type holding struct {
	account int
	balance int64
}

func newCoordinator(accounts int) coordinator {
	orders := make(coordinator)
	steps := make([]chan step, accounts)
	for i := range steps {
		steps[i] = make(chan step)
		go own(i, steps[i])
	}
	go func() {
		for o := range orders {
			if o.isAudit {
				for _, account := range steps {
					account <- step{answers: o.answers}
				}
			} else {
				steps[o.source] <- step{amount: -o.amount, answers: o.answers}
				steps[o.target] <- step{amount: o.amount, answers: o.answers}
			}
		}
		for _, account := range steps {
			close(account)
		}
	}()
	return orders
}

// own has one account.
func own(account int, steps <-chan step) {
	balance := int64(openingBalance)
	for s := range steps {
		balance += s.amount
		s.answers <- holding{account, balance}
	}
}

func (c coordinator) client() client { return &customer{c, make(chan holding)} }
func (c coordinator) close()         { close(c) }

// customer is a goroutine that sends orders, and its channel for answers.
type customer struct {
	coordinator coordinator
	answers     chan holding
}

func (c *customer) transfer(source, target int, amount int64) {
	c.coordinator <- order{source: source, target: target, amount: amount, answers: c.answers}
	<-c.answers
	<-c.answers
}

func (c *customer) balances(into []int64) {
	c.coordinator <- order{answers: c.answers, isAudit: true}
	for range into {
		h := <-c.answers
		into[h.account] = h.balance
	}
}

func opened(accounts int) []int64 {
	balances := make([]int64, accounts)
	for i := range balances {
		balances[i] = openingBalance
	}
	return balances
}
