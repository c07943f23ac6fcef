"""An HTTP/1.1 connection: h11 reads and writes, Trio's streams carry."""

import h11

PIECE_BYTES = 16 * 1024


class Connection:
    """A client's connection. What is no HTTP is an h11.RemoteProtocolError."""

    def __init__(self, stream):
        self.stream = stream
        self.protocol = h11.Connection(h11.SERVER)

    async def next_request(self):
        """None at the end."""
        while True:
            event = self.protocol.next_event()
            if event is h11.NEED_DATA:
                self.protocol.receive_data(await self.stream.receive_some(PIECE_BYTES))
            elif isinstance(event, h11.Request):
                return event
            elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                return None

    async def finish(self):
        """Reads the rest of the request. Whether there can be another."""
        while self.protocol.their_state is h11.SEND_BODY:
            if self.protocol.next_event() is h11.NEED_DATA:
                self.protocol.receive_data(await self.stream.receive_some(PIECE_BYTES))
        if self.protocol.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return False
        self.protocol.start_next_cycle()
        return True

    async def send(self, *events):
        """Sends events of h11 together."""
        await self.stream.send_all(b"".join(self.protocol.send(event) for event in events))

    async def refuse(self, status, *headers):
        head = h11.Response(status_code=status, headers=[("Content-Length", "0"), *headers])
        await self.send(head, h11.EndOfMessage())


def ok():
    """The head of a body that is sent in chunks."""
    return h11.Response(
        status_code=200, headers=[("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")]
    )


def path_of(request):
    return request.target.partition(b"?")[0]
