import asyncio
import random


class Heartbeat:
    def __init__(self):
        self.beats = 0

    async def beat(self):
        while True:
            await asyncio.sleep(random.uniform(0.001, 0.005))
            self.beats += 1
