// The fan-out gateway: a goroutine for each call, a channel for what they found.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"time"

	"ringside/contenders/go/service"
	"ringside/contenders/go/settings"
)

// calls is the number of calls, or sums, for each request.
const calls = 3

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	kind := given.Needed("kind", "io", "cpu", "mixed")
	tick := given.WholeNumberOr("tick_ms", 1, settings.Most, 50)
	timeout := given.WholeNumberOr("timeout_ms", 1, settings.Most, 5000)
	work := given.WholeNumberOr("work", 1, settings.Most, 100_000)

	var body http.HandlerFunc
	if kind == "cpu" {
		body = func(w http.ResponseWriter, _ *http.Request) { sums(w, work) }
	} else {
		piece := func(status int) string { return fmt.Sprintf("%03d", status) }
		if kind == "mixed" {
			piece = func(status int) string { return fmt.Sprintf("%03d:%d\n", status, sum(work)) }
		}
		// By default two idle connections to a host are kept, for which 0 stands.
		kept := map[string]int{"kept": 1024, "default": 0}[given.OneOf("connections", "kept", "default")]
		body = newGateway(
			given.URLs("upstreams", calls),
			time.Duration(tick)*time.Millisecond,
			time.Duration(timeout)*time.Millisecond,
			kept,
			piece,
		).pieces
	}
	server := http.Server{
		Handler: onlyGetRoot(body),
		// Nothing is printed for a connection.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	service.Run(given.Host(), given.Port(), func(listener net.Listener) { _ = server.Serve(listener) })
}

// onlyGetRoot is no ServeMux: that would redirect paths such as `//`.
func onlyGetRoot(body http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
		default:
			w.Header().Set("Content-Type", "text/plain")
			body(w, r)
		}
	})
}

type gateway struct {
	upstreams []string
	tick      time.Duration
	// piece is the text for a status.
	piece  func(status int) string
	client http.Client
}

func newGateway(
	upstreams []string, tick, timeout time.Duration, kept int, piece func(int) string,
) *gateway {
	return &gateway{
		upstreams: upstreams,
		tick:      tick,
		piece:     piece,
		client: http.Client{
			Timeout: timeout,
			Transport: &http.Transport{
				MaxIdleConnsPerHost: kept,
				IdleConnTimeout:     90 * time.Second,
				DisableCompression:  true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// pieces writes what is made of each upstream's status when it is there, and a
// dot for every tick in which nothing was written.
func (g *gateway) pieces(w http.ResponseWriter, r *http.Request) {
	// Room for all: a call does not wait for a client that went away.
	found := make(chan string, len(g.upstreams))
	for _, upstream := range g.upstreams {
		upstream := upstream
		go func() { found <- g.piece(g.call(r.Context(), upstream, r.Header["X-Request-Id"])) }()
	}
	for missing := len(g.upstreams); missing > 0; {
		tick := time.NewTimer(g.tick)
		select {
		case piece := <-found:
			missing--
			io.WriteString(w, piece)
		case <-tick.C:
			fmt.Fprint(w, ".")
		case <-r.Context().Done():
			missing = 0
		}
		tick.Stop()
		// The last piece goes out with the end of the body.
		if missing > 0 {
			w.(http.Flusher).Flush()
		}
	}
}

// call returns an upstream's status; 400 stands for any failure.
func (g *gateway) call(ctx context.Context, upstream string, id []string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream, nil)
	if err != nil {
		return http.StatusBadRequest
	}
	if id != nil {
		request.Header["X-Request-Id"] = id
	}
	response, err := g.client.Do(request)
	if err != nil {
		return http.StatusBadRequest
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return http.StatusBadRequest
	}
	return response.StatusCode
}

// sums writes the sums of three goroutines, each when it is there.
func sums(w http.ResponseWriter, work int) {
	found := make(chan int, calls)
	for i := 0; i < calls; i++ {
		go func() { found <- sum(work) }()
	}
	for i := 0; i < calls; i++ {
		fmt.Fprintln(w, <-found)
		if i < calls-1 {
			w.(http.Flusher).Flush()
		}
	}
}

func sum(work int) int {
	total := 0
	for i := 1; i < work; i++ {
		total += i
	}
	return total
}
