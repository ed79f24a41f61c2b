import asyncio

from rates.feed import Feed
from rates.heartbeat import Heartbeat


async def fetch():
    await asyncio.sleep(0)
    return 1.08


def test_rate_is_refreshed():
    async def story():
        feed = Feed(fetch)
        tasks = [asyncio.ensure_future(feed.refresh()), asyncio.ensure_future(Heartbeat().beat())]
        await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
        return feed.rate

    assert asyncio.run(story()) == 1.08


def test_there_is_no_rate_at_first():
    assert Feed(fetch).rate is None
