import threading
import time


def steps(number, done):
    for _ in range(number):
        time.sleep(0.001)
    done.append(number)


def test_all_steps_are_done_in_time():
    done = []
    thread = threading.Thread(target=steps, args=(20, done))
    thread.start()
    time.sleep(0.4)
    finished = list(done)
    thread.join()
    assert finished == [20]
