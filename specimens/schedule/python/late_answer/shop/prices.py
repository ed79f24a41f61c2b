import asyncio


class Prices:
    def __init__(self, drops_older):
        self.price, self.asked, self.answered = None, 0, 0
        self._drops_older = drops_older

    async def refresh(self, price):
        self.asked += 1
        question = self.asked
        await asyncio.sleep(0.001)
        if not self._drops_older or question > self.answered:
            self.price, self.answered = price, question
