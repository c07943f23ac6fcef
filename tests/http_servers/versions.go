// HTTP/1.1 and HTTP/2, plain and inside TLS: what is sent comes back, with the version; early replies.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
		fmt.Fprintf(w, "%s %s", r.Proto, r.URL.Path)
	})
	http.HandleFunc("/early/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early/413" {
			w.WriteHeader(413)
		}
		io.WriteString(w, "no need")
	})
	both := new(http.Protocols)
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	plain, _ := net.Listen("tcp", "127.0.0.1:0")
	secure, _ := net.Listen("tcp", "127.0.0.1:0")
	go (&http.Server{Protocols: both}).Serve(plain)
	fmt.Println(plain.Addr().(*net.TCPAddr).Port, secure.Addr().(*net.TCPAddr).Port)
	http.ServeTLS(secure, nil, os.Args[1], os.Args[2])
}
