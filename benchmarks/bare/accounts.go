// accounts.go ACCOUNTS UNITS TRANSFERS EVERY: transfers between accounts with a mutex each, and now and then their
// sum, by a goroutine that units ask. Prints the nanoseconds it took and what the balances come to.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const modulus = 2147483647

type account struct {
	sync.Mutex
	balance int64
}

func main() {
	runtime.GOMAXPROCS(1)
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(os.Args[1+i])
	}
	accounts, units, transfers, every := make([]account, n[0]), n[1], n[2], n[3]
	for i := range accounts {
		accounts[i].balance = 1000
	}
	begin := time.Now()
	sums := make(chan chan int64)
	go func() {
		for answer := range sums {
			for i := range accounts {
				accounts[i].Lock()
			}
			var sum int64
			for i := range accounts {
				sum += accounts[i].balance
			}
			for i := range accounts {
				accounts[i].Unlock()
			}
			answer <- sum
		}
	}()
	var working sync.WaitGroup
	for u := range units {
		working.Add(1)
		go func() {
			defer working.Done()
			work(accounts, 1+u%(modulus-1), transfers, every, sums)
		}()
	}
	working.Wait()
	elapsed := time.Since(begin).Nanoseconds()
	fold := int64(0)
	for i := range accounts {
		fold = (31*fold + (accounts[i].balance%modulus+modulus)%modulus) % modulus
	}
	fmt.Println(elapsed, fold)
}

func work(accounts []account, x, transfers, every int, sums chan<- chan int64) {
	answer := make(chan int64)
	for i := 1; i <= transfers; i++ {
		x = 48271 * x % modulus
		amount := int64(1 + x%1000)
		x = 48271 * x % modulus
		source := x % len(accounts)
		x = 48271 * x % modulus
		target := x % (len(accounts) - 1)
		if target >= source {
			target++
		}
		move(accounts, source, target, amount)
		if i%every == 0 {
			sums <- answer
			if <-answer != int64(len(accounts))*1000 {
				panic("a wrong sum")
			}
		}
	}
}

func move(accounts []account, source, target int, amount int64) {
	first, second := &accounts[min(source, target)], &accounts[max(source, target)]
	first.Lock()
	defer first.Unlock()
	second.Lock()
	defer second.Unlock()
	accounts[source].balance -= amount
	accounts[target].balance += amount
}
