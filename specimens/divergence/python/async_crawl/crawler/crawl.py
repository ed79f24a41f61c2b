import asyncio
import random

from crawler.links import links_in


async def fetch(site, path):
    await asyncio.sleep(random.uniform(0, 0.002))
    return path, len(site[path].split())


async def crawl(site, start):
    tasks = []
    for path in links_in(site[start]):
        tasks.append(asyncio.ensure_future(fetch(site, path)))
    return [await task for task in tasks]


def index(site, start="/"):
    return ["%s (%d words)" % entry for entry in asyncio.run(crawl(site, start))]
