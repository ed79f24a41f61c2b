import asyncio

PERIOD = 0.035


class Feed:
    def __init__(self, fetch):
        self.rate = None
        self._fetch = fetch

    async def refresh(self):
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(PERIOD - loop.time() % PERIOD)
            self.rate = await self._fetch()
