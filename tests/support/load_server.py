"""A small server for loads: HTTP/1.1 with connections that are kept, streams, and lines. Prints two ports."""

import http.server
import socketserver
import threading
import time


class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        if self.path.startswith("/stream/"):
            self.stream(self.path.rpartition("/")[2])
            return
        if self.path.startswith("/head"):  # what came before the body
            sent = f"{self.requestline}\n{self.headers}".encode()
        status = {"/missing": 404, "/elsewhere": 302}.get(self.path, 200)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/missing")
        body = sent or b"hello\n"
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def stream(self, name: str) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        begun = time.monotonic()
        self.chunk(f"Welcome: {name}\n")
        for k in range(1, 1000):
            time.sleep(max(0.0, begun + 0.1 * k - time.monotonic()))
            self.chunk(f"Chunk {k} for {name}\n")

    def chunk(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Lines(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(b"%d\n" % (int(line) + 1))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_: object) -> None:
        """Clients that go away are expected."""


if __name__ == "__main__":
    served = [Server(("127.0.0.1", 0), handler) for handler in (Http, Lines)]
    for server in served:
        threading.Thread(target=server.serve_forever).start()
    print(*(server.server_address[1] for server in served), flush=True)
