import os
import time

# Timetables are in the time of the railway.
os.environ["TZ"] = "UTC0"
time.tzset()
