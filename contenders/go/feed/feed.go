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
				feed(w, r, id, interval)
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

// feed writes until the client has gone; the server cancels the request's context
// when a write fails. A time.Ticker would drop ticks while a client holds its feed
// back.
func feed(w http.ResponseWriter, r *http.Request, id string, interval time.Duration) {
	flusher := w.(http.Flusher)
	fmt.Fprintf(w, "Welcome: %s\n", id)
	flusher.Flush()
	due := time.Now().Add(interval)
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for k := 1; ; k++ {
		select {
		case <-r.Context().Done():
			return
		case <-timer.C:
		}
		fmt.Fprintf(w, "Chunk %d for %s\n", k, id)
		flusher.Flush()
		due = due.Add(interval)
		timer.Reset(time.Until(due))
	}
}
