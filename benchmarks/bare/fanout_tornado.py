import asyncio
import sys

import tornado.httpclient
import tornado.httpserver
import tornado.netutil
import tornado.web

given = dict(argument.split("=", 1) for argument in sys.argv[1:])


class Status(tornado.web.RequestHandler):
    async def get(self):
        client = tornado.httpclient.AsyncHTTPClient()
        headers = {"X-Request-Id": self.request.headers.get("X-Request-Id", "")}
        calls = [client.fetch(url, headers=headers, raise_error=False) for url in given["upstreams"].split(",")]
        for call in asyncio.as_completed(calls):
            self.write(str((await call).code))


class Sum(tornado.web.RequestHandler):
    async def get(self):
        for _ in range(3):
            total = 0
            for number in range(1, int(given["work"])):
                total += number
            self.write(f"{total}\n")


async def main():
    tornado.httpclient.AsyncHTTPClient.configure(None, max_clients=4096)
    application = tornado.web.Application([("/", Sum if given["kind"] == "cpu" else Status)])
    (listening,) = tornado.netutil.bind_sockets(0, "127.0.0.1")
    server = tornado.httpserver.HTTPServer(application)
    server.add_socket(listening)
    print(f"::ready port={listening.getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
