import os
import time


def travel_to(zone):
    os.environ["TZ"] = zone
    time.tzset()


def departure(seconds):
    return time.strftime("%H:%M", time.localtime(seconds))


def delay(planned, actual):
    return max(0, (actual - planned) // 60)
