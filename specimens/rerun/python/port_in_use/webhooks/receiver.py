"""The HTTP end of the shop's webhooks."""
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer

from webhooks.inbox import inbox


class Receiver:
    def __init__(self, port):
        self._server = Server(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self):
        """Leaves gracefully: goes on listening until everything that was accepted is worked off."""
        inbox.when_empty(self._leave)

    def _leave(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server(TCPServer):
    # A connection that was closed a moment ago does not keep the port; a server that listens does.
    allow_reuse_address = True


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self._answer(200, b"%d waiting" % len(inbox))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        inbox.put(body.decode())
        self._answer(202, b"accepted")

    def _answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
