import asyncio
import inspect
import unittest

from feed import subscribers


def test_subscriber_receives():
    async def story():
        await subscribers.subscribe("ada")
        await subscribers.publish("hello")

    asyncio.run(story())

    assert subscribers._subscribers["ada"] == ["hello"]


class Publishing(unittest.IsolatedAsyncioTestCase):
    async def test_grace_is_subscribed(self):
        await subscribers.subscribe("grace")
        self.assertIn("grace", subscribers._subscribers)

    async def test_nobody_listens_at_first(self):
        self.assertNotIn("grace", subscribers._subscribers)

    async def test_publishing_is_awaited(self):
        self.assertTrue(inspect.iscoroutinefunction(subscribers.publish))
