"""A small shop on the loopback interface."""

import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OFFERS = [("Apples", 3), ("Bread", 4), ("Cheese", 7), ("Dates", 5)]

PAGE = """<!doctype html><title>Shop</title>
<h1>Offers of today</h1>
<ul id=offers aria-label="Offers"></ul>
<p id=total></p>
<form id=search action=/search><label>Search <input name=word></label> <button>Go</button></form>
<script>
  let total = 0;
  const offers = document.getElementById("offers");
  async function fetchOffer(n) {
    const offer = await (await fetch("/offer/" + n)).json();
    const item = document.createElement("li");
    item.textContent = offer.name + " " + offer.price;
    offers.append(item);
    document.getElementById("total").textContent = "Together " + (total += offer.price);
  }
  for (let n = 0; n < 4; n++) fetchOffer(n);
</script>"""

FOUND = "<!doctype html><title>Found</title><h1>Found</h1><p>%s costs %d</p><a href=/>Back to the offers</a>"
NOTHING = "<!doctype html><title>Found</title><h1>Nothing found</h1><a href=/>Back to the offers</a>"


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/offer/"):
            time.sleep(random.random() * 0.03)  # Each is asked of another warehouse.
            name, price = OFFERS[int(path[7:])]
            self.answer("application/json", json.dumps({"name": name, "price": price}))
        elif path == "/search":
            word = query.partition("=")[2].lower()
            found = [offer for offer in OFFERS if word and offer[0].lower().startswith(word)]
            self.answer("text/html", FOUND % found[0] if found else NOTHING)
        else:
            self.answer("text/html", PAGE)

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class Server:
    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return "http://127.0.0.1:%d" % self._server.server_port

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
