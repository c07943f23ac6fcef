"""The server of `load_server` inside TLS: HTTP/1.1, streams. Arguments: certificate, key. Prints its port."""

from __future__ import annotations

import socket
import ssl
import sys

from tests.support.load_server import Http, Server


class Secure(Server):
    def __init__(self, certificate: str, key: str) -> None:
        super().__init__(("127.0.0.1", 0), Http)
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(certificate, key)

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        # The handshake belongs to the thread of the connection.
        return self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address


if __name__ == "__main__":
    server = Secure(*sys.argv[1:])
    print(server.server_address[1], flush=True)
    server.serve_forever()
