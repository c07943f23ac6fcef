// The routes of the other servers here, by net/http: HTTP/1.1 and HTTP/2, inside TLS with a certificate and its key.
// Arguments: an idle time, and the two files or nothing. Prints its port.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Checksum")
		io.WriteString(w, "he")
		w.(http.Flusher).Flush()
		io.WriteString(w, "llo")
		w.Header().Set("X-Checksum", "5")
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) {
		for _, letter := range []byte("hello") {
			w.Write([]byte{letter})
			w.(http.Flusher).Flush()
		}
	})
	// Without a length and without chunks: the end of the connection is the end of the body.
	mux.HandleFunc("/open", func(w http.ResponseWriter, _ *http.Request) {
		connection, stream, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		stream.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
		stream.Flush()
		connection.Close()
	})
	mux.HandleFunc("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/304", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(304)
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</x.css>; rel=preload")
		w.WriteHeader(103)
		w.WriteHeader(103)
		io.WriteString(w, "hello")
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		w.Write(body)
	})
	large := bytes.Repeat([]byte("x"), 100_000)
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { w.Write(large) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	idle, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	server := http.Server{Handler: mux, IdleTimeout: idle}
	if len(os.Args) > 3 {
		panic(server.ServeTLS(listener, os.Args[2], os.Args[3]))
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	panic(server.Serve(listener))
}
