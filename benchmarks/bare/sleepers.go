// N goroutines that sleep until an instant in the last of S seconds, each its own, and a channel to the main
// one. PROGRAM N S prints the sum of their numbers.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"time"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	seconds, _ := strconv.Atoi(os.Args[2])
	runtime.GOMAXPROCS(1)
	lastSecond := time.Now().Add(time.Duration(seconds-1) * time.Second)
	random := rand.New(rand.NewSource(1))
	awake := make(chan int)
	for i := 0; i < n; i++ {
		instant := lastSecond.Add(time.Duration(random.Int63n(int64(time.Second))))
		go func(number int) {
			time.Sleep(time.Until(instant))
			awake <- number
		}(i)
	}
	sum := 0
	for i := 0; i < n; i++ {
		sum += <-awake
	}
	fmt.Println(sum)
}
