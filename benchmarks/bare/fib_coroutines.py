import collections
import concurrent.futures
import select
import socket


def fib(n):
    return 1 if n <= 2 else fib(n - 1) + fib(n - 2)


class Loop:
    def __init__(self):
        self.ready = collections.deque()
        self.reading, self.writing, self.computing = {}, {}, {}
        self.woken, self.waker = socket.socketpair()
        self.ready.append(self.wake_ups())

    def wake_ups(self):
        while True:
            yield "read", self.woken
            self.woken.recv(100)

    def computed(self, future):
        self.ready.append(self.computing.pop(future))
        self.waker.send(b".")

    def wait(self, task, what, on):
        if what == "read":
            self.reading[on] = task
        elif what == "write":
            self.writing[on] = task
        else:
            self.computing[on] = task
            on.add_done_callback(self.computed)

    def run(self):
        while True:
            while not self.ready:
                readable, writable, _ = select.select(list(self.reading), list(self.writing), [])
                self.ready.extend(self.reading.pop(one) for one in readable)
                self.ready.extend(self.writing.pop(one) for one in writable)
            task = self.ready.popleft()
            if wanted := next(task, None):
                self.wait(task, *wanted)


def serve(loop, server, pool):
    while True:
        yield "read", server
        client, _ = server.accept()
        loop.ready.append(answer(client, pool))


def answer(client, pool):
    with client:
        while True:
            yield "read", client
            line = client.recv(100)
            if not line:
                return
            future = pool.submit(fib, int(line))
            yield "future", future
            yield "write", client
            client.send(b"%d\n" % future.result())


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0), backlog=5)
    with concurrent.futures.ProcessPoolExecutor(4) as processes:
        processes.submit(fib, 1).result()
        print(f"::ready port={listening.getsockname()[1]}", flush=True)
        every = Loop()
        every.ready.append(serve(every, listening, processes))
        every.run()
