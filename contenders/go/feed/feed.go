// The feed: a goroutine for each connection, which waits for its timer and writes.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"ringside/contenders/go/service"
	"ringside/contenders/go/settings"
)

// longest is the number of digits that an ID may have.
const longest = 20

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	pauses := newPauses[given.OneOf("wait", "timer", "ticker", "sleep")]
	// Without the flush, lines wait in a buffer of the server until it is full.
	flushes := given.OneOf("flush", "each", "first") == "each"
	interval := time.Duration(given.WholeNumberOr("interval_ms", 1, 3_600_000, 1000)) * time.Millisecond
	server := http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := strings.TrimPrefix(r.URL.Path, "/test/")
			switch {
			case id == r.URL.Path || !isID(id):
				http.NotFound(w, r)
			case r.Method != http.MethodGet:
				w.Header().Set("Allow", http.MethodGet)
				http.Error(w, "only GET", http.StatusMethodNotAllowed)
			default:
				w.Header().Set("Content-Type", "text/plain")
				feed(w, r, id, flushes, func() pause { return pauses(interval) })
			}
		}),
		// Nothing is printed for a connection.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	service.Run(given.Host(), given.Port(), func(listener net.Listener) { _ = server.Serve(listener) })
}

func isID(text string) bool {
	other := func(char rune) bool { return char < '0' || char > '9' }
	return text != "" && len(text) <= longest && strings.IndexFunc(text, other) < 0
}

// pause waits for the next instant; false where the client has gone.
type pause func(gone <-chan struct{}) bool

var newPauses = map[string]func(time.Duration) pause{"timer": timer, "ticker": ticker, "sleep": sleep}

// timer keeps every instant, also while a client holds its feed back.
func timer(interval time.Duration) pause {
	due := time.Now().Add(interval)
	timer := time.NewTimer(interval)
	return func(gone <-chan struct{}) bool {
		select {
		case <-gone:
			timer.Stop()
			return false
		case <-timer.C:
		}
		due = due.Add(interval)
		timer.Reset(time.Until(due))
		return true
	}
}

// ticker drops ticks while a client holds its feed back.
func ticker(interval time.Duration) pause {
	ticker := time.NewTicker(interval)
	return func(gone <-chan struct{}) bool {
		select {
		case <-gone:
			ticker.Stop()
			return false
		case <-ticker.C:
			return true
		}
	}
}

func sleep(interval time.Duration) pause {
	due := time.Now()
	return func(gone <-chan struct{}) bool {
		due = due.Add(interval)
		time.Sleep(time.Until(due))
		select {
		case <-gone:
			return false
		default:
			return true
		}
	}
}

// feed writes until the client has gone; the server cancels the request's context
// when a write fails.
func feed(w http.ResponseWriter, r *http.Request, id string, flushes bool, start func() pause) {
	flusher := w.(http.Flusher)
	fmt.Fprintf(w, "Welcome: %s\n", id)
	flusher.Flush()
	next := start()
	for k := 1; next(r.Context().Done()); k++ {
		fmt.Fprintf(w, "Chunk %d for %s\n", k, id)
		if flushes {
			flusher.Flush()
		}
	}
}
