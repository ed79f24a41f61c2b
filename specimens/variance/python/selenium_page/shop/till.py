"""A till with a page of its own, on the loopback interface."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PRICES = {"tea": 2, "milk": 1, "rice": 3, "salt": 1, "soap": 4}

PAGE = """<!doctype html><title>Till</title><h1>Till</h1>
<label><input type=checkbox id=bag> With a bag</label>
<label>Pay by <select id=by><option>card<option>cash</select></label>
<button id=pay onclick="pay()">Pay</button>
<ol id=receipt aria-label="Receipt"></ol><p id=sum></p>
<script>
  async function pay() {
    const lines = (await (await fetch("/receipt")).text()).split(",");
    document.getElementById("receipt").innerHTML = lines.map(line => "<li>" + line + "</li>").join("");
    document.getElementById("sum").textContent = "Sum " + (11 + document.getElementById("bag").checked);
  }
</script>"""


def receipt():
    """What was bought, in whatever order the scales have it."""
    bought = sorted(PRICES, key=lambda name: (os.urandom(1), name))
    return ",".join("%s %d" % (name, PRICES[name]) for name in bought)


class Till(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write((receipt() if self.path == "/receipt" else PAGE).encode())

    def log_message(self, *_):
        pass


class Server:
    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Till)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return "http://127.0.0.1:%d" % self._server.server_port

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
