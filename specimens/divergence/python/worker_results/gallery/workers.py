import queue
import threading

from gallery.render import render


def render_all(names, workers=3):
    jobs = queue.Queue()
    for name in names:
        jobs.put(name)
    rendered = []

    def work():
        while True:
            try:
                name = jobs.get_nowait()
            except queue.Empty:
                return
            rendered.append(render(name))

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rendered
