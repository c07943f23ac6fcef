package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func call(url, id string, statuses chan<- int) {
	request, _ := http.NewRequest("GET", url, nil)
	request.Header.Set("X-Request-Id", id)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		statuses <- 400
		return
	}
	statuses <- response.StatusCode
	response.Body.Close()
}

func sum(below int, sums chan<- int) {
	total := 0
	for i := 1; i < below; i++ {
		total += i
	}
	sums <- total
}

func main() {
	given := map[string]string{}
	for _, argument := range os.Args[1:] {
		key, value, _ := strings.Cut(argument, "=")
		given[key] = value
	}
	urls := strings.Split(given["upstreams"], ",")
	below, _ := strconv.Atoi(given["work"])
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		found := make(chan int, 3)
		if given["kind"] == "cpu" {
			for range 3 {
				go sum(below, found)
			}
			for range 3 {
				fmt.Fprintf(w, "%d\n", <-found)
			}
			return
		}
		for _, url := range urls {
			go call(url, r.Header.Get("X-Request-Id"), found)
		}
		for left := len(urls); left > 0; {
			select {
			case status := <-found:
				fmt.Fprintf(w, "%d", status)
				left--
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("::ready port=%d\n", server.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(server, nil))
}
